# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Repetition and definition levels to rows, offsets and validity; meaning in ``reference/levels.py``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/plan/level_masks.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct LevelStreams:
        const uint16_t* rep
        const uint16_t* def_ "def"
        int64_t num_entries

    Outcome _check_levels "lance_arrow::kernels::check_levels"(LevelStreams, int, int)
    Outcome _validity "lance_arrow::kernels::validity_from_levels"(
        const uint16_t*, int64_t, int, uint8_t*, int64_t, int64_t, int64_t*)

cdef extern from "engine/plan/select_rows.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct ChunkRows:
        const int64_t* level_starts
        const int64_t* value_starts
        const int64_t* first_rows
        const int64_t* num_rows
        int64_t num_chunks

    cdef struct RowRuns:
        const int64_t* starts
        const int64_t* stops
        int64_t num_runs

    cdef struct RunPlaces:
        int64_t* level_starts
        int64_t* level_stops
        int64_t* value_starts
        int64_t* value_stops

    Outcome _count "lance_arrow::kernels::count_rows_and_values"(LevelStreams, int, int, int64_t*, int64_t*)
    Outcome _select "lance_arrow::kernels::select_rows"(LevelStreams, int, int, ChunkRows, RowRuns, RunPlaces)
    Outcome _check_open_rows "lance_arrow::kernels::check_open_rows"(
        const uint16_t*, int64_t, int, const int64_t*, const int64_t*, const int64_t*, int64_t)

cdef extern from "engine/arrays/unravel.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct LayerPlan:
        int num_layers

    cdef struct LayerOut:
        uint8_t* validity
        int64_t validity_bytes
        void* offsets
        int64_t num_offsets
        int offset_bits

    cdef enum:
        _MAX_LAYERS "lance_arrow::kernels::kMaxLayers"

    Outcome _plan "lance_arrow::kernels::plan_layers"(const uint8_t*, int64_t, const int64_t*, int64_t, LayerPlan*)
    Outcome _measure "lance_arrow::kernels::measure_layers"(LevelStreams, LayerPlan, int64_t*)
    Outcome _unravel "lance_arrow::kernels::unravel"(LevelStreams, LayerPlan, const LayerOut*, int64_t*, int64_t*)


cdef int _streams(const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, LevelStreams* out) except -1:
    out.rep = NULL
    out.def_ = NULL
    out.num_entries = num_entries
    if num_entries < 0:
        raise refusal(b"negative number of level entries", -1, 0)
    if rep is not None:
        out.rep = &rep[0]
        if rep.shape[0] != num_entries:
            raise refusal(b"repetition levels and entries differ in number", -1, 0)
    if def_ is not None:
        out.def_ = &def_[0]
        if def_.shape[0] != num_entries:
            raise refusal(b"definition levels and entries differ in number", -1, 0)
    return 0


cdef int64_t _num_entries(const uint16_t[::1] rep, const uint16_t[::1] def_) except -1:
    if rep is not None:
        return rep.shape[0]
    if def_ is not None:
        return def_.shape[0]
    raise refusal(b"there are no levels at all", -1, 0)


def check_levels(const uint16_t[::1] rep, const uint16_t[::1] def_, int max_rep, int max_def):
    cdef LevelStreams streams
    cdef Outcome outcome
    _streams(rep, def_, _num_entries(rep, def_), &streams)
    with nogil:
        outcome = _check_levels(streams, max_rep, max_def)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def count_rows_and_values(const uint16_t[::1] rep, const uint16_t[::1] def_, int max_rep, int max_visible):
    cdef LevelStreams streams
    cdef Outcome outcome
    cdef int64_t rows = 0, values = 0
    _streams(rep, def_, _num_entries(rep, def_), &streams)
    if (rep is None) != (max_rep == 0):
        raise refusal(b"repetition levels exist exactly where there are lists", -1, 0)
    with nogil:
        outcome = _count(streams, max_rep, max_visible, &rows, &values)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return rows, values


