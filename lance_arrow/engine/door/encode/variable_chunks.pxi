# Variable-width values cut into mini-block chunks.
#
# Values have Arrow's form: ``offsets`` are the bytes of ``num_values + 1`` ascending offsets of ``offset_bits`` 32 or
# 64. The first offset is the base, and the bytes of value 0 begin at ``data[0]``. Source: CompressiveEncoding.Variable,
# mini-block form; spec 5.2, 10. Every error is the caller's mistake: InternalError.

cdef extern from "engine/encode/variable_chunks.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ChunkLimits:
        int64_t target_bytes
        int64_t max_bytes
        int64_t max_values

    Outcome _plan_chunks "lance_arrow::engine::plan_variable_chunks"(
        StoredOffsets, int64_t, int, ChunkLimits, int64_t*, int64_t, int64_t*)
    Outcome _write_chunks "lance_arrow::engine::write_variable_chunks"(
        StoredOffsets, const uint8_t*, int64_t, const int64_t*, int64_t, int, int64_t*, uint8_t*, int64_t, int64_t*)


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
