# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""Mini-block chunk words and headers, many chunks per call; meaning in ``reference/chunk_tables.py``."""

from libc.stdint cimport int64_t, uint8_t
from libcpp cimport bool as cbool

from lance_arrow.kernels.outcome cimport Outcome

from lance_arrow.kernels.refusals import refusal


cdef extern from "engine/tables/chunk_tables.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct HeaderForm:
        cbool has_rep
        cbool has_def
        int64_t num_buffers
        cbool large

    cdef struct HeaderOut:
        int64_t* num_levels
        int64_t* rep_starts
        int64_t* rep_sizes
        int64_t* def_starts
        int64_t* def_sizes
        int64_t* starts
        int64_t* sizes

    Outcome _parse_words "lance_arrow::kernels::parse_chunk_words"(
        const uint8_t*, int64_t, cbool, int64_t, int64_t, int64_t*, int64_t, int64_t*, int64_t)
    Outcome _parse_many "lance_arrow::kernels::parse_many_chunk_words"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, cbool, const int64_t*, const int64_t*, const int64_t*,
        int64_t, int64_t*, int64_t*, int64_t)
    Outcome _parse_headers "lance_arrow::kernels::parse_chunk_headers"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, HeaderForm, HeaderOut)


def parse_chunk_words(
    const uint8_t[::1] words not None, cbool large, int64_t num_values, int64_t data_bytes,
    int64_t[::1] out_starts not None, int64_t[::1] out_value_starts not None,
):
    cdef Outcome outcome
    with nogil:
        outcome = _parse_words(&words[0], words.shape[0], large, num_values, data_bytes, &out_starts[0],
                               out_starts.shape[0], &out_value_starts[0], out_value_starts.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def parse_many_chunk_words(
    const uint8_t[::1] data not None, const int64_t[::1] word_starts not None, const int64_t[::1] word_sizes not None,
    cbool large, const int64_t[::1] num_values not None, const int64_t[::1] data_bytes not None,
    const int64_t[::1] borders not None, int64_t[::1] out_starts not None, int64_t[::1] out_value_starts not None,
):
    cdef Outcome outcome
    cdef int64_t n = word_starts.shape[0]
    if (word_sizes.shape[0] != n or num_values.shape[0] != n or data_bytes.shape[0] != n or borders.shape[0] != n + 1
            or out_value_starts.shape[0] != out_starts.shape[0]):
        raise refusal(b"arrays over pages have different lengths", -1, 0)
    if n == 0:
        return
    with nogil:
        outcome = _parse_many(&data[0], data.shape[0], &word_starts[0], &word_sizes[0], large, &num_values[0],
                              &data_bytes[0], &borders[0], n, &out_starts[0], &out_value_starts[0], out_starts.shape[0])
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


def parse_chunk_headers(
    const uint8_t[::1] data not None, const int64_t[::1] chunk_starts not None, const int64_t[::1] chunk_stops not None,
    cbool has_rep, cbool has_def, int64_t num_buffers, cbool large,
    int64_t[::1] out_num_levels not None,
    int64_t[::1] out_rep_starts, int64_t[::1] out_rep_sizes, int64_t[::1] out_def_starts, int64_t[::1] out_def_sizes,
    int64_t[:, ::1] out_starts not None, int64_t[:, ::1] out_sizes not None,
):
    cdef int64_t num_chunks = chunk_starts.shape[0]
    cdef HeaderForm form
    cdef HeaderOut out
    cdef Outcome outcome
    if chunk_stops.shape[0] != num_chunks or out_num_levels.shape[0] != num_chunks or num_buffers < 0:
        raise refusal(b"arrays over chunks have different lengths", -1, 0)
    if (out_starts.shape[0] != num_buffers or out_starts.shape[1] != num_chunks
            or out_sizes.shape[0] != num_buffers or out_sizes.shape[1] != num_chunks):
        raise refusal(b"out_starts and out_sizes must be (num_buffers, num_chunks)", -1, 0)
    if has_rep and not _has(out_rep_starts, out_rep_sizes, num_chunks):
        raise refusal(b"arrays for repetition levels are missing or have another length", -1, 0)
    if has_def and not _has(out_def_starts, out_def_sizes, num_chunks):
        raise refusal(b"arrays for definition levels are missing or have another length", -1, 0)
    form.has_rep, form.has_def, form.num_buffers, form.large = has_rep, has_def, num_buffers, large
    out.num_levels, out.starts, out.sizes = &out_num_levels[0], &out_starts[0, 0], &out_sizes[0, 0]
    out.rep_starts = out.rep_sizes = out.def_starts = out.def_sizes = NULL
    if has_rep:
        out.rep_starts, out.rep_sizes = &out_rep_starts[0], &out_rep_sizes[0]
    if has_def:
        out.def_starts, out.def_sizes = &out_def_starts[0], &out_def_sizes[0]
    with nogil:
        outcome = _parse_headers(&data[0], data.shape[0], &chunk_starts[0], &chunk_stops[0], num_chunks, form, out)
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)


cdef bint _has(int64_t[::1] starts, int64_t[::1] sizes, int64_t num_chunks):
    return starts is not None and sizes is not None and starts.shape[0] == num_chunks and sizes.shape[0] == num_chunks
