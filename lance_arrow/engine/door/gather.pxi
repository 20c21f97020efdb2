# Selected fixed- and variable-width values copied into a destination; chunk arguments and errors as in `bits`.
#
# Variable-width outputs: ``out_offsets`` is a ``uint8`` view of signed offsets of ``out_offset_bits`` (32 or 64), one
# more than values. The first offset is already set and is the base; the others are written as base + running length.
# Values are written to ``out_data`` from its start. Bytes of ``out_data`` after the last value are unspecified. Offsets
# that do not fit in 32 bits raise InternalError: measure first.

cdef extern from "engine/decode/gather.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _copy_fixed "lance_arrow::engine::copy_fixed"(Chunks, int64_t, uint8_t*, int64_t)
    Outcome _take_runs_fixed "lance_arrow::engine::take_runs_fixed"(
        const uint8_t*, int64_t, int64_t, const int64_t*, const int64_t*, int64_t, uint8_t*, int64_t)
    Outcome _take_fixed "lance_arrow::engine::take_fixed"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, int, uint8_t*, int64_t)
    Outcome _clear_null_indices "lance_arrow::engine::clear_null_indices"(
        uint8_t*, int64_t, int, int64_t, int64_t, const uint16_t*, int64_t)
    Outcome _copy_values "lance_arrow::engine::copy_values"(
        const uint8_t*, int64_t, const int64_t*, int64_t, int64_t, uint8_t*, int64_t)

cdef extern from "engine/plan/selection_bitmap.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _take_marked_fixed "lance_arrow::engine::take_marked_fixed"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, int64_t, uint8_t*, int64_t)

cdef extern from "engine/decode/gather_variable.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _measure_take_variable "lance_arrow::engine::measure_take_variable"(
        StoredOffsets, const uint8_t*, int64_t, int, int64_t*)
    Outcome _take_variable "lance_arrow::engine::take_variable"(
        StoredOffsets, const uint8_t*, int64_t, const uint8_t*, int64_t, int, VariableOut)
    Outcome _measure_take_runs_variable "lance_arrow::engine::measure_take_runs_variable"(
        StoredOffsets, const int64_t*, const int64_t*, int64_t, int64_t*)
    Outcome _take_runs_variable "lance_arrow::engine::take_runs_variable"(
        StoredOffsets, const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, VariableOut)


def copy_fixed(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
) -> None:
    """Copy the values of plain chunks to their places; a chunk may be longer than its values, not shorter."""
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _copy_fixed(chunks, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def take_runs_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None, uint8_t[::1] out not None,
) -> None:
    """Copy the values ``run_starts[i] .. run_stops[i]`` of ``src`` back to back."""
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_runs_fixed(&src[0], src.shape[0], bytes_per_value, &run_starts[0], &run_stops[0],
                                   run_starts.shape[0], &out[0], out.shape[0])
    check_outcome(outcome)


def take_marked_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const uint8_t[::1] bits not None, int64_t bit_offset,
    uint8_t[::1] out not None,
) -> None:
    """Copy the values of ``src`` back to back whose bit is set; that of value i is ``bit_offset + i``.

    Too few bits, or a smaller ``out`` than they want, are the caller's mistake.
    """
    cdef Outcome outcome
    with nogil:
        outcome = _take_marked_fixed(&src[0], src.shape[0], bytes_per_value, &bits[0], bits.shape[0], bit_offset,
                                     &out[0], out.shape[0])
    check_outcome(outcome)


def take_fixed(
    const uint8_t[::1] src not None, int64_t bytes_per_value, const uint8_t[::1] indices not None, int index_bits,
    uint8_t[::1] out not None,
) -> None:
    """Copy ``src[index]`` for each index: a dictionary of fixed-width items expanded.

    Parameters
    ----------
    indices
        ``uint8`` view of unsigned integers of ``index_bits`` (8, 16, 32, 64).

    Raises
    ------
    CorruptPageError
        An index is not below the number of items; ``detail`` is its position.
    """
    cdef Outcome outcome
    with nogil:
        outcome = _take_fixed(&src[0], src.shape[0], bytes_per_value, &indices[0], indices.shape[0], index_bits,
                              &out[0], out.shape[0])
    check_outcome(outcome)


def copy_values(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
) -> None:
    """Copy one value of ``bytes_per_value`` from each byte position ``starts[i]`` of ``data``."""
    cdef Outcome outcome
    with nogil:
        outcome = _copy_values(&data[0], data.shape[0], &starts[0], starts.shape[0], bytes_per_value, &out[0],
                               out.shape[0])
    check_outcome(outcome)


def clear_null_indices(
    uint8_t[::1] indices not None, int index_bits, int64_t num_items, int64_t null_index,
    const uint16_t[::1] def_levels,
) -> None:
    """Set the index of every null slot (definition level above 0) to ``null_index`` in place and check all others.

    Null slots may hold any index, even one out of range. ``null_index`` is not compared with ``num_items``: it may
    name an item that the caller appended, so that null slots expand to nothing.
    Source: spec 3.

    Raises
    ------
    CorruptPageError
        The index of a slot that is not null is not below ``num_items``; ``detail`` is its position.
    """
    cdef Outcome outcome
    cdef const uint16_t* levels = NULL
    cdef int64_t num_levels = 0
    if def_levels is not None:
        levels = &def_levels[0]
        num_levels = def_levels.shape[0]
        if num_levels == 0 and indices.shape[0] != 0:
            raise refusal(b"def_levels and indices have different lengths", -1, 0)
    with nogil:
        outcome = _clear_null_indices(&indices[0], indices.shape[0], index_bits, num_items, null_index, levels,
                                      num_levels)
    check_outcome(outcome)


def measure_take_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] indices not None, int index_bits,
) -> int:
    """Return the bytes that `take_variable` writes."""
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    cdef int64_t total = 0
    with nogil:
        outcome = _measure_take_variable(source, &indices[0], indices.shape[0], index_bits, &total)
    check_outcome(outcome)
    return total


def take_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint8_t[::1] indices not None, int index_bits, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
) -> None:
    """Copy the value ``data[offsets[index] : offsets[index + 1]]`` for each index.

    Raises
    ------
    CorruptPageError
        An index has no item, or an item's offsets descend or leave ``data``; ``detail`` is the index's position.
    """
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    with nogil:
        outcome = _take_variable(source, &data[0], data.shape[0], &indices[0], indices.shape[0], index_bits, out)
    check_outcome(outcome)


def measure_take_runs_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const int64_t[::1] run_starts not None,
    const int64_t[::1] run_stops not None,
) -> int:
    """Return the bytes that `take_runs_variable` writes."""
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    cdef int64_t total = 0
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _measure_take_runs_variable(source, &run_starts[0], &run_stops[0], run_starts.shape[0], &total)
    check_outcome(outcome)
    return total


def take_runs_variable(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const int64_t[::1] run_starts not None, const int64_t[::1] run_stops not None,
    uint8_t[::1] out_offsets not None, int out_offset_bits, uint8_t[::1] out_data not None,
) -> None:
    """Copy the values ``run_starts[i] .. run_stops[i]`` back to back.

    Raises
    ------
    CorruptPageError
        Offsets descend inside a run or leave ``data``; ``detail`` is the run's number.
    """
    cdef StoredOffsets source = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    if run_starts.shape[0] != run_stops.shape[0]:
        raise refusal(b"run_starts and run_stops have different lengths", -1, 0)
    with nogil:
        outcome = _take_runs_variable(source, &data[0], data.shape[0], &run_starts[0], &run_stops[0],
                                      run_starts.shape[0], out)
    check_outcome(outcome)
