# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False, annotation_typing=False
"""The engine as Python calls it: one module, whose pieces lie in ``door/``; `lance_arrow.kernels` is what plugins see of it."""

cimport cython
from libc.errno cimport errno
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy
from libcpp.memory cimport make_shared, shared_ptr, unique_ptr
from libcpp.optional cimport optional
from libcpp.utility cimport move, pair

import os
import threading

import numpy
import pyarrow as pa

from lance_arrow.engine.refusals import Refusal
from lance_arrow.errors import InvalidArgumentError, PluginContractError
from lance_arrow.libarrow.builds import arrow_functions

include "lance_arrow/toolkit.pxi"
include "door/shared.pxi"
include "door/arrow_memory.pxi"

# Tables: what describes files and pages.
include "door/checksums.pxi"
include "door/file_head.pxi"
include "door/column_metadata.pxi"
include "door/chunk_tables.pxi"
include "door/file_tables.pxi"
include "door/manifest_fragments.pxi"
include "door/positional.pxi"

# Decoding.
include "door/bits.pxi"
include "door/gather.pxi"
include "door/interleave.pxi"
include "door/item_flags.pxi"
include "door/json_texts.pxi"
include "door/offsets.pxi"
include "door/packed_fields.pxi"

# Rows and arrays.
include "door/levels.pxi"
include "door/row_order.pxi"
include "door/slots.pxi"

# Encoding.
include "door/encode/bounds.pxi"
include "door/encode/chunk_writing.pxi"
include "door/encode/distinct.pxi"
include "door/encode/rows.pxi"
include "door/encode/shred.pxi"
include "door/encode/summaries.pxi"
include "door/encode/zipping.pxi"

# Writing whole leaves without Python.
include "door/encode/file_records.pxi"
include "door/encode/encoder_capsules.pxi"
include "door/encode/leaf_encoding.pxi"

# Reading whole leaves without Python.
include "door/engine_headers.pxi"
include "door/conditions.pxi"
include "door/codec_capsules.pxi"
include "door/codec_checks.pxi"
include "door/pages.pxi"
include "door/array_pages.pxi"
include "door/constant_pages.pxi"
include "door/held_pages.pxi"
include "door/opened_pages.pxi"
include "door/taking.pxi"
include "door/segments.pxi"
include "door/many_files.pxi"
include "door/blobs.pxi"

# Which zones and files a filter leaves nothing of.
include "door/zone_programs.pxi"
include "door/file_pruner.pxi"
