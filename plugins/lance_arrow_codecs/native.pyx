# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False, annotation_typing=False
"""Native parts of the codecs of this distribution, a piece from the folder of each; built against public headers alone."""

include "lance_arrow/toolkit.pxi"

include "fsst/module.pxi"
