# Chunks that begin with their bit width.

cdef extern from "lance_arrow_codecs/inline_bitpacking/unpacking.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _unpack_inline "lance_arrow::codecs::unpack_inline"(Chunks, int, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/inline_bitpacking/packing.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _pack_inline "lance_arrow::codecs::pack_inline"(Parts, int, const int64_t*, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/inline_bitpacking/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_inline_bitpacking(int64_t bits) except +
    HeldChunkMarks* hold_packed_bounds(int64_t bits) except +

cdef extern from "lance_arrow_codecs/inline_bitpacking/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkEncoder* hold_inline_packer(const string&, const ScoreOptions&) except +
    HeldBlocksEncoder* hold_inline_blocks(const string&, const ScoreOptions&) except +


def unpack_inline(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int word_bits, uint8_t[::1] out not None,
) -> None:
    """Decode chunks of at most 1024 values: a header word with the bit width, then one FastLanes block.

    Parameters
    ----------
    word_bits
        Width of a decoded value, 8, 16, 32, 64 or 128. Values of 128 bits that are packed to at most 32 or 64 bits are
        a block of 32- or 64-bit words. Wider ones are one sequential stream, least significant bit first.
    out
        Decoded values, little-endian.

    Raises
    ------
    CorruptPageError
        A chunk declares more than 1024 values, or its width or size is wrong.

    Notes
    -----
    Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4, 11.5.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _unpack_inline(chunks, word_bits, &out[0], out.shape[0])
    check_outcome(outcome)


def pack_inline(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits,
    const int64_t[::1] packed_bits not None, uint8_t[::1] out not None,
) -> None:
    """Write chunks of at most 1024 values: a header word with the bit width, then one FastLanes block.

    Source: CompressiveEncoding.InlineBitpacking; spec 5.3, 5.4.

    Parameters
    ----------
    word_bits
        Width of a value, 8, 16, 32 or 64.
    packed_bits
        ``(num_parts,) int64``: width of each chunk; a chunk takes ``word_bits / 8 + 128 * packed_bits`` bytes.

    Raises
    ------
    InternalError
        A value is wider than its chunk, a chunk has more than 1024 values, or the output is not as large.
    """
    cdef Parts chunks = part_table(values, value_starts)
    cdef Outcome outcome
    if packed_bits.shape[0] != chunks.num_parts:
        raise refusal(b"packed_bits and value_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _pack_inline(chunks, word_bits, &packed_bits[0], &out[0], out.shape[0])
    check_outcome(outcome)


def inline_bitpacking_codec(int64_t bits) -> object | None:
    """Chunks that begin with their bit width; None for widths of values that have no native form."""
    return chunk_capsule(hold_inline_bitpacking(bits))


def inline_bitpacking_marks(int64_t bits) -> object | None:
    """Bounds of such chunks; None likewise."""
    return marks_capsule(hold_packed_bounds(bits))


def inline_bitpacking_encoder(bytes description, *, double factor, bint stores_plainly) -> object:
    """Chunks of 1024 values, each with its bit width; `factor` multiplies the score of bytes, here and below."""
    return chunk_encoder_capsule(hold_inline_packer(description, score_options(factor, stores_plainly)))


def inline_bitpacking_blocks_encoder(bytes description, *, double factor, bint stores_plainly) -> object:
    """Blocks of at most 1024 values, each with its bit width."""
    return blocks_encoder_capsule(hold_inline_blocks(description, score_options(factor, stores_plainly)))
