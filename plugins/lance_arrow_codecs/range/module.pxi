# Integers at equal distances.

cdef extern from "lance_arrow_codecs/range/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_range(int64_t, uint64_t, uint64_t) except +


def range_codec(int64_t bits, uint64_t start, uint64_t step) -> object:
    """Integers of 32 or 64 bits at equal distances, without a buffer."""
    return chunk_capsule(hold_range(bits, start, step))
