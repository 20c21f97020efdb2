# C tables of codecs, as ``lance_arrow_native.h`` says, and the names of the capsules that hold them.

cdef extern from "include/lance_arrow_native.h" nogil:
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

cdef const char* _CHUNK = "lance_arrow.chunk_codec/1"
cdef const char* _VALUE = "lance_arrow.value_codec/1"
cdef const char* _STORED = "lance_arrow.stored_values/1"
cdef const char* _FRAMES = "lance_arrow.frame_codec/1"
cdef const char* _PREFIXES = "lance_arrow.frame_prefixes/1"


cdef const LaChunkCodec* _chunk_codec(object capsule) except? NULL:
    if capsule is None:
        return NULL
    return <const LaChunkCodec*>PyCapsule_GetPointer(capsule, _CHUNK)
