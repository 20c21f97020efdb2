"""Bytes of blob columns: descriptors to places (`blob_places`), places to sources (`blob_sources`), sources to arrays.

Start with `pending_batch`, which fills rows with the bytes of their blobs, after filters and row order; `blob_reader`
reads those of one file. `native_blobs` reads few blobs of the data file itself without Python.
"""
