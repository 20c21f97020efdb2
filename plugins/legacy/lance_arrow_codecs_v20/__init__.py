"""Array encodings, one module per case of `lance.encodings.ArrayEncoding`: what pages of 2.0 are made of.

Each is one entry point (``codec.v20.flat``); no module imports another, children are bound by the scope.
"""
