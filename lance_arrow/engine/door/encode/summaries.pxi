# Facts about values that encodings are chosen by. Every mistake is the caller's: InternalError.

cdef extern from "lance_arrow/block_facts.hpp" namespace "lance_arrow" nogil:
    Outcome _measure_groups "lance_arrow::measure_groups"(Parts, int, int64_t*, int64_t*)

cdef extern from "engine/encode/summaries.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _all_equal "lance_arrow::engine::all_equal"(const uint8_t*, int64_t, int64_t, cbool*)


def measure_groups(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int word_bits,
    int64_t[::1] out_bits not None, int64_t[::1] out_changes not None,
) -> tuple[int, int, int]:
    """Find in one pass how many bits the largest value of each group needs, and how often values change.

    Parameters
    ----------
    values
        Little-endian unsigned integers of `word_bits` 8, 16, 32 or 64.
    value_starts
        ``(num_groups + 1,) int64``: where each group begins.
    out_bits
        ``(num_groups,) int64``: bits of the largest value; 0 for a group of zeros or of nothing.
    out_changes
        ``(num_groups,) int64``: values of the group that differ from the one before them, which may be the last one
        before the group. (The first of all has none before it.)

    Returns
    -------
    total_bits, max_bits, num_changes
        Bits of all groups added up and of the widest one, and changes of all groups.
    """
    cdef Parts groups = part_table(values, value_starts)
    cdef Outcome outcome
    cdef int64_t total_bits = 0, max_bits = 0, num_changes = 0, group
    if out_bits.shape[0] != groups.num_parts or out_changes.shape[0] != groups.num_parts:
        raise refusal(b"value_starts and outputs have contradicting lengths", -1, 0)
    with nogil:
        outcome = _measure_groups(groups, word_bits, &out_bits[0], &out_changes[0])
    check_outcome(outcome)
    for group in range(groups.num_parts):
        total_bits += out_bits[group]
        max_bits = max(max_bits, out_bits[group])
        num_changes += out_changes[group]
    return total_bits, max_bits, num_changes


def all_equal(const uint8_t[::1] values not None, int64_t bytes_per_value) -> bool:
    """Tell whether all values are the same bytes; stops at the first that is not. No values are equal."""
    cdef cbool equal = False
    cdef Outcome outcome
    with nogil:
        outcome = _all_equal(&values[0], values.shape[0], bytes_per_value, &equal)
    check_outcome(outcome)
    return equal
