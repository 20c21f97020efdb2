# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Splits zipped rows into levels and places of values; meaning in ``reference/interleave.py``."""

from libc.stdint cimport int64_t, uint8_t, uint16_t

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/decode/interleave.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct ZipForm:
        int bits_rep
        int bits_def
        int64_t bytes_per_value
        int bits_per_offset
        int max_visible

    cdef struct ZipRows:
        uint16_t* def_ "def"
        int64_t* value_starts
        int64_t* value_sizes

    bint _unzip_rows "lance_arrow::kernels::unzip_rows"(
        const uint8_t*, int64_t, const int64_t*, int64_t, int, int, ZipRows)

    cdef struct Regions:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* stops
        int64_t num_regions

    cdef struct ZipOut:
        uint16_t* rep
        uint16_t* def_ "def"
        int64_t max_entries
        int64_t* value_starts
        int64_t* value_sizes
        int64_t max_values

    Outcome _count "lance_arrow::kernels::count_entries"(Regions, ZipForm, int64_t*, int64_t*, int64_t*)
    Outcome _unzip "lance_arrow::kernels::unzip"(Regions, ZipForm, ZipOut, int64_t*, int64_t*)
    Outcome _read_index "lance_arrow::kernels::read_row_index"(
        const uint8_t*, int64_t, int64_t, int64_t, int64_t*, int64_t)


cdef int _regions(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops, Regions* out) except -1:
    if starts.shape[0] != stops.shape[0]:
        raise refusal(b"region_starts and region_stops have different lengths", -1, 0)
    out.data, out.data_bytes = &data[0], data.shape[0]
    out.starts, out.stops, out.num_regions = &starts[0], &stops[0], starts.shape[0]
    return 0


cdef tuple _run(Regions regions, ZipForm form, uint16_t[::1] rep_out, uint16_t[::1] def_out,
                int64_t[::1] value_starts, int64_t[::1] value_sizes):
    cdef ZipOut out
    cdef Outcome outcome
    cdef int64_t entries = 0, visible = 0
    out.rep = NULL
    out.def_ = NULL
    out.max_entries = 0
    out.value_sizes = NULL
    out.value_starts, out.max_values = &value_starts[0], value_starts.shape[0]
    if rep_out is not None:
        out.rep, out.max_entries = &rep_out[0], rep_out.shape[0]
    if def_out is not None:
        if rep_out is not None and rep_out.shape[0] != def_out.shape[0]:
            raise refusal(b"rep_out and def_out have different lengths", -1, 0)
        out.def_, out.max_entries = &def_out[0], def_out.shape[0]
    if value_sizes is not None:
        if value_sizes.shape[0] != value_starts.shape[0]:
            raise refusal(b"out_value_starts and out_value_sizes have different lengths", -1, 0)
        out.value_sizes = &value_sizes[0]
    with nogil:
        outcome = _unzip(regions, form, out, &entries, &visible)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return entries, visible


def count_entries(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int64_t bytes_per_value, int bits_per_offset, int max_visible,
    int64_t[::1] out_region_entries not None,
):
    cdef Regions regions
    cdef ZipForm form = ZipForm(bits_rep, bits_def, bytes_per_value, bits_per_offset, max_visible)
    cdef Outcome outcome
    cdef int64_t entries = 0, visible = 0
    _regions(data, region_starts, region_stops, &regions)
    if out_region_entries.shape[0] != regions.num_regions:
        raise refusal(b"out_region_entries and the regions differ in number", -1, 0)
    with nogil:
        outcome = _count(regions, form, &out_region_entries[0], &entries, &visible)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return entries, visible


def unzip_fixed(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int64_t bytes_per_value, int max_visible,
    uint16_t[::1] rep_out, uint16_t[::1] def_out, int64_t[::1] out_value_starts not None,
):
    cdef Regions regions
    _regions(data, region_starts, region_stops, &regions)
    return _run(regions, ZipForm(bits_rep, bits_def, bytes_per_value, 0, max_visible), rep_out, def_out,
                out_value_starts, None)


def unzip_variable(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int bits_per_offset, int max_visible,
    uint16_t[::1] rep_out, uint16_t[::1] def_out,
    int64_t[::1] out_value_starts not None, int64_t[::1] out_value_sizes not None,
):
    cdef Regions regions
    if bits_per_offset == 0:
        raise refusal(b"lengths have 32 or 64 bits", -1, 0)
    _regions(data, region_starts, region_stops, &regions)
    return _run(regions, ZipForm(bits_rep, bits_def, -1, bits_per_offset, max_visible), rep_out, def_out,
                out_value_starts, out_value_sizes)


def unzip_rows(
    const uint8_t[::1] data not None, const int64_t[::1] borders not None, int bits_def, int bits_per_offset,
    uint16_t[::1] def_out, int64_t[::1] out_value_starts not None, int64_t[::1] out_value_sizes not None,
):
    cdef ZipRows out
    cdef bint agrees
    cdef int64_t num_rows = borders.shape[0] - 1
    if bits_def < 0 or bits_def > 16 or (bits_per_offset != 32 and bits_per_offset != 64):
        raise refusal(b"levels have at most 16 bits, lengths 32 or 64", -1, 0)
    if num_rows < 0 or out_value_starts.shape[0] != num_rows or out_value_sizes.shape[0] != num_rows:
        raise refusal(b"outputs and rows differ in number", -1, 0)
    if (def_out is None) != (bits_def == 0) or (def_out is not None and def_out.shape[0] != num_rows):
        raise refusal(b"def_out and rows differ in number", -1, 0)
    out.def_ = NULL
    if def_out is not None:
        out.def_ = &def_out[0]
    out.value_starts, out.value_sizes = &out_value_starts[0], &out_value_sizes[0]
    with nogil:
        agrees = _unzip_rows(&data[0], data.shape[0], &borders[0], num_rows, bits_def, bits_per_offset, out)
    return agrees


def read_row_index(
    const uint8_t[::1] index not None, int64_t num_rows, int64_t stream_bytes, int64_t[::1] out not None
):
    cdef Outcome outcome
    if out.shape[0] == 0:
        raise refusal(b"the output has another length than the rows plus one", -1, 0)
    with nogil:
        outcome = _read_index(&index[0], index.shape[0], num_rows, stream_bytes, &out[0], out.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
