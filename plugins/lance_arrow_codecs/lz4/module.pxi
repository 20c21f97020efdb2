# LZ4.

cdef extern from "lance_arrow_codecs/lz4/decoding.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _decode_lz4_blocks "lance_arrow::codecs::decode_lz4_blocks"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t, const int64_t*)

cdef extern from "lance_arrow_codecs/lz4/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldFrameCodec* hold_lz4() except +
    HeldFramePrefixes* hold_lz4_prefixes() except +
    HeldFrameEncoder* hold_lz4_encoder() except +


def decode_lz4_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    uint8_t[::1] out not None, const int64_t[::1] out_starts not None,
) -> None:
    """Decode raw LZ4 blocks, ``data[starts[i] : starts[i] + sizes[i]]`` to ``out[out_starts[i] : out_starts[i + 1]]``.

    Raises
    ------
    CorruptPageError
        A block is malformed: lengths exceed it, a match reaches before the start, or it does not end in literals. Also
        if it does not expand to exactly its part of `out`.
    """
    cdef Outcome outcome
    if starts.shape[0] != sizes.shape[0] or starts.shape[0] + 1 != out_starts.shape[0]:
        raise refusal(b"starts, sizes and out_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _decode_lz4_blocks(
            &data[0], data.shape[0], &starts[0], &sizes[0], starts.shape[0], &out[0], out.shape[0], &out_starts[0])
    check_outcome(outcome)


def lz4_frames() -> object:
    """LZ4 frames: their size, then one raw block."""
    return frame_capsule(hold_lz4())


def lz4_frame_prefixes() -> object:
    """The first bytes of LZ4 frames."""
    return prefixes_capsule(hold_lz4_prefixes())


def lz4_encoder() -> object:
    """Frames of one LZ4 block each."""
    return frame_encoder_capsule(hold_lz4_encoder())
