# What describes small files that lie whole in memory, many per call; its twin is `container`, which reads one by one.

cdef extern from "engine/tables/file_tables.hpp" namespace "lance_arrow::engine" nogil:
    const int64_t kFacts

    cdef cppclass ColumnOfFiles:
        CPageTable pages
        vector[int64_t] page_counts
        vector[pair[string_view, int64_t]] wrappers
        int64_t read(const uint8_t*, const int64_t*, const int64_t*, const int64_t*, int64_t, int64_t)

    void _open "lance_arrow::engine::open_small_files"(
        const uint8_t*, const int64_t*, const int64_t*, int64_t, cbool, int64_t*, int64_t*, uint8_t*)
    void _copy_sums "lance_arrow::engine::copy_sums"(
        const uint8_t*, const int64_t*, const int64_t*, int64_t, int64_t*, int64_t*, uint32_t*)


NUM_FACTS = kFacts


def open_small_files(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    cbool wants_sums, int64_t[::1] begins not None, int64_t[:, ::1] facts not None, uint8_t[::1] flags not None,
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
    begins
        ``(n,) int64``: from which of its bytes on each is here. Afterwards, of a file with metadata before that, which
        then has no flag, the byte that metadata begins with, as far as it is known.
    facts
        ``(n, NUM_FACTS) int64``, written for the files that were read.
    flags
        ``(n,) uint8``: 1 for files to read; 0 afterwards for those that `container` must look at.
    """
    cdef int64_t file
    _check_files(data, starts, sizes, facts.shape[0], facts.shape[1], flags)
    if begins.shape[0] != starts.shape[0]:
        raise refusal(b"arrays over files have contradicting lengths", -1, 0)
    for file in range(starts.shape[0]):
        if begins[file] < 0 or begins[file] > sizes[file]:
            raise refusal(b"a file begins outside of itself", file, 0)
    if starts.shape[0] == 0:
        return
    with nogil:
        _open(&data[0], &starts[0], &sizes[0], starts.shape[0], wants_sums, &begins[0], &facts[0, 0], &flags[0])


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


def read_column_of_files(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[:, ::1] facts not None, int64_t column,
) -> tuple[Any, ...] | int:
    """Read the metadata of one column of open files, pages in order of the files.

    Parameters
    ----------
    data, starts, sizes, facts
        As for `open_small_files`, with only files whose flags are still set.
    column
        Physical column.

    Returns
    -------
    tuple or int
        ``(n,) int64`` number of pages of each file. A list of the descriptions of the column as a whole, with the
        number of its buffers. The pages, in the form of `read_column_metadata`, with places in `data`. Instead, the
        number of a file whose metadata is not in the usual form.
    """
    cdef int64_t file, table, refused
    cdef ColumnOfFiles found
    cdef int64_t[::1] counts
    if sizes.shape[0] != starts.shape[0] or facts.shape[0] != starts.shape[0] or facts.shape[1] != kFacts:
        raise refusal(b"arrays over files have contradicting lengths", -1, 0)
    for file in range(starts.shape[0]):
        _check_file(data, starts[file], sizes[file], file)
        table = facts[file, 2] + 16 * facts[file, 1]
        if min(facts[file, 1], facts[file, 2] - starts[file]) < 0 or table > starts[file] + sizes[file]:
            raise refusal(b"a table lies outside its file", file, 0)
        table = facts[file, 6] + 64 + 24 * facts[file, 7] + 4 * facts[file, 1]
        if facts[file, 6] >= 0 and (facts[file, 7] < 0 or table > data.shape[0]):
            raise refusal(b"a table of checksums lies outside the data", file, 0)
    page_counts = numpy.zeros(starts.shape[0], numpy.int64)
    if starts.shape[0] == 0:
        return page_counts, [], _pages_of(found.pages)
    with nogil:
        refused = found.read(&data[0], &starts[0], &sizes[0], &facts[0, 0], starts.shape[0], column)
    if refused >= 0:
        return refused
    counts = page_counts
    _copied(&counts[0], found.page_counts)
    wrappers = [(one.first.data()[:one.first.size()], one.second) for one in found.wrappers]
    return page_counts, wrappers, _pages_of(found.pages)


cdef int _check_file(const uint8_t[::1] data, int64_t start, int64_t size, int64_t file) except -1:
    if start < 0 or size < 0 or start > data.shape[0] or size > data.shape[0] - start:
        raise refusal(b"a file lies outside the data", file, 0)
    return 0


cdef int _check_files(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, int64_t num_facts, int64_t width,
    const uint8_t[::1] flags,
) except -1:
    cdef int64_t file, n = starts.shape[0]
    if sizes.shape[0] != n or num_facts != n or flags.shape[0] != n or width != kFacts:
        raise refusal(b"arrays over files have contradicting lengths", -1, 0)
    for file in range(n):
        _check_file(data, starts[file], sizes[file], file)
    return 0
