# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False, annotation_typing=False
"""Native parts of the codecs of this distribution, a piece from the folder of each; built against public headers alone."""

include "lance_arrow/toolkit.pxi"

# The one that describes arguments and errors first.
include "inline_bitpacking/module.pxi"
include "byte_stream_split/module.pxi"
include "constant/module.pxi"
include "delta/module.pxi"
include "fsst/module.pxi"
include "general/module.pxi"
include "lz4/module.pxi"
include "out_of_line_bitpacking/module.pxi"
include "range/module.pxi"
include "rle/module.pxi"
