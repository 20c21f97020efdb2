# Positional reads of many ranges of one file, with the GIL released.

cdef extern from "engine/tables/scattered_reads.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Scattered:
        int64_t base
        const int64_t *starts
        const int64_t *stops
        const int64_t *places
        int64_t count
        uint8_t *out
    int64_t num_together(const Scattered &ranges, int64_t first)
    bint read_together(int fd, const Scattered &ranges, int64_t first, int64_t count)

cdef extern from "engine/common/files.hpp" namespace "lance_arrow::engine" nogil:
    int _open_file "lance_arrow::engine::open_file"(const char *path)
    int64_t read_at(int fd, int64_t start, int64_t size, uint8_t *out)
    bint read_of_file(const char *path, int64_t size, int64_t begin, int64_t count, uint8_t *out)
    cdef cppclass CFileState "lance_arrow::engine::FileState":
        int64_t size
        int64_t time_ns
        uint64_t device
        uint64_t inode
    cbool is_state_of(const char *path, const CFileState &state)


cdef class FileState:
    """What tells natively whether a path still leads to the same file: see `os.stat`.

    Parameters
    ----------
    path
        The path, encoded by `os.fsencode`.
    size, time_ns, device, inode
        What the system says of the file.
    """

    cdef bytes path
    cdef CFileState state

    def __init__(self, bytes path not None, int64_t size, int64_t time_ns, uint64_t device, uint64_t inode) -> None:
        self.path = path
        self.state.size, self.state.time_ns, self.state.device, self.state.inode = size, time_ns, device, inode


def open_file(bytes path not None) -> int:
    """Open a file for reading; also a folder, on systems that open folders.

    Does not wait for a writer of a named pipe. Others may rename and delete the file while it is open, also on Windows.

    Parameters
    ----------
    path
        The path, encoded by `os.fsencode`.

    Returns
    -------
    int
        File descriptor, which children of the process do not inherit.

    Raises
    ------
    ValueError
        The path contains a zero byte.
    OSError
        The operating system could not open the file.
    """
    if b"\0" in path:
        raise ValueError("embedded null byte")
    cdef const char *name = path
    cdef int fd, failure
    with nogil:
        fd = _open_file(name)
        failure = errno
    if fd < 0:
        raise OSError(failure, os.strerror(failure), os.fsdecode(path))
    return fd


def read_ranges(
    int fd, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] out_starts not None, uint8_t[::1] out not None,
) -> int:
    """Read ranges of a file into given memory.

    Parameters
    ----------
    fd
        Open file descriptor; its position is neither used nor changed.
    starts, sizes
        ``(n,) int64`` each: offsets from the start of the file and sizes, in bytes.
    out_starts
        ``(n,) int64``: offset of each range in `out`.
    out
        ``(m,) uint8``: receives the ranges; other bytes are not changed.

    Returns
    -------
    int
        Index of the first range that ends behind the end of the file, or -1.

    Raises
    ------
    ValueError
        Unequal lengths, negative numbers, or a range outside `out`.
    OSError
        A read failed; `errno` is that of the read. Interrupted reads are repeated.
    """
    cdef Py_ssize_t n = starts.shape[0], i
    cdef int64_t capacity = out.shape[0]
    if sizes.shape[0] != n or out_starts.shape[0] != n:
        raise ValueError("starts, sizes and out_starts must have equal lengths")
    for i in range(n):
        if starts[i] < 0 or sizes[i] < 0 or out_starts[i] < 0:
            raise ValueError("negative start or size")
        if out_starts[i] > capacity or sizes[i] > capacity - out_starts[i]:
            raise ValueError("a range does not fit into out")
        if starts[i] > 0x7FFFFFFFFFFFFFFF - sizes[i]:
            raise ValueError("a range ends beyond 2**63")
    cdef Py_ssize_t short_range = -1
    cdef int failure = 0
    cdef int64_t received, together
    cdef vector[int64_t] stops
    cdef Scattered ranges
    if n == 0:
        return -1
    with nogil:
        stops.reserve(n)
        for i in range(n):
            stops.push_back(starts[i] + sizes[i])
        ranges.base, ranges.count, ranges.out = 0, n, &out[0]
        ranges.starts, ranges.stops, ranges.places = &starts[0], stops.data(), &out_starts[0]
        i = 0
        while i < n:
            together = num_together(ranges, i)
            if together > 1 and read_together(fd, ranges, i, together):
                i += together
                continue
            # Read one by one, which also finds the faulty range. An empty range may be at the end of `out`.
            received = read_at(fd, starts[i], sizes[i], ranges.out + out_starts[i])
            if received < 0:
                failure = errno
                break
            if received < sizes[i]:
                short_range = i
                break
            i += 1
    if failure != 0:
        raise OSError(failure, os.strerror(failure))
    return short_range


def read_files(
    list paths not None, const int64_t[::1] sizes not None, const int64_t[::1] begins not None,
    const int64_t[::1] stops not None, const int64_t[::1] out_starts not None, uint8_t[::1] out not None,
    uint8_t[::1] flags not None,
) -> None:
    """Read a range of each of many files into given memory. Each is opened, read and closed before the next.

    Parameters
    ----------
    paths
        ``n`` paths as bytes, without zero bytes; they may be equal.
    sizes
        ``(n,) int64``: required size of each file in bytes.
    begins, stops
        ``(n,) int64``: half-open range of bytes of each.
    out_starts
        ``(n,) int64``: offset of each range in `out`.
    out
        ``(m,) uint8``: receives the ranges.
    flags
        ``(n,) uint8`` out: 1 where the range was read, of a regular file of exactly that size, else 0.

    Raises
    ------
    ValueError
        Unequal lengths, negative numbers, a path with a zero byte, or a range outside its file, or outside `out`.
    """
    cdef Py_ssize_t n = sizes.shape[0], i
    cdef int64_t capacity = out.shape[0]
    cdef vector[const char *] names
    cdef bytes path
    if not (len(paths) == begins.shape[0] == stops.shape[0] == out_starts.shape[0] == flags.shape[0] == n):
        raise ValueError("paths, sizes, begins, stops, out_starts and flags must have equal lengths")
    for i in range(n):
        if not 0 <= begins[i] <= stops[i] <= sizes[i]:
            raise ValueError("a range leaves its file")
        if not 0 <= out_starts[i] <= capacity or stops[i] - begins[i] > capacity - out_starts[i]:
            raise ValueError("a range does not fit into out")
        path = paths[i]
        if b"\0" in path:
            raise ValueError("a path contains a zero byte")
        names.push_back(path)
    with nogil:
        for i in range(n):
            flags[i] = read_of_file(names[i], sizes[i], begins[i], stops[i] - begins[i], &out[0] + out_starts[i])
