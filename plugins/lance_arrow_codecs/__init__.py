"""Compressive encodings of 2.1 and 2.2, one module per case of `CompressiveEncoding`, and buffer schemes.

In: encoded chunks, blocks or values. Out: blocks of values. They import `lance_arrow.spi`, `.kernels`, `.proto` and
`.errors` only, and never each other: composites bind their children through the scope.
"""
