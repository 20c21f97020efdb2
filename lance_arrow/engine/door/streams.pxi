# Byte streams to values and packed rows to fields; chunk arguments and errors as in `bits`.

cdef extern from "engine/decode/streams.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct PackedField:
        int64_t first_byte
        int64_t num_bytes
        uint8_t* out
        int64_t out_bytes

    Outcome _gather_streams "lance_arrow::engine::gather_streams"(Chunks, int64_t, uint8_t*, int64_t)
    Outcome _scatter_streams "lance_arrow::engine::scatter_streams"(Parts, int64_t, uint8_t*, int64_t)
    Outcome _split_rows "lance_arrow::engine::split_rows"(Chunks, const PackedField*, int64_t, int64_t)
    Outcome _locate_fields "lance_arrow::engine::locate_fields"(
        const uint8_t*, int64_t, const int64_t*, const int64_t*, int64_t, const int64_t*, int64_t, int64_t*, int64_t*,
        int64_t*)


def gather_streams(
    const uint8_t[::1] data not None, const int64_t[::1] starts not None, const int64_t[::1] sizes not None,
    const int64_t[::1] value_starts not None, int64_t bytes_per_value, uint8_t[::1] out not None,
) -> None:
    """Put values together whose byte b stands in stream b of their chunk.

    Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.

    Raises
    ------
    CorruptPageError
        A chunk is not exactly ``bytes_per_value`` streams of as many bytes as it has values.
    """
    cdef Chunks chunks = chunk_table(data, starts, sizes, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _gather_streams(chunks, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


def scatter_streams(
    const uint8_t[::1] values not None, const int64_t[::1] value_starts not None, int64_t bytes_per_value,
    uint8_t[::1] out not None,
) -> None:
    """Take values apart: byte b of every value of a part goes to stream b of it; the way back of `gather_streams`.

    Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.

    Parameters
    ----------
    value_starts
        ``(num_parts + 1,) int64``: where the values of each part begin; parts lie in `out` as they do in `values`.

    Raises
    ------
    InternalError
        A part leaves the values or the output.
    """
    cdef Parts parts = part_table(values, value_starts)
    cdef Outcome outcome
    with nogil:
        outcome = _scatter_streams(parts, bytes_per_value, &out[0], out.shape[0])
    check_outcome(outcome)


cdef extern from "engine/encode/stream_samples.hpp" namespace "lance_arrow::engine" nogil:
    Outcome _lz4_stream_bytes "lance_arrow::engine::lz4_stream_bytes"(const uint8_t*, int64_t, int64_t, int64_t*)


def lz4_stream_bytes(const uint8_t[::1] values not None, int64_t bytes_per_value) -> int:
    """Return how many bytes LZ4 frames of byte streams take, without writing them; in chunks of 4096 bytes.

    Parameters
    ----------
    values
        Whole values, a sample of a page.
    bytes_per_value
        4 or 8.

    Raises
    ------
    InternalError
        Values have another width.
    """
    cdef int64_t found = 0
    cdef Outcome outcome
    with nogil:
        outcome = _lz4_stream_bytes(&values[0] if values.shape[0] else NULL, values.shape[0], bytes_per_value, &found)
    check_outcome(outcome)
    return found


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

    Source: CompressiveEncoding.VariablePackedStruct; spec 5.9.

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
