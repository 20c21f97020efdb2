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

cdef extern from "unistd.h" nogil:
    ssize_t pread(int fd, void *buffer, size_t count, int64_t offset)
    int close(int fd)

cdef extern from "fcntl.h" nogil:
    int open(const char *path, int flags)
    int O_RDONLY, O_NONBLOCK, O_CLOEXEC

cdef extern from "sys/stat.h" nogil:
    cdef struct stat_t "stat":
        unsigned int st_mode
        int64_t st_size
    int fstat(int fd, stat_t *found)
    int S_ISREG(unsigned int mode)


def read_ranges(
    int fd, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] out_starts not None, uint8_t[::1] out not None,
) -> int:
    """Read ranges of a file into given memory.

    Parameters
    ----------
    fd
        Open file descriptor; its own offset is neither used nor moved.
    starts, sizes
        ``(n,) int64`` each: bytes from the start of the file, and bytes.
    out_starts
        ``(n,) int64``: where in `out` each range goes.
    out
        ``(m,) uint8``, filled where the ranges go; the rest is left alone.

    Returns
    -------
    int
        Index of the first range that the file is too short for, or -1.

    Raises
    ------
    ValueError
        Unequal lengths, negative numbers, or a range outside `out`.
    OSError
        A read failed; carries its errno. An interrupted read is repeated.
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
    cdef int64_t done, together
    cdef ssize_t received
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
            # Alone, which also tells what is wrong with them.
            done = 0
            while done < sizes[i]:
                received = pread(fd, &out[out_starts[i] + done], <size_t>(sizes[i] - done), starts[i] + done)
                if received > 0:
                    done += received
                elif received == 0:
                    short_range = i
                    break
                elif errno != EINTR:
                    failure = errno
                    break
            if failure != 0 or short_range >= 0:
                break
            i += 1
    if failure != 0:
        raise OSError(failure, os.strerror(failure))
    return short_range


def read_files(
    list paths not None, const int64_t[::1] sizes not None, const int64_t[::1] out_starts not None,
    uint8_t[::1] out not None, uint8_t[::1] flags not None,
) -> None:
    """Read small files whole into given memory: opened, read and closed one after the other.

    Parameters
    ----------
    paths
        ``n`` paths, as bytes without a zero.
    sizes
        ``(n,) int64``: bytes that each file must have.
    out_starts
        ``(n,) int64``: where in `out` each goes.
    out
        ``(m,) uint8``, filled where the files go.
    flags
        ``(n,) uint8``: becomes 1 for a regular file of just that size that was read, else 0, whatever the reason is.

    Raises
    ------
    ValueError
        Unequal lengths, negative numbers, a path with a zero, or a file outside `out`.
    """
    cdef Py_ssize_t n = sizes.shape[0], i
    cdef int64_t capacity = out.shape[0]
    cdef vector[const char *] names
    cdef bytes path
    if len(paths) != n or out_starts.shape[0] != n or flags.shape[0] != n:
        raise ValueError("paths, sizes, out_starts and flags must have equal lengths")
    for i in range(n):
        if sizes[i] < 0 or out_starts[i] < 0 or out_starts[i] > capacity or sizes[i] > capacity - out_starts[i]:
            raise ValueError("a file does not fit into out")
        path = paths[i]
        if b"\0" in path:
            raise ValueError("a path contains a zero byte")
        names.push_back(path)
    with nogil:
        for i in range(n):
            flags[i] = _read_file(names[i], sizes[i], &out[0] + out_starts[i])


cdef uint8_t _read_file(const char *path, int64_t size, uint8_t *out) noexcept nogil:
    cdef stat_t found
    cdef int64_t done = 0
    cdef ssize_t received
    # Without O_NONBLOCK, opening a named pipe waits for a writer.
    cdef int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    if fd < 0:
        return 0
    if fstat(fd, &found) != 0 or not S_ISREG(found.st_mode) or found.st_size != size:
        close(fd)
        return 0
    while done < size:
        received = pread(fd, out + done, <size_t>(size - done), done)
        if received > 0:
            done += received
        elif received == 0 or errno != EINTR:
            break
    close(fd)
    return done == size
