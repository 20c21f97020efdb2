# Words and headers of chunks. Source: spec section 3.

cdef extern from "engine/tables/chunk_tables.hpp" namespace "lance_arrow::engine" nogil:
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

    Outcome _parse_words "lance_arrow::engine::parse_chunk_words"(
        const uint8_t*, int64_t, cbool, int64_t, int64_t, int64_t*, int64_t, int64_t*, int64_t)
    Outcome _parse_headers "lance_arrow::engine::parse_chunk_headers"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, HeaderForm, HeaderOut)


def parse_chunk_words(
    const uint8_t[::1] words not None, cbool large, int64_t num_values, int64_t data_bytes,
    int64_t[::1] out_starts not None, int64_t[::1] out_value_starts not None,
) -> None:
    """Turn the chunk table of a mini-block page into places.

    Parameters
    ----------
    words
        ``(n * 2,)`` or, when `large`, ``(n * 4,)`` bytes: one word per chunk.
    num_values, data_bytes
        Values of the page (not levels) and bytes of its chunk buffer.
    out_starts, out_value_starts
        ``(n + 1,) int64``: byte start and first value of each chunk, then both ends.

    Raises
    ------
    CorruptPageError
        Sizes or values do not add up, or a chunk but the last says no number of values.
    InternalError
        An output has the wrong length.
    """
    cdef Outcome outcome
    with nogil:
        outcome = _parse_words(&words[0], words.shape[0], large, num_values, data_bytes, &out_starts[0],
                               out_starts.shape[0], &out_value_starts[0], out_value_starts.shape[0])
    check_outcome(outcome)


def parse_chunk_headers(
    const uint8_t[::1] data not None, const int64_t[::1] chunk_starts not None, const int64_t[::1] chunk_stops not None,
    cbool has_rep, cbool has_def, int64_t num_buffers, cbool large,
    int64_t[::1] out_num_levels not None,
    int64_t[::1] out_rep_starts, int64_t[::1] out_rep_sizes, int64_t[::1] out_def_starts, int64_t[::1] out_def_sizes,
    int64_t[:, ::1] out_starts not None, int64_t[:, ::1] out_sizes not None,
) -> None:
    """Find the level streams and value buffers of many chunks, which need not be neighbours.

    Parameters
    ----------
    data
        Holds the chunks.
    chunk_starts, chunk_stops
        ``(n,) int64``: byte range of each chunk in `data`.
    has_rep, has_def, num_buffers, large
        Which streams exist, value buffers per chunk, and whether their sizes are 32 bits wide.
    out_num_levels
        ``(n,) int64``: level entries of each chunk; 0 when there is no stream.
    out_rep_starts, out_rep_sizes, out_def_starts, out_def_sizes
        ``(n,) int64``: byte ranges of the streams in `data`; may be None for a stream that does not exist.
    out_starts, out_sizes
        ``(num_buffers, n) int64``: byte ranges of the value buffers in `data`.

    Raises
    ------
    CorruptPageError
        A part or its padding leaves its chunk, a chunk is not used up, or levels and streams contradict each other;
        ``detail`` is the chunk.
    InternalError
        A chunk lies outside `data`, or an output has the wrong shape.
    """
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
    check_outcome(outcome)


cdef bint _has(int64_t[::1] starts, int64_t[::1] sizes, int64_t num_chunks):
    return starts is not None and sizes is not None and starts.shape[0] == num_chunks and sizes.shape[0] == num_chunks
