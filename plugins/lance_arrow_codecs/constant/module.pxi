# One value, repeated.

cdef extern from "lance_arrow_codecs/constant/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_constant(int64_t, const string&) except +
    HeldChunkCodec* hold_nothing(int64_t) except +
    HeldValueCodec* hold_zipped_constant(const string&) except +


def constant_codec(int64_t bits, bytes value) -> object:
    """One value, repeated without a buffer; a single bit is one byte. With None, blocks hold no value."""
    return chunk_capsule(hold_nothing(bits) if value is None else hold_constant(bits, value))


def zipped_constant_codec(bytes value not None) -> object:
    """One value, repeated: zipped values have no bytes."""
    return value_capsule(hold_zipped_constant(value))