def select_rows(
    const uint16_t[::1] rep not None, const uint16_t[::1] def_, int max_rep, int max_visible,
    const int64_t[::1] chunk_level_starts not None, const int64_t[::1] chunk_value_starts not None,
    const int64_t[::1] chunk_first_rows not None, const int64_t[::1] chunk_num_rows not None,
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None,
    int64_t[::1] out_level_starts not None, int64_t[::1] out_level_stops not None,
    int64_t[::1] out_value_starts not None, int64_t[::1] out_value_stops not None,
):
    cdef LevelStreams streams
    cdef ChunkRows chunks
    cdef RowRuns runs
    cdef RunPlaces places
    cdef Outcome outcome
    cdef int64_t num_chunks = chunk_first_rows.shape[0], num_runs = run_starts.shape[0]
    _streams(rep, def_, rep.shape[0], &streams)
    if (chunk_num_rows.shape[0] != num_chunks or chunk_level_starts.shape[0] != num_chunks + 1
            or chunk_value_starts.shape[0] != num_chunks + 1):
        raise refusal(b"arrays over chunks have contradicting lengths", -1, 0)
    if (run_stops.shape[0] != num_runs or out_level_starts.shape[0] != num_runs or out_level_stops.shape[0] != num_runs
            or out_value_starts.shape[0] != num_runs or out_value_stops.shape[0] != num_runs):
        raise refusal(b"arrays over runs have different lengths", -1, 0)
    chunks.level_starts, chunks.value_starts = &chunk_level_starts[0], &chunk_value_starts[0]
    chunks.first_rows, chunks.num_rows, chunks.num_chunks = &chunk_first_rows[0], &chunk_num_rows[0], num_chunks
    runs.starts, runs.stops, runs.num_runs = &run_starts[0], &run_stops[0], num_runs
    places.level_starts, places.level_stops = &out_level_starts[0], &out_level_stops[0]
    places.value_starts, places.value_stops = &out_value_starts[0], &out_value_stops[0]
    with nogil:
        outcome = _select(streams, max_rep, max_visible, chunks, runs, places)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def check_open_rows(
    const uint16_t[::1] rep not None, int max_rep, const int64_t[::1] chunk_level_starts not None,
    const int64_t[::1] left_before not None, const int64_t[::1] left_after not None,
):
    cdef Outcome outcome
    cdef int64_t num_chunks = left_before.shape[0]
    if left_after.shape[0] != num_chunks or chunk_level_starts.shape[0] != num_chunks + 1:
        raise refusal(b"arrays over chunks have contradicting lengths", -1, 0)
    with nogil:
        outcome = _check_open_rows(&rep[0], rep.shape[0], max_rep, &chunk_level_starts[0], &left_before[0],
                                   &left_after[0], num_chunks)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def validity_from_levels(
    const uint16_t[::1] def_ not None, int null_level, uint8_t[::1] out_bits not None, int64_t out_bit_offset
):
    cdef Outcome outcome
    cdef int64_t null_count = 0
    with nogil:
        outcome = _validity(&def_[0], def_.shape[0], null_level, &out_bits[0], out_bits.shape[0], out_bit_offset,
                            &null_count)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return null_count


cdef int _planned(const uint8_t[::1] layers, const int64_t[::1] dimensions, LayerPlan* plan) except -1:
    cdef const int64_t* sizes = NULL
    cdef int64_t num_sizes = 0
    if dimensions is not None:
        sizes, num_sizes = &dimensions[0], dimensions.shape[0]
    cdef Outcome outcome = _plan(&layers[0], layers.shape[0], sizes, num_sizes, plan)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return 0


def measure_layers(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, const uint8_t[::1] layers not None,
    const int64_t[::1] dimensions, int64_t[::1] out_slots not None,
):
    cdef LevelStreams streams
    cdef LayerPlan plan
    cdef Outcome outcome
    _streams(rep, def_, num_entries, &streams)
    _planned(layers, dimensions, &plan)
    if out_slots.shape[0] != layers.shape[0]:
        raise refusal(b"out_slots and layers differ in number", -1, 0)
    with nogil:
        outcome = _measure(streams, plan, &out_slots[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def unravel(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, const uint8_t[::1] layers not None,
    const int64_t[::1] dimensions, out_validity, out_offsets, int64_t[::1] slots not None,
    int64_t[::1] null_counts not None,
):
    cdef LevelStreams streams
    cdef LayerPlan plan
    cdef LayerOut out[_MAX_LAYERS]
    cdef Outcome outcome
    cdef Py_ssize_t num_layers = layers.shape[0], layer
    _streams(rep, def_, num_entries, &streams)
    _planned(layers, dimensions, &plan)
    if (len(out_validity) != num_layers or len(out_offsets) != num_layers or slots.shape[0] != num_layers
            or null_counts.shape[0] != num_layers):
        raise refusal(b"arrays over layers have different lengths", -1, 0)
    for layer in range(num_layers):
        _open_layer(&out[layer], out_validity[layer], out_offsets[layer])
    with nogil:
        outcome = _unravel(streams, plan, &out[0], &slots[0], &null_counts[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


cdef int _open_layer(LayerOut* out, object validity, object offsets) except -1:
    """Take the addresses of a layer's arrays, which the caller's sequences keep alive."""
    cdef uint8_t[::1] bits
    cdef int32_t[::1] narrow
    cdef int64_t[::1] wide
    out.validity = NULL
    out.validity_bytes = 0
    out.offsets = NULL
    out.num_offsets = 0
    out.offset_bits = 0
    if validity is not None:
        bits = validity
        out.validity, out.validity_bytes = &bits[0], bits.shape[0]
    if offsets is None:
        return 0
    if offsets.itemsize == 8:
        wide = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&wide[0], wide.shape[0], 64
    else:
        narrow = offsets
        out.offsets, out.num_offsets, out.offset_bits = <void*>&narrow[0], narrow.shape[0], 32
    return 0
