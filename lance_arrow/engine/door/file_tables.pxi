# What describes small files that lie whole in memory, many per call; its twin is `container`, which reads one by one.

cdef extern from "engine/tables/file_tables.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t kFacts

    cdef struct PagesOut:
        int64_t* rows
        int64_t* descriptions
        int64_t* borders
        int64_t* starts
        int64_t* sizes
        int64_t num_pages
        int64_t num_buffers

    void _open "lance_arrow::engine::open_small_files"(
        const uint8_t*, const int64_t*, const int64_t*, int64_t, cbool, int64_t*, uint8_t*)
    void _copy_sums "lance_arrow::engine::copy_sums"(
        const uint8_t*, const int64_t*, const int64_t*, int64_t, int64_t*, int64_t*, uint32_t*)
    void _walk "lance_arrow::engine::walk_columns"(
        const uint8_t*, const int64_t*, const int64_t*, const int64_t*, int64_t, int64_t, int64_t, int64_t, int64_t*,
        int64_t*, PagesOut*, uint8_t*)


NUM_FACTS = kFacts


def open_small_files(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    cbool wants_sums, int64_t[:, ::1] facts not None, uint8_t[::1] flags not None,
) -> None:
    """Read footers, tables and descriptors of files of version 2.1 or later, compared with their checksums if wanted.

    Parameters
    ----------
    data
        All files.
    starts, sizes
        ``(n,) int64``: where each lies.
    wants_sums
        Whether checksums matter; a file that should have some and has none is then left alone.
    facts
        ``(n, NUM_FACTS) int64``, written for the files that were read.
    flags
        ``(n,) uint8``: 1 for files to read; 0 afterwards for those that `container` must look at.
    """
    _check_files(data, starts, sizes, facts.shape[0], facts.shape[1], flags)
    if starts.shape[0] == 0:
        return
    with nogil:
        _open(&data[0], &starts[0], &sizes[0], starts.shape[0], wants_sums, &facts[0, 0], &flags[0])


def copy_sums(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[:, ::1] facts not None,
    int64_t[::1] out_starts not None, int64_t[::1] out_sizes not None, uint32_t[::1] out_crcs not None,
) -> None:
    """Copy what the tables of checksums of open files cover, with places in `data`; outputs as long as all of it."""
    cdef int64_t file, place, num_buffers = 0, num_blocks = 0
    if facts.shape[0] != starts.shape[0] or facts.shape[1] != kFacts:
        raise refusal(b"starts and facts have contradicting lengths", -1, 0)
    for file in range(facts.shape[0]):
        if facts[file, 6] < 0:
            continue
        place = 64 + 24 * facts[file, 7] + 4 * (facts[file, 1] + facts[file, 8])
        if min(facts[file, 1], facts[file, 7], facts[file, 8]) < 0 or place > data.shape[0] - facts[file, 6]:
            raise refusal(b"a table of checksums lies outside the data", file, 0)
        num_buffers += facts[file, 7]
        num_blocks += facts[file, 8]
    if (out_starts.shape[0], out_sizes.shape[0], out_crcs.shape[0]) != (num_buffers, num_buffers, num_blocks):
        raise refusal(b"the outputs have another length than the tables", -1, 0)
    if num_buffers == 0:
        return
    with nogil:
        _copy_sums(&data[0], &starts[0], &facts[0, 0], facts.shape[0], &out_starts[0], &out_sizes[0], &out_crcs[0])


def walk_columns(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[:, ::1] facts not None, int64_t column, int64_t[:, ::1] own not None,
    int64_t[::1] page_counts not None, uint8_t[::1] flags not None, tuple out=None,
) -> tuple[int, int]:
    """Read the metadata of one column of open files, pages in order of the files.

    Parameters
    ----------
    data, starts, sizes, facts, flags
        As for `open_small_files`.
    column
        Physical column.
    own
        ``(n, 3) int64``: place and size of the column's own description, and the number of its buffers.
    page_counts
        ``(n,) int64``: pages of each file.
    out
        Rows, descriptions (place and size), first buffer of each page; places and sizes of all buffers, in `data`:
        ``(pages,)``, ``(pages, 2)``, ``(pages,)``, ``(buffers,)``, ``(buffers,)``. When None, pages are only counted.

    Returns
    -------
    num_pages, num_buffers
        Of all files whose flag is left.
    """
    cdef PagesOut pages
    cdef int64_t room_pages = 0, room_buffers = 0, file, table
    cdef int64_t[::1] rows, borders, buffer_starts, buffer_sizes
    cdef int64_t[:, ::1] descriptions
    _check_files(data, starts, sizes, facts.shape[0], facts.shape[1], flags)
    if own.shape[0] != starts.shape[0] or own.shape[1] != 3 or page_counts.shape[0] != starts.shape[0]:
        raise refusal(b"own and page_counts must have one row per file", -1, 0)
    for file in range(starts.shape[0]):
        if flags[file] == 0:
            continue
        table = facts[file, 2] + 16 * facts[file, 1]
        if min(facts[file, 1], facts[file, 2] - starts[file]) < 0 or table > starts[file] + sizes[file]:
            raise refusal(b"a table lies outside its file", file, 0)
        table = facts[file, 6] + 64 + 24 * facts[file, 7] + 4 * facts[file, 1]
        if facts[file, 6] >= 0 and (facts[file, 7] < 0 or table > data.shape[0]):
            raise refusal(b"a table of checksums lies outside the data", file, 0)
    pages.rows = pages.descriptions = pages.borders = pages.starts = pages.sizes = NULL
    pages.num_pages = pages.num_buffers = 0
    if starts.shape[0] == 0:
        return 0, 0
    if out is not None:
        rows, descriptions, borders, buffer_starts, buffer_sizes = out
        room_pages, room_buffers = rows.shape[0], buffer_starts.shape[0]
        if (descriptions.shape[0] != room_pages or descriptions.shape[1] != 2 or borders.shape[0] != room_pages
                or buffer_sizes.shape[0] != room_buffers):
            raise refusal(b"arrays of pages have contradicting lengths", -1, 0)
        pages.rows, pages.descriptions, pages.borders = &rows[0], &descriptions[0, 0], &borders[0]
        pages.starts, pages.sizes = &buffer_starts[0], &buffer_sizes[0]
    with nogil:
        _walk(&data[0], &starts[0], &sizes[0], &facts[0, 0], starts.shape[0], column, room_pages, room_buffers,
              &own[0, 0], &page_counts[0], &pages, &flags[0])
    return pages.num_pages, pages.num_buffers


cdef int _check_files(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, int64_t num_facts, int64_t width,
    const uint8_t[::1] flags,
) except -1:
    cdef int64_t file, n = starts.shape[0]
    if sizes.shape[0] != n or num_facts != n or flags.shape[0] != n or width != kFacts:
        raise refusal(b"arrays over files have contradicting lengths", -1, 0)
    for file in range(n):
        if starts[file] < 0 or sizes[file] < 0 or starts[file] > data.shape[0] or sizes[file] > data.shape[0] - starts[file]:
            raise refusal(b"a file lies outside the data", file, 0)
    return 0
