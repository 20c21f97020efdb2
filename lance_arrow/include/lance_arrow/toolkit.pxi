# For Cython modules of plugins, and for the engine's own: `include "lance_arrow/toolkit.pxi"`, with the folder
# `lance_arrow.spi.native.include_dir()` on the search paths of Cython and of the C++ compiler. What functions report and
# what they are given; capsules around codecs, and what is in them. `encoder_toolkit.pxi` has the part for writing.

from cpython.pycapsule cimport PyCapsule_GetContext, PyCapsule_GetPointer, PyCapsule_New, PyCapsule_SetContext
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libcpp cimport bool as cbool
from libcpp.string cimport string
from libcpp.vector cimport vector

from lance_arrow.errors import CorruptPageError, InternalError

cdef extern from "lance_arrow/outcome.hpp" namespace "lance_arrow" nogil:
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

cdef extern from "lance_arrow/parts.hpp" namespace "lance_arrow" nogil:
    cdef struct Parts:
        const uint8_t* values
        int64_t num_bytes
        const int64_t* value_starts
        int64_t num_parts

cdef extern from "lance_arrow/variable.hpp" namespace "lance_arrow" nogil:
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


cdef inline object refusal(bytes message, int64_t index, int blame):
    """The error for an outcome: `CorruptPageError` for bytes, `InternalError` for arguments; its detail is the index."""
    error = CorruptPageError if blame == 1 else InternalError
    return error(message.decode("ascii"), detail=None if index < 0 else index)


cdef inline int check_outcome(Outcome outcome) except -1:
    """Raise what a function refused."""
    if outcome.message != NULL:
        raise refusal(outcome.message, outcome.index, outcome.blame)
    return 0


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


cdef extern from "lance_arrow_native.h" nogil:
    const char* LA_ABOVE_LIMIT
    cdef struct LaRuns:
        const int64_t* starts
        const int64_t* stops
        int64_t num_runs

    cdef struct LaChunk:
        const uint8_t* const* buffers
        const int64_t* sizes
        int64_t num_buffers
        int64_t num_values

    cdef struct LaValues:
        uint8_t* values
        int64_t* ends
        int64_t end
        uint8_t* (*reserve)(void*, int64_t, int64_t) noexcept nogil
        void* host

    cdef struct LaChunkCodec:
        int64_t bits
        int64_t num_buffers
        int64_t plain_bytes
        const void* self_ "self"
        const char* (*select)(const void*, const LaChunk*, const LaRuns*, LaValues*) noexcept

    cdef struct LaValueCodec:
        int64_t bits
        int64_t is_plain
        const void* self_ "self"
        const char* (*expand)(const void*, const uint8_t*, const int64_t*, const int64_t*, int64_t, LaValues*) noexcept

    cdef struct LaFrameCodec:
        pass

    cdef struct LaFramePrefixes:
        pass

    cdef struct LaStoredValues:
        pass

    cdef struct LaNumberRanges:
        int64_t kind
        int64_t bits
        const uint64_t* lows
        const uint64_t* highs
        int64_t num_ranges
        int64_t nan_mark

    cdef struct LaTextBound:
        const uint8_t* bytes
        int64_t size

    cdef struct LaTextRanges:
        const LaTextBound* lows
        const LaTextBound* highs
        int64_t num_ranges

    cdef struct LaChunkMarks:
        int64_t struct_bytes
        const void* self_ "self"
        const char* (*select_where)(
            const void*, const LaChunk*, const LaRuns*, const LaNumberRanges*, uint8_t*) noexcept
        const char* (*summarise)(const void*, const LaChunk*, int64_t, uint64_t*, uint64_t*) noexcept
        const char* (*select_texts)(
            const void*, const LaChunk*, const LaRuns*, const LaTextRanges*, uint8_t*) noexcept

cdef const char* _CHUNK = "lance_arrow.chunk_codec/1"
cdef const char* _VALUE = "lance_arrow.value_codec/1"
cdef const char* _STORED = "lance_arrow.stored_values/1"
cdef const char* _FRAMES = "lance_arrow.frame_codec/1"
cdef const char* _PREFIXES = "lance_arrow.frame_prefixes/1"
cdef const char* _MARKS = "lance_arrow.chunk_marks/1"


cdef inline const LaChunkCodec* chunk_codec_of(object capsule) except? NULL:
    """The codec in a capsule; null for None."""
    if capsule is None:
        return NULL
    return <const LaChunkCodec*>PyCapsule_GetPointer(capsule, _CHUNK)


