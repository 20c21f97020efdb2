# What order row offsets come in.

def smallest_step(const int64_t[:] rows not None, int64_t num_rows) -> int:
    cdef Py_ssize_t place
    cdef int64_t row, before = 0, smallest = 2
    with nogil:
        for place in range(rows.shape[0]):
            row = rows[place]
            if row < 0 or row >= num_rows:
                smallest = -1
                break
            # Both are above 0: their difference is within 64 bits.
            if place > 0 and row - before < smallest:
                smallest = row - before if row > before else 0
            before = row
    return smallest
