# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Blocks of compressed frames; meaning in ``reference/frames.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/frames.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _decode_lz4_blocks "lance_arrow::kernels::decode_lz4_blocks"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t, const int64_t*)


def decode_lz4_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    uint8_t[::1] out not None, const int64_t[::1] out_starts not None,
):
    cdef Outcome outcome
    if starts.shape[0] != sizes.shape[0] or starts.shape[0] + 1 != out_starts.shape[0]:
        raise refusal(b"starts, sizes and out_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _decode_lz4_blocks(
            &data[0], data.shape[0], &starts[0], &sizes[0], starts.shape[0], &out[0], out.shape[0], &out_starts[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
