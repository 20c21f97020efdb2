# Zipped rows. Source: spec section 6.
#
# A *region* is a byte range with whole rows, one per selected run of rows. Entries and values are numbered through all
# regions in their order.

cdef extern from "engine/decode/interleave.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ZipForm:
        int bits_rep
        int bits_def
        int64_t bytes_per_value
        int bits_per_offset
        int max_visible

    cdef struct ZipRows:
        uint16_t* def_ "def"
        int64_t* value_starts
        int64_t* value_sizes

    bint _unzip_rows "lance_arrow::engine::unzip_rows"(
        const uint8_t*, int64_t, const int64_t*, int64_t, int, int, ZipRows)

    cdef struct Regions:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* stops
        int64_t num_regions

    cdef struct ZipOut:
        uint16_t* rep
        uint16_t* def_ "def"
        int64_t max_entries
        int64_t* value_starts
        int64_t* value_sizes
        int64_t max_values

    Outcome _count_zipped "lance_arrow::engine::count_entries"(Regions, ZipForm, int64_t*, int64_t*, int64_t*)
    Outcome _unzip "lance_arrow::engine::unzip"(Regions, ZipForm, ZipOut, int64_t*, int64_t*)
    Outcome _read_index "lance_arrow::engine::read_row_index"(
        const uint8_t*, int64_t, int64_t, int64_t, int64_t*, int64_t)


cdef Regions _regions(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] stops) except *:
    if starts.shape[0] != stops.shape[0]:
        raise refusal(b"region_starts and region_stops have different lengths", -1, 0)
    return Regions(&data[0], data.shape[0], &starts[0], &stops[0], starts.shape[0])


cdef tuple _unzip_regions(Regions regions, ZipForm form, uint16_t[::1] rep_out, uint16_t[::1] def_out,
                          int64_t[::1] value_starts, int64_t[::1] value_sizes):
    cdef ZipOut out
    cdef Outcome outcome
    cdef int64_t entries = 0, visible = 0
    out.rep = NULL
    out.def_ = NULL
    out.max_entries = 0
    out.value_sizes = NULL
    out.value_starts, out.max_values = &value_starts[0], value_starts.shape[0]
    if rep_out is not None:
        out.rep, out.max_entries = &rep_out[0], rep_out.shape[0]
    if def_out is not None:
        if rep_out is not None and rep_out.shape[0] != def_out.shape[0]:
            raise refusal(b"rep_out and def_out have different lengths", -1, 0)
        out.def_, out.max_entries = &def_out[0], def_out.shape[0]
    if value_sizes is not None:
        if value_sizes.shape[0] != value_starts.shape[0]:
            raise refusal(b"out_value_starts and out_value_sizes have different lengths", -1, 0)
        out.value_sizes = &value_sizes[0]
    with nogil:
        outcome = _unzip(regions, form, out, &entries, &visible)
    check_outcome(outcome)
    return entries, visible


def count_entries(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int64_t bytes_per_value, int bits_per_offset, int max_visible,
    int64_t[::1] out_region_entries not None,
) -> tuple[int, int]:
    """Count entries, and entries that own a value; return both.

    Parameters
    ----------
    data, region_starts, region_stops
        The stream, and ``(n,) int64`` byte ranges in it.
    bits_rep, bits_def
        Widths inside the control word, 0 to 16; it has 0, 1, 2 or 4 bytes.
    bytes_per_value, bits_per_offset
        Width of each value and 0, or -1 and the width of the length before each valid value (32 or 64).
    max_visible
        Largest definition level of an entry that owns a value; -1 without lists, when every entry does.
    out_region_entries
        ``(n,) int64``: entries of each region.

    Raises
    ------
    CorruptPageError
        An entry leaves its region, or a control word has stray bits; ``detail`` is the region.
    InternalError
        A region leaves `data`, or widths contradict each other.
    """
    cdef ZipForm form = ZipForm(bits_rep, bits_def, bytes_per_value, bits_per_offset, max_visible)
    cdef Outcome outcome
    cdef int64_t entries = 0, visible = 0
    cdef Regions regions = _regions(data, region_starts, region_stops)
    if out_region_entries.shape[0] != regions.num_regions:
        raise refusal(b"out_region_entries and the regions differ in number", -1, 0)
    with nogil:
        outcome = _count_zipped(regions, form, &out_region_entries[0], &entries, &visible)
    check_outcome(outcome)
    return entries, visible


