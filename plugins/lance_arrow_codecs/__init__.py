"""Compressive encodings of 2.1 to 2.3, a folder per case of `CompressiveEncoding`, and buffer schemes.

Input: encoded chunks, blocks or values. Output: blocks of values. Packages import only `lance_arrow.spi`, `.kernels`,
`.proto` and `.errors`, and never each other: the scope binds the children of composites. `native` has their native
parts, one piece from each folder; the codecs of 2.0 use two of them.
"""
