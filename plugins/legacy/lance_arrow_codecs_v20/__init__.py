"""Array encodings of pages of 2.0, one module per case of `lance.encodings.ArrayEncoding`.

Each is one entry point (``codec.v20.flat``). No module imports another; the scope binds children.
"""
