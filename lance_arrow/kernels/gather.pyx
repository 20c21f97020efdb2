# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Selected fixed- and variable-width values copied into a destination; meaning in ``reference/gather.py``."""

from libc.stdint cimport int64_t, uint8_t, uint16_t

from lance_arrow.kernels.outcome cimport Chunks, Outcome, chunk_table
from lance_arrow.kernels.variable cimport StoredOffsets, VariableOut, stored_offsets, variable_out

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/gather.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _copy_fixed "lance_arrow::kernels::copy_fixed"(Chunks, int64_t, uint8_t*, int64_t)
    Outcome _take_runs_fixed "lance_arrow::kernels::take_runs_fixed"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _take_fixed "lance_arrow::kernels::take_fixed"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, int, uint8_t*, int64_t)
    Outcome _clear_null_indices "lance_arrow::kernels::clear_null_indices"(
        uint8_t*, int64_t, int, int64_t, int64_t, const uint16_t*, int64_t)
    Outcome _copy_values "lance_arrow::kernels::copy_values"(
        const uint8_t*, int64_t, const int64_t*, int64_t, int64_t, uint8_t*, int64_t)

cdef extern from "engine/plan/selection_bitmap.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _take_marked_fixed "lance_arrow::kernels::take_marked_fixed"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, int64_t, uint8_t*, int64_t)

cdef extern from "engine/decode/gather_variable.hpp" namespace "lance_arrow::kernels" nogil:
    Outcome _measure_take_variable "lance_arrow::kernels::measure_take_variable"(
        StoredOffsets, const uint8_t*, int64_t, int, int64_t*)
    Outcome _take_variable "lance_arrow::kernels::take_variable"(
        StoredOffsets, const uint8_t*, int64_t, const uint8_t*, int64_t, int, VariableOut)
    Outcome _measure_take_runs_variable "lance_arrow::kernels::measure_take_runs_variable"(
        StoredOffsets, const int64_t*, const int64_t*, int64_t, int64_t*)
    Outcome _take_runs_variable "lance_arrow::kernels::take_runs_variable"(
        StoredOffsets, const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, VariableOut)


def copy_fixed(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _copy_fixed(chunks, bytes_per_value, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def take_runs_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None, uint8_t[::1] out not None,
):
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_runs_fixed(&src[0], src.shape[0], bytes_per_value, &run_starts[0], &run_stops[0],
                                   run_starts.shape[0], &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def take_marked_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const uint8_t[::1] bits not None, int64_t bit_offset,
    uint8_t[::1] out not None,
):
    cdef Outcome outcome
    with nogil:
        outcome = _take_marked_fixed(&src[0], src.shape[0], bytes_per_value, &bits[0], bits.shape[0], bit_offset,
                                     &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def take_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const uint8_t[::1] indices not None, int index_bits,
    uint8_t[::1] out not None,
):
    cdef Outcome outcome
    with nogil:
        outcome = _take_fixed(&src[0], src.shape[0], bytes_per_value, &indices[0], indices.shape[0], index_bits,
                              &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def copy_values(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
):
    cdef Outcome outcome
    with nogil:
        outcome = _copy_values(&data[0], data.shape[0], &starts[0], starts.shape[0], bytes_per_value, &out[0],
                               out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def clear_null_indices(
    uint8_t[::1] indices not None, int index_bits, int64_t num_items, int64_t null_index,
    const uint16_t[::1] def_levels,
):
    cdef Outcome outcome
    cdef const uint16_t* levels = NULL
    cdef int64_t num_levels = 0
    if def_levels is not None:
        levels = &def_levels[0]
        num_levels = def_levels.shape[0]
        if num_levels == 0 and indices.shape[0] != 0:
            raise refusal(b"def_levels and indices have different lengths", -1, 0)
    with nogil:
        outcome = _clear_null_indices(&indices[0], indices.shape[0], index_bits, num_items, null_index, levels,
                                      num_levels)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def measure_take_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] indices not None, int index_bits,
):
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_take_variable(source, &indices[0], indices.shape[0], index_bits, &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def take_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint8_t[::1] indices not None, int index_bits, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
):
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _take_variable(source, &data[0], data.shape[0], &indices[0], indices.shape[0], index_bits, out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def measure_take_runs_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None,
):
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    cdef int64_t total = 0
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _measure_take_runs_variable(source, &run_starts[0], &run_stops[0], run_starts.shape[0], &total)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return total


def take_runs_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None,
    uint8_t[::1] out_offsets not None, int out_offset_bits, uint8_t[::1] out_data not None,
):
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_runs_variable(source, &data[0], data.shape[0], &run_starts[0], &run_stops[0],
                                      run_starts.shape[0], out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
