# Zstandard.

cdef extern from "lance_arrow_codecs/zstd/codec.hpp" namespace "lance_arrow::codecs" nogil:
    ctypedef cbool (*DecodeFrame)(const uint8_t*, int64_t, uint8_t*, int64_t) noexcept nogil
    HeldFrameCodec* hold_zstd(DecodeFrame) except +
    HeldStoredValues* hold_stored_zstd(int64_t most_bytes) except +


def zstd_frames(decoder) -> object | None:
    """Zstandard frames, behind their size or without one; None without a decoder, `native_codecs.zstd_decoder`."""
    if decoder is None:
        return None
    return frame_capsule(hold_zstd(<DecodeFrame>PyCapsule_GetPointer(decoder, "lance_arrow.zstd_decoder/1")))


def stored_zstd_values(int64_t most_bytes) -> object:
    """Zstandard frames behind their size, of one block that is stored as it is, with at most so many bytes."""
    return stored_capsule(hold_stored_zstd(most_bytes))
