# Stored offsets checked and rewritten as Arrow offsets, with their bytes.
#
# Chunk arguments and errors are as in `bits`, variable-width outputs as in `gather`. The base is the offset at position
# ``value_starts[0]`` (position 0 for single values). Stored offsets are unsigned, of ``offset_bits`` 32 or 64.

cdef extern from "engine/decode/offsets.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _measure_chunks "lance_arrow::engine::measure_variable<lance_arrow::engine::VariableForm::kChunk>"(
        Chunks, int, int64_t*)
    Outcome _decode_chunks "lance_arrow::engine::decode_variable<lance_arrow::engine::VariableForm::kChunk>"(
        Chunks, int, VariableOut)
    Outcome _measure_blocks "lance_arrow::engine::measure_variable<lance_arrow::engine::VariableForm::kBlock>"(
        Chunks, int, int64_t*)
    Outcome _decode_blocks "lance_arrow::engine::decode_variable<lance_arrow::engine::VariableForm::kBlock>"(
        Chunks, int, VariableOut)
    Outcome _locate_chunks "lance_arrow::engine::locate_variable<lance_arrow::engine::VariableForm::kChunk>"(
        Chunks, int, int64_t*, int64_t*, int64_t)
    Outcome _locate_blocks "lance_arrow::engine::locate_variable<lance_arrow::engine::VariableForm::kBlock>"(
        Chunks, int, int64_t*, int64_t*, int64_t)
    Outcome _measure_values "lance_arrow::engine::measure_variable_values"(const int64_t*, int64_t, int64_t*)
    Outcome _decode_values "lance_arrow::engine::decode_variable_values"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, VariableOut)

cdef extern from "engine/common/utf8.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _check_utf8 "lance_arrow::engine::check_utf8"(StoredOffsets, const uint8_t*, int64_t)


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


def measure_variable_values(const int64_t[::1] sizes not None) -> int:
    """Return the sum of sizes; each must be at least 0."""
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_values(&sizes[0], sizes.shape[0], &total)
    check_outcome(outcome)
    return total


def decode_variable_values(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    uint8_t[::1] out_offsets not None, int out_offset_bits, uint8_t[::1] out_data not None,
) -> None:
    """Copy values that lie at arbitrary byte ranges of ``data`` back to back, with their offsets."""
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    if starts.shape[0] != sizes.shape[0]:
        raise refusal(b"starts and sizes have different lengths", -1, 0)
    with nogil:
        outcome = _decode_values(&data[0], data.shape[0], &starts[0], &sizes[0], starts.shape[0], out)
    check_outcome(outcome)


def check_utf8(const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None) -> None:
    """Require that every value ``data[offsets[i] : offsets[i + 1]]`` is valid UTF-8 by itself.

    Raises
    ------
    CorruptPageError
        A value is not, or its offsets descend or leave ``data``; ``detail`` is its position.
    """
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    with nogil:
        outcome = _check_utf8(stored, &data[0], data.shape[0])
    check_outcome(outcome)
