# Integers packed to the bits they need, many chunks per call; the way back of `bits`.
#
# ``values`` are little-endian unsigned integers, ``value_starts`` ``(num_parts + 1,) int64`` where each part of them
# begins. Parts are written one after another and must fill ``out`` exactly. Every mistake is the caller's: InternalError.

cdef extern from "engine/encode/packing.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _pack_inline "lance_arrow::engine::pack_inline"(Parts, int, const int64_t*, uint8_t*, int64_t)
    Outcome _pack_out_of_line "lance_arrow::engine::pack_out_of_line"(Parts, int, int, uint8_t*, int64_t)


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
