# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""FSST symbol tables chosen, and applied to many values per call; meaning in ``reference/symbols.py``."""

from libc.stdint cimport int64_t, uint8_t

from lance_arrow.kernels.outcome cimport Outcome
from lance_arrow.kernels.variable cimport StoredOffsets, VariableOut, stored_offsets, variable_out

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/symbols.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct CodedValues:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* sizes
        int64_t num_values

    Outcome _measure_symbols "lance_arrow::kernels::measure_symbols"(const uint8_t*, int64_t, CodedValues, int64_t*)
    Outcome _expand_symbols "lance_arrow::kernels::expand_symbols"(const uint8_t*, int64_t, CodedValues, VariableOut)

cdef extern from "engine/encode/symbol_training.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _train_symbols "lance_arrow::kernels::train_symbols"(
        StoredOffsets, const uint8_t*, int64_t, uint8_t*, int64_t) except +

cdef extern from "engine/encode/symbol_encoding.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _compress_symbols "lance_arrow::kernels::compress_symbols"(
        const uint8_t*, int64_t, StoredOffsets, const uint8_t*, int64_t, VariableOut, int64_t*) except +


cdef int _coded_values(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, CodedValues* out
) except -1:
    if starts.shape[0] != sizes.shape[0]:
        raise refusal(b"starts and sizes have different lengths", -1, 0)
    out.data, out.data_bytes = &data[0], data.shape[0]
    out.starts, out.sizes, out.num_values = &starts[0], &sizes[0], starts.shape[0]
    return 0


def measure_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
    const int64_t[::1] sizes not None,
):
    cdef Outcome outcome
    cdef int64_t total = 0
    cdef CodedValues values
    _coded_values(data, starts, sizes, &values)
    with nogil:
        outcome = _measure_symbols(&table[0], table.shape[0], values, &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def expand_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
    const int64_t[::1] sizes not None, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
):
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    cdef CodedValues values
    _coded_values(data, starts, sizes, &values)
    with nogil:
        outcome = _expand_symbols(&table[0], table.shape[0], values, out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def train_symbols(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    uint8_t[::1] out_table not None,
):
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    with nogil:
        outcome = _train_symbols(stored, &data[0], data.shape[0], &out_table[0], out_table.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def compress_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] offsets not None, int offset_bits,
    const uint8_t[::1] data not None, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
):
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef int64_t total = 0
    cdef Outcome outcome
    with nogil:
        outcome = _compress_symbols(&table[0], table.shape[0], stored, &data[0], data.shape[0], out, &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total
