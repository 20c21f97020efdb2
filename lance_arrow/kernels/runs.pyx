# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Run-length encoded values expanded, many chunks per call; meaning in ``reference/runs.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Chunks, Outcome, chunk_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/runs.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _expand_runs "lance_arrow::kernels::expand_runs"(
        Chunks, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _expand_run_blocks "lance_arrow::kernels::expand_run_blocks"(Chunks, int64_t, uint8_t*, int64_t)


def expand_runs(
    const uint8_t[::1] data not None, const int64_t[::1] values_starts not None,
    const int64_t[::1] values_sizes not None, const int64_t[::1] lengths_starts not None,
    const int64_t[::1] lengths_sizes not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, values_starts, values_sizes, value_starts)
    cdef Outcome outcome
    if lengths_starts.shape[0] != chunks.num_chunks or lengths_sizes.shape[0] != chunks.num_chunks:
        raise refusal(b"starts, sizes and value_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _expand_runs(chunks, &lengths_starts[0], &lengths_sizes[0], bytes_per_value, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def expand_run_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _expand_run_blocks(chunks, bytes_per_value, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
