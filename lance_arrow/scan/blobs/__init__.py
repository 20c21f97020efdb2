"""Bytes of blob columns: descriptors to places (`blob_places`), places to sources (`blob_sources`), sources to arrays.

Start with `blob_reader`, which reads blobs of batches in a wave of their own, after filters and row order.
`native_blobs` reads few blobs of the data file itself without Python.
"""
