# Blocks of one bit width.

cdef extern from "lance_arrow_codecs/out_of_line_bitpacking/unpacking.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _unpack_out_of_line "lance_arrow::codecs::unpack_out_of_line"(Chunks, int, int, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/out_of_line_bitpacking/packing.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _pack_out_of_line "lance_arrow::codecs::pack_out_of_line"(Parts, int, int, uint8_t*, int64_t)

cdef extern from "lance_arrow_codecs/out_of_line_bitpacking/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_out_of_line_bitpacking(int64_t word_bits, int64_t packed_bits) except +

cdef extern from "lance_arrow_codecs/out_of_line_bitpacking/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldBlocksEncoder* hold_packed_blocks(const vector[string]&, const ScoreOptions&, cbool) except +


def unpack_out_of_line(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int word_bits, int packed_bits, uint8_t[::1] out not None,
) -> None:
    """Decode blocks of any number of values packed to one width, which is in the description.

    Each chunk is whole FastLanes blocks, then a tail of raw words or of one padded block. If both have the same length,
    the tail is raw. Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.5.

    Parameters
    ----------
    word_bits
        Width of a decoded value, 8, 16, 32 or 64.
    packed_bits
        Width of a packed value, ``0 <= packed_bits <= word_bits``.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _unpack_out_of_line(chunks, word_bits, packed_bits, &out[0], out.shape[0])
    check_outcome(outcome)


def pack_out_of_line(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits, int packed_bits,
    uint8_t[::1] out not None,
) -> None:
    """Write blocks of any number of values, packed to one width: FastLanes blocks, then a tail.

    The last values of a block are one padded FastLanes block where that is shorter than the values themselves.
    Source: CompressiveEncoding.OutOfLineBitpacking; spec 5.5.
    """
    cdef Parts blocks = part_table(values, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _pack_out_of_line(blocks, word_bits, packed_bits, &out[0], out.shape[0])
    check_outcome(outcome)


def out_of_line_bitpacking_codec(int64_t word_bits, int64_t packed_bits) -> object:
    """Blocks of one bit width, known from the description."""
    return chunk_capsule(hold_out_of_line_bitpacking(word_bits, packed_bits))


def out_of_line_bitpacking_blocks_encoder(
    descriptions, *, double factor, bint stores_plainly, bint packs_zeros
) -> object:
    """Blocks of one bit width, with a description for each width from 0 on; zeros are packed only if `packs_zeros`."""
    cdef vector[string] serialized
    for one in descriptions:
        serialized.push_back(one)
    return blocks_encoder_capsule(hold_packed_blocks(serialized, score_options(factor, stores_plainly), packs_zeros))
