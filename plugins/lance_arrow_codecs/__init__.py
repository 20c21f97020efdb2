"""Compressive encodings of 2.1 and 2.2, one module per case of `CompressiveEncoding`, and buffer schemes.

Input: encoded chunks, blocks or values. Output: blocks of values. Modules import only `lance_arrow.spi`, `.kernels`,
`.proto` and `.errors`, and never each other: the scope binds the children of composites.
"""
