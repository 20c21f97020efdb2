# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Stored offsets checked and rewritten as Arrow offsets, with their bytes; meaning in ``reference/offsets.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Chunks, Outcome, chunk_table
from lance_arrow.kernels.variable cimport StoredOffsets, VariableOut, stored_offsets, variable_out

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/offsets.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _measure_chunks "lance_arrow::kernels::measure_variable<lance_arrow::kernels::VariableForm::kChunk>"(
        Chunks, int, int64_t*)
    Outcome _decode_chunks "lance_arrow::kernels::decode_variable<lance_arrow::kernels::VariableForm::kChunk>"(
        Chunks, int, VariableOut)
    Outcome _measure_blocks "lance_arrow::kernels::measure_variable<lance_arrow::kernels::VariableForm::kBlock>"(
        Chunks, int, int64_t*)
    Outcome _decode_blocks "lance_arrow::kernels::decode_variable<lance_arrow::kernels::VariableForm::kBlock>"(
        Chunks, int, VariableOut)
    Outcome _locate_chunks "lance_arrow::kernels::locate_variable<lance_arrow::kernels::VariableForm::kChunk>"(
        Chunks, int, int64_t*, int64_t*, int64_t)
    Outcome _locate_blocks "lance_arrow::kernels::locate_variable<lance_arrow::kernels::VariableForm::kBlock>"(
        Chunks, int, int64_t*, int64_t*, int64_t)
    Outcome _measure_values "lance_arrow::kernels::measure_variable_values"(const int64_t*, int64_t, int64_t*)
    Outcome _decode_values "lance_arrow::kernels::decode_variable_values"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, VariableOut)

cdef extern from "engine/common/utf8.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _check_utf8 "lance_arrow::kernels::check_utf8"(StoredOffsets, const uint8_t*, int64_t)


def measure_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_chunks(chunks, offset_bits, &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def decode_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, uint8_t[::1] out_offsets not None,
    int out_offset_bits, uint8_t[::1] out_data not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _decode_chunks(chunks, offset_bits, out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def measure_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_blocks(chunks, offset_bits, &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def decode_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, uint8_t[::1] out_offsets not None,
    int out_offset_bits, uint8_t[::1] out_data not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _decode_blocks(chunks, offset_bits, out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def locate_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, int64_t[::1] out_starts not None,
    int64_t[::1] out_sizes not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    if out_starts.shape[0] != out_sizes.shape[0]:
        raise refusal(b"out_starts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _locate_chunks(chunks, offset_bits, &out_starts[0], &out_sizes[0], out_starts.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def locate_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, int64_t[::1] out_starts not None,
    int64_t[::1] out_sizes not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    if out_starts.shape[0] != out_sizes.shape[0]:
        raise refusal(b"out_starts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _locate_blocks(chunks, offset_bits, &out_starts[0], &out_sizes[0], out_starts.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def measure_variable_values(const int64_t[::1] sizes not None):
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_values(&sizes[0], sizes.shape[0], &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def decode_variable_values(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    uint8_t[::1] out_offsets not None, int out_offset_bits, uint8_t[::1] out_data not None,
):
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    if starts.shape[0] != sizes.shape[0]:
        raise refusal(b"starts and sizes have different lengths", -1, 0)
    with nogil:
        outcome = _decode_values(&data[0], data.shape[0], &starts[0], &sizes[0], starts.shape[0], out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def check_utf8(const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None):
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    with nogil:
        outcome = _check_utf8(stored, &data[0], data.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
