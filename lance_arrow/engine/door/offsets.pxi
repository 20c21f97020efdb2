# Values of any length that lie anywhere in their data; errors as in `bits`, outputs as in `gather`.

cdef extern from "engine/decode/located_values.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _measure_values "lance_arrow::engine::measure_variable_values"(const int64_t*, int64_t, int64_t*)
    Outcome _decode_values "lance_arrow::engine::decode_variable_values"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, VariableOut)

cdef extern from "engine/common/utf8.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _check_utf8 "lance_arrow::engine::check_utf8"(StoredOffsets, const uint8_t*, int64_t)


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
