# Offsets and bytes: chunks, blocks, and parts with codecs of their own.
#
# Offsets of outputs are of 32 or 64 bits; the base is the offset at position ``value_starts[0]``. Values to be encoded have
# Arrow's form: the bytes of ``num_values + 1`` ascending offsets, the first being the base, and the bytes of value 0 at
# ``data[0]``.

cdef extern from "lance_arrow_codecs/variable/offsets.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _measure_chunks "lance_arrow::codecs::measure_variable<lance_arrow::codecs::VariableForm::kChunk>"(
        Chunks, int, int64_t*)
    Outcome _decode_chunks "lance_arrow::codecs::decode_variable<lance_arrow::codecs::VariableForm::kChunk>"(
        Chunks, int, VariableOut)
    Outcome _measure_blocks "lance_arrow::codecs::measure_variable<lance_arrow::codecs::VariableForm::kBlock>"(
        Chunks, int, int64_t*)
    Outcome _decode_blocks "lance_arrow::codecs::decode_variable<lance_arrow::codecs::VariableForm::kBlock>"(
        Chunks, int, VariableOut)
    Outcome _locate_chunks "lance_arrow::codecs::locate_variable<lance_arrow::codecs::VariableForm::kChunk>"(
        Chunks, int, int64_t*, int64_t*, int64_t)
    Outcome _locate_blocks "lance_arrow::codecs::locate_variable<lance_arrow::codecs::VariableForm::kBlock>"(
        Chunks, int, int64_t*, int64_t*, int64_t)

cdef extern from "lance_arrow_codecs/variable/chunks.hpp" namespace "lance_arrow::codecs" nogil:
    cdef struct ChunkLimits:
        int64_t target_bytes
        int64_t max_bytes
        int64_t max_values

    Outcome _plan_chunks "lance_arrow::codecs::plan_variable_chunks"(
        StoredOffsets, int64_t, int, ChunkLimits, int64_t*, int64_t, int64_t*)
    Outcome _write_chunks "lance_arrow::codecs::write_variable_chunks"(
        StoredOffsets, const uint8_t*, int64_t, const int64_t*, int64_t, int, int64_t*, uint8_t*, int64_t, int64_t*)

cdef extern from "lance_arrow_codecs/variable/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_variable(int64_t offset_bits, cbool is_block) except +
    HeldChunkMarks* hold_variable_marks(int64_t offset_bits) except +

cdef extern from "lance_arrow_codecs/variable/encoder.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkEncoder* hold_string_encoder(const string&) except +
    HeldBlocksEncoder* hold_string_blocks(const string&) except +

cdef extern from "lance_arrow_codecs/variable/parts.hpp" namespace "lance_arrow::codecs" nogil:
    cdef enum class PartsForm:
        kApart
        kJoined
        kBlock

    HeldChunkCodec* hold_variable_parts(
        int64_t, const LaChunkCodec*, const LaFrameCodec*, int64_t, PartsForm) except +


def measure_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits,
) -> int:
    """Return the bytes of values that `decode_variable_chunks` writes, after checking every offset."""
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_chunks(chunks, offset_bits, &total)
    check_outcome(outcome)
    return total


def decode_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, uint8_t[::1] out_offsets not None,
    int out_offset_bits, uint8_t[::1] out_data not None,
) -> None:
    """Decode mini-block chunks: n + 1 offsets counted from the start of the chunk, then the bytes.

    Source: CompressiveEncoding.Variable, mini-block form; spec 5.2.

    Raises
    ------
    CorruptPageError
        A chunk's first offset is not its header, or offsets descend or leave the chunk.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _decode_chunks(chunks, offset_bits, out)
    check_outcome(outcome)


def measure_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits,
) -> int:
    """Return the bytes of values that `decode_variable_blocks` writes, after checking every offset."""
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_blocks(chunks, offset_bits, &total)
    check_outcome(outcome)
    return total


def decode_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, uint8_t[::1] out_offsets not None,
    int out_offset_bits, uint8_t[::1] out_data not None,
) -> None:
    """Decode blocks: offset width and position of the bytes as two words, n + 1 offsets from 0, then the bytes.

    Source: CompressiveEncoding.Variable, block form; spec 5.2.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _decode_blocks(chunks, offset_bits, out)
    check_outcome(outcome)


