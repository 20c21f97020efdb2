# Shared declarations of the kernels that read or write variable-width values.
cimport cython
from libc.stdint cimport int64_t, uint8_t


cdef extern from "engine/common/variable.hpp" namespace "lance_arrow::kernels" nogil:
    cdef struct StoredOffsets:
        const uint8_t* bytes
        int64_t num_bytes
        int bits

    cdef struct VariableOut:
        uint8_t* offsets
        int64_t offsets_bytes
        int offset_bits
        uint8_t* data
        int64_t data_bytes


cdef inline StoredOffsets stored_offsets(const uint8_t[::1] offsets, int offset_bits) noexcept:
    cdef StoredOffsets result
    with cython.boundscheck(False), cython.wraparound(False):
        result.bytes = &offsets[0]
    result.num_bytes = offsets.shape[0]
    result.bits = offset_bits
    return result


cdef inline VariableOut variable_out(
    uint8_t[::1] out_offsets, int out_offset_bits, uint8_t[::1] out_data
) noexcept:
    cdef VariableOut result
    with cython.boundscheck(False), cython.wraparound(False):
        result.offsets = &out_offsets[0]
        result.data = &out_data[0]
    result.offsets_bytes = out_offsets.shape[0]
    result.offset_bits = out_offset_bits
    result.data_bytes = out_data.shape[0]
    return result
