# A first integer, and distances.

cdef extern from "lance_arrow_codecs/delta/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_delta(int64_t, uint64_t, const LaChunkCodec*) except +


def delta_codec(int64_t bits, uint64_t base, deltas) -> object | None:
    """A first integer of 32 or 64 bits, and differences by the capsule `deltas`; None without one."""
    return None if deltas is None else chunk_capsule(hold_delta(bits, base, chunk_codec_of(deltas)), deltas)
