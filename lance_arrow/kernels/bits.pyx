# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Fixed-bit-width integers and single bits, many chunks per call; meaning in ``reference/bits.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Chunks, Outcome, chunk_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/fastlanes.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _unpack_inline "lance_arrow::kernels::unpack_inline"(Chunks, int, uint8_t*, int64_t)
    Outcome _unpack_out_of_line "lance_arrow::kernels::unpack_out_of_line"(Chunks, int, int, uint8_t*, int64_t)

cdef extern from "engine/common/bitmaps.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _copy_bits "lance_arrow::kernels::copy_bits"(Chunks, uint8_t*, int64_t, int64_t)
    Outcome _take_bit_runs "lance_arrow::kernels::take_bit_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t, int64_t)
    Outcome _fill_bits "lance_arrow::kernels::fill_bits"(uint8_t*, int64_t, int64_t, int64_t, bint)
    Outcome _fill_bit_runs "lance_arrow::kernels::fill_bit_runs"(
        const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _count_bits "lance_arrow::kernels::count_bits"(const uint8_t*, int64_t, int64_t, int64_t, int64_t*)
    Outcome _count_marked_runs "lance_arrow::kernels::count_marked_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, int64_t*)
    Outcome _mark_runs "lance_arrow::kernels::mark_runs"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, int64_t*, int64_t*, int64_t)


def unpack_inline(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int word_bits, uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _unpack_inline(chunks, word_bits, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def unpack_out_of_line(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int word_bits, int packed_bits, uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _unpack_out_of_line(chunks, word_bits, packed_bits, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def copy_bits(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, uint8_t[::1] out not None, int64_t out_bit_offset,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _copy_bits(chunks, &out[0], out.shape[0], out_bit_offset)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def take_bit_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None, uint8_t[::1] out not None, int64_t out_bit_offset,
):
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_bit_runs(&src[0], src.shape[0], src_bit_offset, &run_starts[0], &run_stops[0],
                                 run_starts.shape[0], &out[0], out.shape[0], out_bit_offset)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def fill_bits(uint8_t[::1] out not None, int64_t bit_offset, int64_t num_bits, bint value):
    cdef Outcome outcome
    with nogil:
        outcome = _fill_bits(&out[0], out.shape[0], bit_offset, num_bits, value)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def fill_bit_runs(
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None, uint8_t[::1] out not None,
):
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _fill_bit_runs(&run_starts[0], &run_stops[0], run_starts.shape[0], &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def count_bits(const uint8_t[::1] src not None, int64_t bit_offset, int64_t num_bits):
    cdef Outcome outcome
    cdef int64_t count = 0
    with nogil:
        outcome = _count_bits(&src[0], src.shape[0], bit_offset, num_bits, &count)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return count


def count_marked_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] range_starts not None,
    const int64_t[::1] range_stops not None,
):
    cdef Outcome outcome
    cdef int64_t count = 0
    if range_starts.shape[0] != range_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _count_marked_runs(&src[0], src.shape[0], src_bit_offset, &range_starts[0], &range_stops[0],
                                     range_starts.shape[0], &count)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return count


def mark_runs(
    const uint8_t[::1] src not None, int64_t src_bit_offset, const int64_t[::1] range_starts not None,
    const int64_t[::1] range_stops not None, int64_t[::1] out_starts not None, int64_t[::1] out_stops not None,
):
    cdef Outcome outcome
    if range_starts.shape[0] != range_stops.shape[0] or out_starts.shape[0] != out_stops.shape[0]:
        raise refusal(b"starts and stops have different lengths", -1, 0)
    with nogil:
        outcome = _mark_runs(&src[0], src.shape[0], src_bit_offset, &range_starts[0], &range_stops[0],
                             range_starts.shape[0], &out_starts[0], &out_stops[0], out_starts.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
