# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Values to runs, many chunks or blocks per call; meaning in ``reference/run_encoding.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome, Parts, part_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/encode/run_encoding.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _count_run_entries "lance_arrow::kernels::count_run_entries"(Parts, int64_t, int64_t*)
    Outcome _encode_runs "lance_arrow::kernels::encode_runs"(
        Parts, int64_t, uint8_t*, uint8_t*, int64_t, int64_t*, int64_t*)
    Outcome _encode_run_blocks "lance_arrow::kernels::encode_run_blocks"(
        Parts, int64_t, int64_t*, uint8_t*, int64_t, int64_t*)


def count_run_entries(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_counts not None,
):
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _count_run_entries(parts, bytes_per_value, &out_counts[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def encode_runs(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out_values not None, uint8_t[::1] out_lengths not None, int64_t[::1] out_counts not None,
):
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t room = out_lengths.shape[0], total = 0
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    if bytes_per_value > 0:
        room = min(room, out_values.shape[0] // bytes_per_value)
    with nogil:
        outcome = _encode_runs(
            parts, bytes_per_value, &out_values[0], &out_lengths[0], room, &out_counts[0], &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def encode_run_blocks(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_sizes not None, uint8_t[::1] out not None,
):
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t total = 0
    cdef Outcome outcome
    if out_sizes.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _encode_run_blocks(parts, bytes_per_value, &out_sizes[0], &out[0], out.shape[0], &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total
