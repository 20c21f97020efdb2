# Run-length encoded values expanded; chunk arguments and errors as in `bits`.

cdef extern from "engine/decode/runs.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _expand_runs "lance_arrow::engine::expand_runs"(
        Chunks, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _expand_run_blocks "lance_arrow::engine::expand_run_blocks"(Chunks, int64_t, uint8_t*, int64_t)


def expand_runs(
    const uint8_t[::1] data not None, const int64_t[::1] values_starts not None,
    const int64_t[::1] values_sizes not None, const int64_t[::1] lengths_starts not None,
    const int64_t[::1] lengths_sizes not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
) -> None:
    """Expand mini-block chunks of two buffers: run values of 1, 2, 4 or 8 bytes, and as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, mini-block form; spec 5.7.

    Raises
    ------
    CorruptPageError
        The buffers differ in number of runs, a length is 0, or the lengths do not sum to the chunk's values. (The last
        run may reach past them: release 4.0.0 of the reference writes such chunks.)
    """
    cdef Chunks chunks = chunk_table(data, values_starts, values_sizes, value_starts)
    cdef Outcome outcome
    if lengths_starts.shape[0] != chunks.num_chunks or lengths_sizes.shape[0] != chunks.num_chunks:
        raise refusal(b"starts, sizes and value_starts have contradicting lengths", -1, 0)
    with nogil:
        outcome = _expand_runs(chunks, &lengths_starts[0], &lengths_sizes[0], bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def expand_run_blocks(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
) -> None:
    """Expand blocks: the bytes of run values as u64, the run values, then as many 8-bit run lengths.

    Source: CompressiveEncoding.Rle, block form; spec 5.7.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _expand_run_blocks(chunks, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)
