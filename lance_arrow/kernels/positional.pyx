# cython: language_level=3, boundscheck=False, wraparound=False
"""Positional reads of many ranges of one file, with the GIL released."""

from libc.errno cimport EINTR, errno
from libc.stdint cimport int64_t, uint8_t

import os

cdef extern from "unistd.h" nogil:
    ssize_t pread(int fd, void *buffer, size_t count, int64_t offset)


def read_ranges(int fd, const int64_t[::1] starts, const int64_t[::1] sizes, const int64_t[::1] out_starts, uint8_t[::1] out):
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
    cdef int64_t done
    cdef ssize_t received
    with nogil:
        for i in range(n):
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
    if failure != 0:
        raise OSError(failure, os.strerror(failure))
    return short_range
