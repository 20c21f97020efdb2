# Codes of dictionary items as flags, and as views, of their items.

cdef extern from "engine/decode/item_flags.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _flags_of_codes "lance_arrow::engine::flags_of_codes"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, uint8_t*, int64_t) except +
    Outcome _views_of_codes "lance_arrow::engine::views_of_codes"(
        const uint8_t*, int64_t, int64_t, const uint8_t*, int64_t, uint8_t*, int64_t)


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
    _check(outcome)


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
    _check(outcome)
