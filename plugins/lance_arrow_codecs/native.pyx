# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False, annotation_typing=False
"""Native parts of the codecs of this distribution, a piece from the folder of each; built against public headers alone."""

from lance_arrow.errors import InvalidArgumentError

include "lance_arrow/toolkit.pxi"

# Chunk arguments: ``data`` is ``(total_bytes,) uint8``; ``starts`` and ``sizes`` are ``(num_chunks,) int64``, the byte range of
# each chunk in it; ``value_starts`` is ``(num_chunks + 1,) int64``, where the values of each begin in the output. Parts to be
# encoded are values and ``value_starts`` likewise. Bytes that contradict themselves raise CorruptPageError (``detail``: chunk
# or value number), a caller's mistake InternalError. After both, the output is unspecified.
include "byte_stream_split/module.pxi"
include "constant/module.pxi"
include "delta/module.pxi"
include "fixed_size_list/module.pxi"
include "flat/module.pxi"
include "fsst/module.pxi"
include "general/module.pxi"
include "inline_bitpacking/module.pxi"
include "lz4/module.pxi"
include "out_of_line_bitpacking/module.pxi"
include "range/module.pxi"
include "rle/module.pxi"
include "variable/module.pxi"
include "variable_packed_struct/module.pxi"
include "zstd/module.pxi"
