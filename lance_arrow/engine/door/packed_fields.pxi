# Packed rows to fields; chunk arguments and errors as in `bits`.

cdef extern from "engine/decode/packed_fields.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct PackedField:
        int64_t first_byte
        int64_t num_bytes
        uint8_t* out
        int64_t out_bytes

    Outcome _split_rows "lance_arrow::engine::split_rows"(Chunks, const PackedField*, int64_t, int64_t)

cdef extern from "lance_arrow/located_fields.hpp" namespace "lance_arrow" nogil:
    Outcome _locate_fields "lance_arrow::locate_fields"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, const int64_t*, int64_t, int64_t*, int64_t*,
        int64_t*)


def split_rows(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, const int64_t[::1] field_bytes not None, out,
) -> None:
    """Split rows that lie back to back in chunks into their fields.

    Source: CompressiveEncoding.PackedStruct; spec 5.9.

    Parameters
    ----------
    field_bytes
        ``(num_fields,) int64``: width of each field in a row; the row is their sum, without gaps.
    out
        Per field the memory of its values, back to back.

    Raises
    ------
    CorruptPageError
        A chunk is shorter than its rows.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Py_ssize_t num_fields = field_bytes.shape[0], field
    cdef int64_t row_bytes = 0
    cdef uint8_t[::1] values
    cdef Outcome outcome
    if len(out) != num_fields:
        raise refusal(b"fields and destinations differ in number", -1, 0)
    cdef PackedField* fields = <PackedField*>malloc((num_fields + 1) * sizeof(PackedField))
    if fields == NULL:
        raise MemoryError
    try:
        for field in range(num_fields):
            if not 1 <= field_bytes[field] <= 1 << 40:
                raise refusal(b"a packed field has no bytes", field, 0)
            # The caller's sequence keeps the array alive.
            values = out[field]
            fields[field].first_byte, fields[field].num_bytes = row_bytes, field_bytes[field]
            fields[field].out, fields[field].out_bytes = &values[0], values.shape[0]
            row_bytes += field_bytes[field]
        with nogil:
            outcome = _split_rows(chunks, fields, num_fields, row_bytes)
    finally:
        free(fields)
    check_outcome(outcome)


def locate_fields(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] field_bytes not None, int64_t[:, ::1] out_starts not None, int64_t[:, ::1] out_sizes not None,
) -> int:
    """Locate the fields of rows that are stored one by one; return the number of rows that are not empty.

    Source: spec 5.9.

    Parameters
    ----------
    starts, sizes
        ``(num_rows,) int64``: byte range of each row. A row of size 0 is null. Its fields of fixed width get the place
        of a neighbour's field (0 if every row is null), its variable fields are empty.
    field_bytes
        ``(num_fields,) int64``: a field's width, or -4 or -8 if a length of 4 or 8 bytes precedes its bytes.
    out_starts, out_sizes
        ``(num_fields, num_rows) int64``: byte range of each field in `data`, without its length.

    Raises
    ------
    CorruptPageError
        A row ends inside a field, or after the last one.
    """
    cdef int64_t num_rows = starts.shape[0], num_fields = field_bytes.shape[0], num_valid = 0
    cdef Outcome outcome
    if (sizes.shape[0] != num_rows or out_starts.shape[0] != num_fields or out_sizes.shape[0] != num_fields
            or out_starts.shape[1] != num_rows or out_sizes.shape[1] != num_rows):
        raise refusal(b"arrays over rows and fields have contradicting lengths", -1, 0)
    with nogil:
        outcome = _locate_fields(&data[0], data.shape[0], &starts[0], &sizes[0], num_rows, &field_bytes[0],
                                 num_fields, &out_starts[0, 0], &out_sizes[0, 0], &num_valid)
    check_outcome(outcome)
    return num_valid
