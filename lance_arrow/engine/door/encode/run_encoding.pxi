# Values to runs of at most 255, many chunks or blocks per call; the way back of `runs`.
#
# ``values`` have ``bytes_per_value`` 1, 2, 4 or 8; ``value_starts`` ``(num_parts + 1,) int64`` is where each part of them
# begins. Runs end with their part. Every mistake is the caller's: InternalError.
#
# Source: CompressiveEncoding.Rle; spec 5.7.

cdef extern from "engine/encode/run_encoding.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _count_run_entries "lance_arrow::engine::count_run_entries"(Parts, int64_t, int64_t*)
    Outcome _encode_runs "lance_arrow::engine::encode_runs"(
        Parts, int64_t, uint8_t*, uint8_t*, int64_t, int64_t*, int64_t*)
    Outcome _encode_run_blocks "lance_arrow::engine::encode_run_blocks"(
        Parts, int64_t, int64_t*, uint8_t*, int64_t, int64_t*)


def count_run_entries(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_counts not None,
) -> None:
    """Count the runs of each part, a longer one than 255 as several, into ``(num_parts,) int64``."""
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _count_run_entries(parts, bytes_per_value, &out_counts[0])
    check_outcome(outcome)


def encode_runs(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out_values not None, uint8_t[::1] out_lengths not None, int64_t[::1] out_counts not None,
) -> int:
    """Write run values and run lengths of all parts, each one after another; return the number of runs.

    Parameters
    ----------
    out_values, out_lengths
        Room for the runs: at most as many as values change, parts, and a 255th of the values, taken together.
    out_counts
        ``(num_parts,) int64``: runs of each part.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t room = out_lengths.shape[0], total = 0
    cdef Outcome outcome
    if out_counts.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    if bytes_per_value > 0:
        room = min(room, out_values.shape[0] // bytes_per_value)
    with nogil:
        outcome = _encode_runs(
            parts, bytes_per_value, &out_values[0], &out_lengths[0], room, &out_counts[0], &total)
    check_outcome(outcome)
    return total


def encode_run_blocks(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    int64_t[::1] out_sizes not None, uint8_t[::1] out not None,
) -> int:
    """Write each part as a block: u64 bytes of the run values, run values, run lengths; return the sum of their bytes.

    Parameters
    ----------
    out_sizes
        ``(num_parts,) int64``: bytes of each block; one without values is a header.
    out
        Room for the blocks, which lie one after another.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef int64_t total = 0
    cdef Outcome outcome
    if out_sizes.shape[0] != parts.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _encode_run_blocks(parts, bytes_per_value, &out_sizes[0], &out[0], out.shape[0], &total)
    check_outcome(outcome)
    return total