def locate_variable_chunks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, int64_t[::1] out_starts not None,
    int64_t[::1] out_sizes not None,
) -> None:
    """Tell where each value of mini-block chunks of strings lies in `data`."""
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    if out_starts.shape[0] != out_sizes.shape[0]:
        raise refusal(b"out_starts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _locate_chunks(chunks, offset_bits, &out_starts[0], &out_sizes[0], out_starts.shape[0])
    check_outcome(outcome)


def locate_variable_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int offset_bits, int64_t[::1] out_starts not None,
    int64_t[::1] out_sizes not None,
) -> None:
    """Tell where each value of blocks of strings lies in `data`."""
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    if out_starts.shape[0] != out_sizes.shape[0]:
        raise refusal(b"out_starts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _locate_blocks(chunks, offset_bits, &out_starts[0], &out_sizes[0], out_starts.shape[0])
    check_outcome(outcome)


def plan_variable_chunks(
    const uint8_t[::1] offsets not None, int offset_bits, int64_t data_bytes, int out_offset_bits,
    int64_t target_bytes, int64_t max_bytes, int64_t max_values, int64_t[::1] out_counts not None,
) -> int:
    """Decide how many values each chunk gets; return the number of chunks, or -1 where two values do not fit one.

    Parameters
    ----------
    out_offset_bits
        Width of the offsets in the chunks.
    target_bytes, max_bytes, max_values
        As in `ChunkRules`; a chunk gets twice as many values as long as it stays within the target.
    out_counts
        Room for a number per chunk, ``num_values // 2 + 1`` at most.
    """
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef ChunkLimits limits
    cdef int64_t num_chunks = 0
    cdef Outcome outcome
    limits.target_bytes, limits.max_bytes, limits.max_values = target_bytes, max_bytes, max_values
    with nogil:
        outcome = _plan_chunks(stored, data_bytes, out_offset_bits, limits, &out_counts[0], out_counts.shape[0],
                               &num_chunks)
    check_outcome(outcome)
    return num_chunks


def write_variable_chunks(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const int64_t[::1] counts not None, int out_offset_bits, int64_t[::1] out_sizes not None,
    uint8_t[::1] out not None,
) -> int:
    """Write chunks of ``counts[i]`` values one after another; return the sum of their bytes.

    Each chunk is padded to whole offsets with 0x48. Where ``out`` has no room for a chunk it is left out of it, but
    counts in the sum.

    Parameters
    ----------
    out_sizes
        ``(num_chunks,) int64``: bytes of each chunk.
    """
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef int64_t total = 0
    cdef Outcome outcome
    if out_sizes.shape[0] != counts.shape[0]:
        raise refusal(b"counts and out_sizes have different lengths", -1, 0)
    with nogil:
        outcome = _write_chunks(stored, &data[0], data.shape[0], &counts[0], counts.shape[0], out_offset_bits,
                                &out_sizes[0], &out[0], out.shape[0], &total)
    check_outcome(outcome)
    return total


def variable_codec(int64_t offset_bits, bint is_block=False) -> object:
    """Offsets of 32 or 64 bits and bytes, of a chunk or of a block with a header."""
    return chunk_capsule(hold_variable(offset_bits, is_block))


def variable_marks(int64_t offset_bits) -> object:
    """What compares the values of chunks where they lie."""
    return marks_capsule(hold_variable_marks(offset_bits))


def variable_encoder(bytes description) -> object:
    """Chunks of offsets and bytes."""
    return chunk_encoder_capsule(hold_string_encoder(description))


def variable_blocks_encoder(bytes description) -> object:
    """Blocks of a header, offsets and bytes."""
    return blocks_encoder_capsule(hold_string_blocks(description))


def variable_parts_codec(
    int64_t offset_bits, offsets, frames, int64_t most_frame_bytes, bint is_block, bint is_joined
) -> object | None:
    """Byte strings whose offsets, or bytes, have a codec of their own.

    Parameters
    ----------
    offset_bits
        Width of the offsets.
    offsets
        Capsule of their chunk codec; each chunk has one more than values.
    frames, most_frame_bytes
        Capsule of the scheme of the bytes, and the most bytes of a frame; None where bytes lie as they are.
    is_block, is_joined
        Whether offsets and bytes are a block with a header, or one buffer whose offsets count from its start.

    Returns
    -------
    object or None
        None for offsets that have no native form.
    """
    cdef PartsForm form = PartsForm.kBlock if is_block else PartsForm.kJoined if is_joined else PartsForm.kApart
    return chunk_capsule(
        hold_variable_parts(
            offset_bits, chunk_codec_of(offsets), frame_codec_of(frames), most_frame_bytes, form),
        (offsets, frames))
