# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Byte streams to values and packed rows to fields, many chunks or rows per call; meaning in ``reference/streams.py``."""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport free, malloc

from lance_arrow.kernels.outcome cimport Chunks, Outcome, Parts, chunk_table, part_table

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/streams.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct PackedField:
        int64_t first_byte
        int64_t num_bytes
        uint8_t* out
        int64_t out_bytes

    Outcome _gather_streams "lance_arrow::kernels::gather_streams"(Chunks, int64_t, uint8_t*, int64_t)
    Outcome _scatter_streams "lance_arrow::kernels::scatter_streams"(Parts, int64_t, uint8_t*, int64_t)
    Outcome _split_rows "lance_arrow::kernels::split_rows"(Chunks, const PackedField*, int64_t, int64_t)
    Outcome _locate_fields "lance_arrow::kernels::locate_fields"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, const int64_t*, int64_t, int64_t*, int64_t*,
        int64_t*)


def gather_streams(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _gather_streams(chunks, bytes_per_value, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def scatter_streams(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
):
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _scatter_streams(parts, bytes_per_value, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def split_rows(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, const int64_t[::1] field_bytes not None, out,
):
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Py_ssize_t num_fields = field_bytes.shape[0], field
    cdef int64_t row_bytes = 0
    cdef uint8_t[::1] values
    cdef Outcome outcome
    if len(out) != num_fields:
        raise refusal(b"fields and destinations differ in number", -1, 0)
    cdef PackedField* fields = <PackedField*>malloc((num_fields + 1) * sizeof(PackedField))
    if fields == NULL:
        raise MemoryError
    try:
        for field in range(num_fields):
            if not 1 <= field_bytes[field] <= 1 << 40:
                raise refusal(b"a packed field has no bytes", field, 0)
            # The caller's sequence keeps the array alive.
            values = out[field]
            fields[field].first_byte, fields[field].num_bytes = row_bytes, field_bytes[field]
            fields[field].out, fields[field].out_bytes = &values[0], values.shape[0]
            row_bytes += field_bytes[field]
        with nogil:
            outcome = _split_rows(chunks, fields, num_fields, row_bytes)
    finally:
        free(fields)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def locate_fields(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] field_bytes not None, int64_t[:, ::1] out_starts not None, int64_t[:, ::1] out_sizes not None,
):
    cdef int64_t num_rows = starts.shape[0], num_fields = field_bytes.shape[0], num_valid = 0
    cdef Outcome outcome
    if (sizes.shape[0] != num_rows or out_starts.shape[0] != num_fields or out_sizes.shape[0] != num_fields
            or out_starts.shape[1] != num_rows or out_sizes.shape[1] != num_rows):
        raise refusal(b"arrays over rows and fields have contradicting lengths", -1, 0)
    with nogil:
        outcome = _locate_fields(&data[0], data.shape[0], &starts[0], &sizes[0], num_rows, &field_bytes[0],
                                 num_fields, &out_starts[0, 0], &out_sizes[0, 0], &num_valid)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return num_valid
