# Fields put together to packed rows, and bits spread over whole bytes. Any mistake is the caller's: InternalError.

cdef extern from "engine/encode/rows.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct RowField:
        const uint8_t* data
        int64_t data_bytes
        int64_t num_bytes
        const int64_t* offsets

    Outcome _join_rows "lance_arrow::engine::join_rows"(const RowField*, int64_t, int64_t, uint8_t*, int64_t)
    Outcome _join_fields "lance_arrow::engine::join_fields"(
        const RowField*, int64_t, int64_t, int64_t*, uint8_t*, int64_t)
    Outcome _spread_bits "lance_arrow::engine::spread_bits"(
        const uint8_t*, int64_t, int64_t, int64_t, int64_t, uint8_t*, int64_t)


def join_rows(fields, const int64_t[::1] field_bytes not None, int64_t num_rows, uint8_t[::1] out not None) -> None:
    """Write rows of fields of fixed width, back to back: the inverse of `split_rows`.

    Parameters
    ----------
    fields
        For each field its values, back to back.
    field_bytes
        ``(num_fields,) int64``: bytes of a value, at least 1.

    Notes
    -----
    Source: CompressiveEncoding.PackedStruct; spec 5.9.
    """
    cdef Py_ssize_t num_fields = field_bytes.shape[0], field
    cdef const uint8_t[::1] values
    cdef Outcome outcome
    if len(fields) != num_fields:
        raise refusal(b"fields and widths differ in number", -1, 0)
    cdef RowField* given = <RowField*>malloc((num_fields + 1) * sizeof(RowField))
    if given == NULL:
        raise MemoryError
    try:
        for field in range(num_fields):
            if not 1 <= field_bytes[field] <= 1 << 40:
                raise refusal(b"a packed field has no bytes", field, 0)
            # The caller's sequence keeps the array alive.
            values = fields[field]
            given[field].data, given[field].data_bytes = &values[0], values.shape[0]
            given[field].num_bytes = field_bytes[field]
            given[field].offsets = NULL
        with nogil:
            outcome = _join_rows(given, num_fields, num_rows, &out[0], out.shape[0])
    finally:
        free(given)
    check_outcome(outcome)


def join_fields(
    fields, const int64_t[::1] field_bytes not None, offsets, int64_t[::1] out_row_offsets not None,
    uint8_t[::1] out not None,
) -> None:
    """Write rows with fields of variable width, whose bytes follow their length. Inverse of `locate_fields`.

    Parameters
    ----------
    field_bytes
        ``(num_fields,) int64``: bytes of a value, or minus the bytes of the length (4 or 8).
    offsets
        For each field without a fixed width ``(num_rows + 1,) int64``: where its values lie in its bytes.
    out_row_offsets
        ``(num_rows + 1,) int64``: becomes where each row begins, then where the last ends.

    Notes
    -----
    Source: spec 5.9.
    """
    cdef Py_ssize_t num_fields = field_bytes.shape[0], field
    cdef int64_t num_rows = out_row_offsets.shape[0] - 1
    cdef const uint8_t[::1] values
    cdef const int64_t[::1] ends
    cdef Outcome outcome
    if len(fields) != num_fields or len(offsets) != num_fields:
        raise refusal(b"fields and widths differ in number", -1, 0)
    cdef RowField* given = <RowField*>malloc((num_fields + 1) * sizeof(RowField))
    if given == NULL:
        raise MemoryError
    try:
        for field in range(num_fields):
            values = fields[field]
            given[field].data, given[field].data_bytes = &values[0], values.shape[0]
            given[field].num_bytes = field_bytes[field]
            given[field].offsets = NULL
            if field_bytes[field] <= 0:
                ends = offsets[field]
                if ends.shape[0] != num_rows + 1:
                    raise refusal(b"a field has too few values", field, 0)
                given[field].offsets = &ends[0]
        with nogil:
            outcome = _join_fields(given, num_fields, num_rows, &out_row_offsets[0], &out[0], out.shape[0])
    finally:
        free(given)
    check_outcome(outcome)


def spread_bits(
    const uint8_t[::1] bits not None, int64_t bit_offset, int64_t num_bits, int64_t bits_per_run,
    uint8_t[::1] out not None,
) -> None:
    """Copy runs of bits, each to a byte border of its own; the last run may be shorter, bits after a run become 0."""
    cdef Outcome outcome
    with nogil:
        outcome = _spread_bits(&bits[0], bits.shape[0], bit_offset, num_bits, bits_per_run, &out[0], out.shape[0])
    check_outcome(outcome)
