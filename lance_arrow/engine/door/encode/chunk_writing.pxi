# Chunks put together. Source: spec section 3.

cdef extern from "engine/encode/chunk_writing.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct LevelCut:
        const uint16_t* rep
        const uint16_t* def_ "def"
        int64_t num_entries
        int max_rep
        int max_visible

    cdef struct ChunkPart:
        const uint8_t* bytes
        int64_t num_bytes
        const int64_t* sizes
        int64_t done

    cdef cppclass ChunkWriting:
        const int64_t* num_levels
        vector[ChunkPart] levels
        vector[ChunkPart] values
        const int64_t* value_counts
        int64_t num_chunks
        cbool large

    Outcome _cut "lance_arrow::engine::cut_levels"(LevelCut, const int64_t*, int64_t, int64_t*, int64_t*)
    int64_t _padded "lance_arrow::engine::padded"(int64_t)
    Outcome _write "lance_arrow::engine::write_chunks"(ChunkWriting, uint8_t*, int64_t, uint8_t*, int64_t)


def cut_levels(
    const uint16_t[::1] rep not None, const uint16_t[::1] def_, int max_rep, int max_visible,
    const int64_t[::1] value_starts not None, int64_t[::1] out_level_starts not None, int64_t[::1] out_index not None,
) -> None:
    """Cut the level entries of a page with lists at the borders of its chunks.

    A chunk ends with the entry of its last value. Following entries without a value belong to the next chunk, and the
    last chunk has all remaining entries.

    Parameters
    ----------
    rep, def_
        ``(num_entries,) uint16``; None where the page has no definition levels.
    max_rep, max_visible
        Repetition level that begins a row, and largest definition level of an entry that owns a value.
    value_starts
        ``(n + 1,) int64``: first value of each chunk, then their number.
    out_level_starts
        ``(n + 1,) int64``: first entry of each chunk, then their number.
    out_index
        ``(2 * n,) int64``: for each chunk the rows that finish in it, then the entries after the last of them.

    Raises
    ------
    InternalError
        Visible entries and values differ in number, or an array has the wrong length.
    """
    cdef LevelCut levels
    cdef Outcome outcome
    cdef int64_t num_chunks = value_starts.shape[0] - 1
    if out_level_starts.shape[0] != num_chunks + 1 or out_index.shape[0] != 2 * num_chunks:
        raise refusal(b"the outputs have another length than the chunks", -1, 0)
    if def_ is not None and def_.shape[0] != rep.shape[0]:
        raise refusal(b"definition levels and entries differ in number", -1, 0)
    levels.rep, levels.num_entries = &rep[0], rep.shape[0]
    levels.def_ = NULL
    if def_ is not None:
        levels.def_ = &def_[0]
    levels.max_rep, levels.max_visible = max_rep, max_visible
    with nogil:
        outcome = _cut(levels, &value_starts[0], num_chunks, &out_level_starts[0], &out_index[0])
    check_outcome(outcome)


cdef int _part(const uint8_t[::1] data, const int64_t[::1] sizes, int64_t num_chunks, ChunkPart* out) except -1:
    if sizes is None or data is None or sizes.shape[0] != num_chunks:
        raise refusal(b"a buffer and the chunks differ in number", -1, 0)
    out.bytes, out.num_bytes, out.sizes, out.done = &data[0], data.shape[0], &sizes[0], 0
    return 0


def measure_chunks(
    tuple level_sizes not None, const int64_t[:, ::1] value_sizes not None, const int64_t[::1] value_counts not None,
    cbool large,
) -> tuple[int, int, int, int]:
    """Add up what `write_chunks` will write.

    Parameters
    ----------
    level_sizes, value_sizes, value_counts, large
        As for `write_chunks`.

    Returns
    -------
    num_bytes, max_bytes, num_values, max_values
        Bytes and values of all chunks, and of the largest one.

    Raises
    ------
    InternalError
        An array has the wrong length.
    """
    cdef int64_t num_chunks = value_counts.shape[0]
    cdef vector[const int64_t*] sizes
    cdef const int64_t[::1] level
    cdef int64_t header, size, chunk, num_bytes = 0, max_bytes = 0, num_values = 0, max_values = 0
    cdef size_t part
    cdef Py_ssize_t number
    if value_sizes.shape[1] != num_chunks:
        raise refusal(b"arrays over chunks have different lengths", -1, 0)
    for number in range(value_sizes.shape[0]):
        sizes.push_back(&value_sizes[number, 0])
    for number in range(len(level_sizes)):
        level = level_sizes[number]
        if level is None or level.shape[0] != num_chunks:
            raise refusal(b"arrays over chunks have different lengths", -1, 0)
        sizes.push_back(&level[0])
    header = _padded(2 + 2 * <int64_t> len(level_sizes) + (4 if large else 2) * <int64_t> value_sizes.shape[0])
    with nogil:
        for chunk in range(num_chunks):
            size = header
            for part in range(sizes.size()):
                size += _padded(sizes[part][chunk])
            num_bytes += size
            max_bytes = max(max_bytes, size)
            num_values += value_counts[chunk]
            max_values = max(max_values, value_counts[chunk])
    return num_bytes, max_bytes, num_values, max_values


def write_chunks(
    const int64_t[::1] num_levels not None, tuple level_buffers not None, tuple level_sizes not None,
    tuple value_buffers not None, const int64_t[:, ::1] value_sizes not None, const int64_t[::1] value_counts not None,
    cbool large, uint8_t[::1] out_words not None, uint8_t[::1] out not None,
) -> None:
    """Write the chunk table and the chunks of a page.

    Parameters
    ----------
    num_levels
        ``(n,) int64`` level entries of each chunk.
    level_buffers, level_sizes
        For each level stream that exists (repetition, definition) the bytes of all chunks one after another, and
        ``(n,) int64`` bytes of each.
    value_buffers, value_sizes
        The same for the value buffers; sizes are ``(num_buffers, n) int64``.
    value_counts
        ``(n,) int64`` values of each chunk.
    large
        Whether chunk words and value sizes are 32 bits wide.
    out_words, out
        Chunk table, 2 or 4 bytes per chunk, and exactly the bytes of the chunks.

    Raises
    ------
    InternalError
        A size does not fit its field, or an array has the wrong length. Also if a chunk before the last does not have a
        power of two of values. ``detail`` is the chunk.
    """
    cdef ChunkWriting page
    cdef ChunkPart part
    cdef Outcome outcome
    cdef int64_t num_chunks = value_counts.shape[0]
    cdef Py_ssize_t number
    if num_levels.shape[0] != num_chunks or value_sizes.shape[1] != num_chunks:
        raise refusal(b"arrays over chunks have different lengths", -1, 0)
    if value_sizes.shape[0] != len(value_buffers) or len(level_sizes) != len(level_buffers):
        raise refusal(b"buffers and their sizes differ in number", -1, 0)
    for number in range(len(level_buffers)):
        _part(level_buffers[number], level_sizes[number], num_chunks, &part)
        page.levels.push_back(part)
    for number in range(len(value_buffers)):
        _part(value_buffers[number], value_sizes[number], num_chunks, &part)
        page.values.push_back(part)
    page.num_levels, page.value_counts = &num_levels[0], &value_counts[0]
    page.num_chunks, page.large = num_chunks, large
    with nogil:
        outcome = _write(page, &out_words[0], out_words.shape[0], &out[0], out.shape[0])
    check_outcome(outcome)
