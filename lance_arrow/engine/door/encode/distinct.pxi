# Distinct values in order of first appearance: what an automatic dictionary is made of.

cdef extern from "engine/encode/distinct.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct DistinctOut:
        uint32_t* indices
        int64_t num_values
        int64_t* firsts
        int64_t max_items

    Outcome _index_fixed "lance_arrow::engine::index_fixed"(
        const uint8_t*, int64_t, int64_t, const uint16_t*, DistinctOut, int64_t*) except +
    Outcome _index_variable "lance_arrow::engine::index_variable"(
        const uint8_t*, int64_t, int, const uint8_t*, int64_t, const uint16_t*, DistinctOut, int64_t*) except +


cdef const uint16_t* _nulls(const uint16_t[::1] nulls, int64_t num_values) except? NULL:
    if nulls is None:
        return NULL
    if nulls.shape[0] != num_values:
        raise refusal(b"null levels and values differ in number", -1, 0)
    return &nulls[0]


def index_fixed(
    const uint8_t[::1] data not None, int64_t bytes_per_value, const uint16_t[::1] nulls,
    uint32_t[::1] out_indices not None, int64_t[::1] out_firsts not None,
) -> int | None:
    """Number the distinct values of a fixed-width block.

    Parameters
    ----------
    data, bytes_per_value
        The values.
    nulls
        ``(num_values,) uint16``, above 0 where a value is null: its index is 0 and it is no item. None: none is.
    out_indices
        ``(num_values,) uint32``: the item that each value is.
    out_firsts
        ``(max_items,) int64``: where each item first appears; ascending.

    Returns
    -------
    int or None
        Items. None where there are more than `out_firsts` holds, or, after some thousands of values that hardly
        repeat, surely would be; outputs are unspecified then.

    Raises
    ------
    InternalError
        Arguments contradict each other.
    """
    cdef DistinctOut out
    cdef Outcome outcome
    cdef int64_t num_items = 0
    cdef const uint16_t* null_levels = _nulls(nulls, out_indices.shape[0])
    out.indices, out.num_values = &out_indices[0], out_indices.shape[0]
    out.firsts, out.max_items = &out_firsts[0], out_firsts.shape[0]
    with nogil:
        outcome = _index_fixed(&data[0], data.shape[0], bytes_per_value, null_levels, out, &num_items)
    check_outcome(outcome)
    return None if num_items < 0 else num_items


def index_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint16_t[::1] nulls, uint32_t[::1] out_indices not None, int64_t[::1] out_firsts not None,
) -> int | None:
    """Number the distinct values of a variable-width block; the first offset is the base. See `index_fixed`."""
    cdef DistinctOut out
    cdef Outcome outcome
    cdef int64_t num_items = 0
    cdef const uint16_t* null_levels = _nulls(nulls, out_indices.shape[0])
    out.indices, out.num_values = &out_indices[0], out_indices.shape[0]
    out.firsts, out.max_items = &out_firsts[0], out_firsts.shape[0]
    with nogil:
        outcome = _index_variable(
            &offsets[0], offsets.shape[0], offset_bits, &data[0], data.shape[0], null_levels, out, &num_items)
    check_outcome(outcome)
    return None if num_items < 0 else num_items