cdef inline const LaValueCodec* value_codec_of(object capsule) except? NULL:
    """The codec of zipped values in a capsule; null for None."""
    if capsule is None:
        return NULL
    return <const LaValueCodec*>PyCapsule_GetPointer(capsule, _VALUE)


cdef inline const LaFrameCodec* frame_codec_of(object capsule) except? NULL:
    """The buffer scheme in a capsule; null for None."""
    if capsule is None:
        return NULL
    return <const LaFrameCodec*>PyCapsule_GetPointer(capsule, _FRAMES)


cdef inline const LaChunkMarks* chunk_marks_of(object capsule) except NULL:
    """What compares numbers of chunks, in a capsule."""
    return <const LaChunkMarks*>PyCapsule_GetPointer(capsule, _MARKS)


cdef extern from "lance_arrow/codec_tables.hpp" namespace "lance_arrow" nogil:
    cdef cppclass HeldChunkCodec:
        void* child

    cdef cppclass HeldValueCodec:
        void* child

    cdef cppclass HeldFrameCodec:
        pass

    cdef cppclass HeldFramePrefixes:
        pass

    cdef cppclass HeldStoredValues:
        pass

    cdef cppclass HeldChunkMarks:
        void* child

    HeldChunkCodec* hold_plain_chunks(int64_t bits) except +
    HeldValueCodec* hold_plain_values(int64_t bits) except +


cdef void drop_chunk_codec(object capsule) noexcept:
    cdef HeldChunkCodec* held = <HeldChunkCodec*>PyCapsule_GetPointer(capsule, _CHUNK)
    Py_XDECREF(<PyObject*>held.child)
    del held


cdef void drop_value_codec(object capsule) noexcept:
    cdef HeldValueCodec* held = <HeldValueCodec*>PyCapsule_GetPointer(capsule, _VALUE)
    Py_XDECREF(<PyObject*>held.child)
    del held


cdef inline object chunk_capsule(HeldChunkCodec* held, object parts=None):
    """Hand a codec over to a capsule, with what it points into; None for none."""
    if held == NULL:
        return None
    Py_INCREF(parts)
    held.child = <void*>parts
    return PyCapsule_New(held, _CHUNK, drop_chunk_codec)


cdef inline object value_capsule(HeldValueCodec* held, object parts=None):
    """The same for a codec of zipped values."""
    if held == NULL:
        return None
    Py_INCREF(parts)
    held.child = <void*>parts
    return PyCapsule_New(held, _VALUE, drop_value_codec)


cdef void drop_frame_codec(object capsule) noexcept:
    cdef HeldFrameCodec* held = <HeldFrameCodec*>PyCapsule_GetPointer(capsule, _FRAMES)
    del held


cdef void drop_frame_prefixes(object capsule) noexcept:
    cdef HeldFramePrefixes* held = <HeldFramePrefixes*>PyCapsule_GetPointer(capsule, _PREFIXES)
    del held


cdef inline object frame_capsule(HeldFrameCodec* held):
    """The same for a buffer scheme."""
    return PyCapsule_New(held, _FRAMES, drop_frame_codec)


cdef inline object prefixes_capsule(HeldFramePrefixes* held):
    """The same for the first bytes of its frames."""
    return PyCapsule_New(held, _PREFIXES, drop_frame_prefixes)


cdef void drop_stored_values(object capsule) noexcept:
    cdef HeldStoredValues* held = <HeldStoredValues*>PyCapsule_GetPointer(capsule, _STORED)
    del held


cdef void drop_chunk_marks(object capsule) noexcept:
    cdef HeldChunkMarks* held = <HeldChunkMarks*>PyCapsule_GetPointer(capsule, _MARKS)
    Py_XDECREF(<PyObject*>held.child)
    del held


cdef inline object marks_capsule(HeldChunkMarks* held, object parts=None):
    """The same for what compares values; None for none."""
    if held == NULL:
        return None
    Py_INCREF(parts)
    held.child = <void*>parts
    return PyCapsule_New(held, _MARKS, drop_chunk_marks)


cdef inline object stored_capsule(HeldStoredValues* held):
    """The same for values that are stored as they are."""
    return PyCapsule_New(held, _STORED, drop_stored_values)

include "lance_arrow/encoder_toolkit.pxi"