def unzip_fixed(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int64_t bytes_per_value, int max_visible,
    uint16_t[::1] rep_out, uint16_t[::1] def_out, int64_t[::1] out_value_starts not None,
) -> tuple[int, int]:
    """Split entries of one width into levels and places of values; return (entries, values).

    Parameters
    ----------
    rep_out, def_out
        Room for the levels of all entries; None where they are not wanted.
    out_value_starts
        Room for the byte positions in `data` of all values, those of nulls too.

    Raises
    ------
    CorruptPageError
        As `count_entries`.
    InternalError
        As `count_entries`, or there is not enough room.
    """
    cdef Regions regions = _regions(data, region_starts, region_stops)
    return _unzip_regions(regions, ZipForm(bits_rep, bits_def, bytes_per_value, 0, max_visible), rep_out, def_out,
                          out_value_starts, None)


def unzip_variable(
    const uint8_t[::1] data not None, const int64_t[::1] region_starts not None, const int64_t[::1] region_stops not None,
    int bits_rep, int bits_def, int bits_per_offset, int max_visible,
    uint16_t[::1] rep_out, uint16_t[::1] def_out,
    int64_t[::1] out_value_starts not None, int64_t[::1] out_value_sizes not None,
) -> tuple[int, int]:
    """Split entries that carry their length; as `unzip_fixed`, and `out_value_sizes` gets bytes (0 for null values)."""
    if bits_per_offset == 0:
        raise refusal(b"lengths have 32 or 64 bits", -1, 0)
    cdef Regions regions = _regions(data, region_starts, region_stops)
    return _unzip_regions(regions, ZipForm(bits_rep, bits_def, -1, bits_per_offset, max_visible), rep_out, def_out,
                          out_value_starts, out_value_sizes)


def unzip_rows(
    const uint8_t[::1] data not None, const int64_t[::1] borders not None, int bits_def, int bits_per_offset,
    uint16_t[::1] def_out, int64_t[::1] out_value_starts not None, int64_t[::1] out_value_sizes not None,
) -> bool:
    """Split entries of one row each whose borders an index tells; False where the entries disagree with them."""
    cdef ZipRows out
    cdef bint agrees
    cdef int64_t num_rows = borders.shape[0] - 1
    if bits_def < 0 or bits_def > 16 or (bits_per_offset != 32 and bits_per_offset != 64):
        raise refusal(b"levels have at most 16 bits, lengths 32 or 64", -1, 0)
    if num_rows < 0 or out_value_starts.shape[0] != num_rows or out_value_sizes.shape[0] != num_rows:
        raise refusal(b"outputs and rows differ in number", -1, 0)
    if (def_out is None) != (bits_def == 0) or (def_out is not None and def_out.shape[0] != num_rows):
        raise refusal(b"def_out and rows differ in number", -1, 0)
    out.def_ = NULL
    if def_out is not None:
        out.def_ = &def_out[0]
    out.value_starts, out.value_sizes = &out_value_starts[0], &out_value_sizes[0]
    with nogil:
        agrees = _unzip_rows(&data[0], data.shape[0], &borders[0], num_rows, bits_def, bits_per_offset, out)
    return agrees


def read_row_index(
    const uint8_t[::1] index not None, int64_t num_rows, int64_t stream_bytes, int64_t[::1] out not None
) -> None:
    """Widen the row offsets of a stream; their width is ``len(index) / (num_rows + 1)``.

    Parameters
    ----------
    out
        ``(num_rows + 1,) int64``: where each row begins, then `stream_bytes`.

    Raises
    ------
    CorruptPageError
        The width is not 1, 2, 4 or 8, or offsets do not ascend from 0 to the end of the stream.
    InternalError
        `out` has the wrong length.
    """
    cdef Outcome outcome
    if out.shape[0] == 0:
        raise refusal(b"the output has another length than the rows plus one", -1, 0)
    with nogil:
        outcome = _read_index(&index[0], index.shape[0], num_rows, stream_bytes, &out[0], out.shape[0])
    check_outcome(outcome)
