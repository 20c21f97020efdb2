# cython: language_level=3, boundscheck=False, wraparound=False, embedsignature=False
"""What order row offsets come in; meaning in ``reference/row_order.py``."""

from libc.stdint cimport int64_t


def smallest_step(const int64_t[:] rows not None, int64_t num_rows):
    cdef Py_ssize_t place
    cdef int64_t row, before = -3, smallest = 2
    with nogil:
        for place in range(rows.shape[0]):
            row = rows[place]
            if row < 0 or row >= num_rows:
                smallest = -1
                break
            # Both are rows: their difference is within 64 bits.
            if row - before < smallest:
                smallest = row - before if row > before else 0
            before = row
    return smallest
