# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Integers packed to the bits they need, many chunks per call; meaning in ``reference/packing.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome, Parts, part_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/encode/packing.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _pack_inline "lance_arrow::kernels::pack_inline"(Parts, int, const int64_t*, uint8_t*, int64_t)
    Outcome _pack_out_of_line "lance_arrow::kernels::pack_out_of_line"(Parts, int, int, uint8_t*, int64_t)


def pack_inline(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits,
    const int64_t[::1] packed_bits not None, uint8_t[::1] out not None,
):
    cdef Parts chunks = part_table(values, value_starts)
    cdef Outcome outcome
    if packed_bits.shape[0] != chunks.num_parts:
        raise refusal(b"packed_bits and value_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _pack_inline(chunks, word_bits, &packed_bits[0], &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def pack_out_of_line(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits, int packed_bits,
    uint8_t[::1] out not None,
):
    cdef Parts blocks = part_table(values, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _pack_out_of_line(blocks, word_bits, packed_bits, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
