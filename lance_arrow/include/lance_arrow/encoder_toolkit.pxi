# The part of `toolkit.pxi` for writing: capsules around encoders.

cdef extern from "lance_arrow_native.h" nogil:
    cdef struct LaChunkRules:
        int64_t max_bytes
        int64_t max_values
        int64_t target_bytes

    cdef struct LaChunkEncoder:
        pass

    cdef struct LaBlocksEncoder:
        pass

    cdef struct LaPageEncoder:
        pass

    cdef struct LaFrameEncoder:
        const void* self
        int64_t (*room)(const void*, int64_t) noexcept nogil
        int64_t (*compress)(const void*, const uint8_t*, int64_t, uint8_t*) noexcept nogil

cdef extern from "lance_arrow/encoder_tables.hpp" namespace "lance_arrow" nogil:
    cdef cppclass HeldChunkEncoder:
        pass

    cdef cppclass HeldBlocksEncoder:
        pass

    cdef cppclass HeldPageEncoder:
        pass

    cdef cppclass HeldFrameEncoder:
        pass

    cdef cppclass ScoreOptions:
        ScoreOptions()
        double factor
        cbool stores_plainly
        double most_runs

cdef const char* _CHUNK_ENCODER = "lance_arrow.chunk_encoder/1"
cdef const char* _BLOCKS_ENCODER = "lance_arrow.blocks_encoder/1"
cdef const char* _PAGE_ENCODER = "lance_arrow.page_encoder/1"
cdef const char* _FRAME_ENCODER = "lance_arrow.frame_encoder/1"


# The context of a capsule is an object that it keeps: the capsules that its table calls.
cdef inline object keeping(object capsule, object kept):
    Py_INCREF(kept)
    PyCapsule_SetContext(capsule, <void*>kept)
    return capsule


cdef void drop_kept(object capsule) noexcept:
    cdef void* kept = PyCapsule_GetContext(capsule)
    if kept != NULL:
        Py_DECREF(<object>kept)


cdef void drop_chunk_encoder(object capsule) noexcept:
    cdef HeldChunkEncoder* held = <HeldChunkEncoder*>PyCapsule_GetPointer(capsule, _CHUNK_ENCODER)
    del held
    drop_kept(capsule)


cdef void drop_blocks_encoder(object capsule) noexcept:
    cdef HeldBlocksEncoder* held = <HeldBlocksEncoder*>PyCapsule_GetPointer(capsule, _BLOCKS_ENCODER)
    del held
    drop_kept(capsule)


cdef void drop_page_encoder(object capsule) noexcept:
    cdef HeldPageEncoder* held = <HeldPageEncoder*>PyCapsule_GetPointer(capsule, _PAGE_ENCODER)
    del held
    drop_kept(capsule)


cdef void drop_frame_encoder(object capsule) noexcept:
    cdef HeldFrameEncoder* held = <HeldFrameEncoder*>PyCapsule_GetPointer(capsule, _FRAME_ENCODER)
    del held


cdef inline object chunk_encoder_capsule(HeldChunkEncoder* held):
    return PyCapsule_New(held, _CHUNK_ENCODER, drop_chunk_encoder)


cdef inline object blocks_encoder_capsule(HeldBlocksEncoder* held):
    return PyCapsule_New(held, _BLOCKS_ENCODER, drop_blocks_encoder)


cdef inline object page_encoder_capsule(HeldPageEncoder* held):
    return PyCapsule_New(held, _PAGE_ENCODER, drop_page_encoder)


cdef inline object frame_encoder_capsule(HeldFrameEncoder* held):
    return PyCapsule_New(held, _FRAME_ENCODER, drop_frame_encoder)


cdef inline ScoreOptions score_options(double factor, bint stores_plainly, double most_runs=-1.0):
    cdef ScoreOptions options
    options.factor, options.stores_plainly, options.most_runs = factor, stores_plainly, most_runs
    return options
