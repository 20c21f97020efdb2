# What kernels report, and how tables of chunks, of parts and of values of variable width are handed over.

cdef extern from "engine/common/outcome.hpp" namespace "lance_arrow::engine" nogil:
    cdef cppclass Outcome:
        const char* message
        int64_t index
        int blame
        int leaf
        int list_ "list"
        int64_t page_row
        Outcome in_leaf(size_t)

    Outcome misuse(const char*, int64_t)

    cdef struct Chunks:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* sizes
        const int64_t* value_starts
        int64_t num_chunks

cdef extern from "engine/common/parts.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct Parts:
        const uint8_t* values
        int64_t num_bytes
        const int64_t* value_starts
        int64_t num_parts

cdef extern from "engine/common/variable.hpp" namespace "lance_arrow::engine" nogil:
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


cdef inline int _check(Outcome outcome) except -1:
    """Raise what a kernel refused."""
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return 0


cdef inline object refusal_of(const Outcome& outcome, cause=None):
    """Tell what a read refused, with what a codec in Python raised meanwhile in this thread; None where it did not."""
    if outcome.message == NULL:
        return None
    return Refusal(
        outcome.message.decode("ascii"), outcome.index, outcome.blame, outcome.leaf, outcome.list_, outcome.page_row,
        take_cause() or cause)


cdef inline Parts part_table(const uint8_t[::1] values, const int64_t[::1] value_starts) noexcept:
    cdef Parts parts
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
    chunks.data = &data[0]
    chunks.starts = &starts[0]
    chunks.sizes = &sizes[0]
    chunks.value_starts = &value_starts[0]
    chunks.data_bytes = data.shape[0]
    chunks.num_chunks = starts.shape[0]
    if sizes.shape[0] != starts.shape[0] or value_starts.shape[0] != starts.shape[0] + 1:
        chunks.num_chunks = -1
    return chunks


cdef inline StoredOffsets stored_offsets(const uint8_t[::1] offsets, int offset_bits) noexcept:
    cdef StoredOffsets result
    result.bytes = &offsets[0]
    result.num_bytes = offsets.shape[0]
    result.bits = offset_bits
    return result


cdef inline VariableOut variable_out(
    uint8_t[::1] out_offsets, int out_offset_bits, uint8_t[::1] out_data
) noexcept:
    cdef VariableOut result
    result.offsets = &out_offsets[0]
    result.data = &out_data[0]
    result.offsets_bytes = out_offsets.shape[0]
    result.offset_bits = out_offset_bits
    result.data_bytes = out_data.shape[0]
    return result
