# Shared declarations of the kernels: what they report, and how tables of chunks and of parts are handed over.
cimport cython
from libc.stdint cimport int64_t, uint8_t


cdef extern from "engine/common/outcome.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct Outcome:
        const char* message
        int64_t index
        int blame

    cdef struct Chunks:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* sizes
        const int64_t* value_starts
        int64_t num_chunks

cdef extern from "engine/common/parts.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct Parts:
        const uint8_t* values
        int64_t num_bytes
        const int64_t* value_starts
        int64_t num_parts


cdef inline Parts part_table(const uint8_t[::1] values, const int64_t[::1] value_starts) noexcept:
    cdef Parts parts
    with cython.boundscheck(False), cython.wraparound(False):
        parts.values = &values[0]
        parts.value_starts = &value_starts[0]
    parts.num_bytes = values.shape[0]
    parts.num_parts = value_starts.shape[0] - 1
    return parts


cdef inline Chunks chunk_table(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, const int64_t[::1] value_starts
) noexcept:
    cdef Chunks chunks
    # Empty arrays have an address too, and what is read through it is guarded by the sizes.
    with cython.boundscheck(False), cython.wraparound(False):
        chunks.data = &data[0]
        chunks.starts = &starts[0]
        chunks.sizes = &sizes[0]
        chunks.value_starts = &value_starts[0]
    chunks.data_bytes = data.shape[0]
    chunks.num_chunks = starts.shape[0]
    if sizes.shape[0] != starts.shape[0] or value_starts.shape[0] != starts.shape[0] + 1:
        chunks.num_chunks = -1
    return chunks
