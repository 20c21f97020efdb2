# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Variable-width values cut into mini-block chunks; meaning in ``reference/variable_chunks.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome
from lance_arrow.kernels.variable cimport StoredOffsets, stored_offsets

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/encode/variable_chunks.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct ChunkLimits:
        int64_t target_bytes
        int64_t max_bytes
        int64_t max_values

    Outcome _plan_chunks "lance_arrow::kernels::plan_variable_chunks"(
        StoredOffsets, int64_t, int, ChunkLimits, int64_t*, int64_t, int64_t*)
    Outcome _write_chunks "lance_arrow::kernels::write_variable_chunks"(
        StoredOffsets, const uint8_t*, int64_t, const int64_t*, int64_t, int, int64_t*, uint8_t*, int64_t, int64_t*)


def plan_variable_chunks(
    const uint8_t[::1] offsets not None, int offset_bits, int64_t data_bytes, int out_offset_bits,
    int64_t target_bytes, int64_t max_bytes, int64_t max_values, int64_t[::1] out_counts not None,
):
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef ChunkLimits limits
    cdef int64_t num_chunks = 0
    cdef Outcome outcome
    limits.target_bytes, limits.max_bytes, limits.max_values = target_bytes, max_bytes, max_values
    with nogil:
        outcome = _plan_chunks(stored, data_bytes, out_offset_bits, limits, &out_counts[0], out_counts.shape[0],
                               &num_chunks)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return num_chunks


def write_variable_chunks(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const int64_t[::1] counts not None, int out_offset_bits, int64_t[::1] out_sizes not None,
    uint8_t[::1] out not None,
):
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef int64_t total = 0
    cdef Outcome outcome
    if out_sizes.shape[0] != counts.shape[0]:
        raise refusal(b"counts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _write_chunks(stored, &data[0], data.shape[0], &counts[0], counts.shape[0], out_offset_bits,
                                &out_sizes[0], &out[0], out.shape[0], &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total
