# Codes of dictionary items as flags, and as views, of their items; views of values that lie one after the other.

cdef extern from "engine/decode/item_flags.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _flags_of_codes "lance_arrow::engine::flags_of_codes"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, uint8_t*, int64_t) except +
    Outcome _views_of_codes "lance_arrow::engine::views_of_codes"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, uint8_t*, int64_t)

    cdef struct StoredValues:
        const uint8_t* offsets
        int offset_bits
        int64_t num_values
        const uint8_t* data
        int64_t data_bytes
        const uint8_t* validity
        int64_t first_bit

    Outcome _views_of_values "lance_arrow::engine::views_of_values"(
        const StoredValues&, int64_t, uint8_t*, int64_t, int64_t*)


def flags_of_codes(
    const uint8_t[::1] codes not None, int64_t code_bytes, const uint8_t[::1] flags not None,
    uint8_t[::1] out not None,
) -> None:
    """Write the flag of each code's item as a bit, least significant first.

    Parameters
    ----------
    codes
        Unsigned little-endian numbers of `code_bytes` each; those of no item have no flag.
    code_bytes
        1, 2, 4 or 8.
    flags
        ``(num_items,)``, 0 or 1.
    out
        A bit for each code.

    Raises
    ------
    InternalError
        `out` is too short, or codes have another width.
    """
    cdef Outcome outcome
    cdef int64_t num_codes = codes.shape[0] // max(code_bytes, 1)
    if num_codes == 0:
        return
    with nogil:
        outcome = _flags_of_codes(
            &codes[0], code_bytes, num_codes, &flags[0] if flags.shape[0] else NULL, flags.shape[0], &out[0],
            out.shape[0])
    check_outcome(outcome)


def views_of_codes(
    const uint8_t[::1] codes not None, int64_t code_bytes, const uint8_t[::1] views not None, uint8_t[::1] out not None,
) -> None:
    """Write the view of each code's item, 16 bytes each.

    Parameters
    ----------
    codes, code_bytes
        As of `flags_of_codes`; codes of no item get some view.
    views
        ``(16 * num_items,)``; there is at least one.
    out
        ``(16 * num_codes,)``.

    Raises
    ------
    InternalError
        As `flags_of_codes`.
    """
    cdef Outcome outcome
    cdef int64_t num_codes = codes.shape[0] // max(code_bytes, 1)
    if num_codes == 0:
        return
    if views.shape[0] < 16:
        raise InternalError("there are no views")
    with nogil:
        outcome = _views_of_codes(
            &codes[0], code_bytes, num_codes, &views[0], views.shape[0] // 16, &out[0], out.shape[0])
    check_outcome(outcome)


def views_of_values(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    const uint8_t[::1] validity, int64_t first_bit, int64_t buffer_bytes, uint8_t[::1] out not None,
) -> int:
    """Write the view of each value, 16 bytes each.

    Parameters
    ----------
    offsets, offset_bits
        Little-endian numbers of 32 or 64 bits, one more than values: where each begins in `data`.
    data
        All values.
    validity, first_bit
        A bit for each value, from that number on; None where all are valid. Views of others are empty.
    buffer_bytes
        Values of more than 12 bytes lie in buffers that begin so many bytes after each other in `data`.
    out
        ``(16 * num_values,)``.

    Returns
    -------
    int
        Bytes of values that do not lie in their views.

    Raises
    ------
    InternalError
        A value lies outside of `data`, or has more than 2^31 - 1 bytes; or `out` is too short.
    """
    cdef StoredValues stored
    cdef Outcome outcome
    cdef int64_t behind = 0
    cdef uint8_t* address = &out[0] if out.shape[0] else NULL
    stored.num_values = max(0, offsets.shape[0] // (offset_bits // 8) - 1)
    if stored.num_values == 0:
        return 0
    stored.offsets, stored.offset_bits = &offsets[0], offset_bits
    stored.data, stored.data_bytes = &data[0] if data.shape[0] else NULL, data.shape[0]
    stored.validity = NULL
    stored.first_bit = first_bit
    if validity is not None:
        if validity.shape[0] * 8 < first_bit + stored.num_values:
            raise InternalError("values have too few bits of validity")
        stored.validity = &validity[0]
    with nogil:
        outcome = _views_of_values(stored, buffer_bytes, address, out.shape[0], &behind)
    check_outcome(outcome)
    return behind
