# Levels and values put together entry by entry. Source: spec section 6.

cdef extern from "engine/encode/zipping.hpp" namespace "lance_arrow::engine" nogil:
    cdef struct ZipLevels:
        const uint16_t* rep
        const uint16_t* def_ "def"
        int64_t num_entries
        int bits_def
        int max_rep
        int max_visible

    cdef struct ZipValues:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* offsets
        int64_t num_values
        int64_t value_bytes

    cdef struct ZipStream:
        uint8_t* bytes
        int64_t num_bytes
        int64_t* row_starts
        int64_t num_row_starts

    Outcome _zip "lance_arrow::engine::zip_entries"(ZipLevels, ZipValues, ZipStream, int, int, int64_t*)


def zip_entries(
    const uint16_t[::1] rep, const uint16_t[::1] def_, int64_t num_entries, int bits_rep, int bits_def,
    int max_rep, int max_visible, const uint8_t[::1] data not None, const int64_t[::1] offsets,
    int64_t num_values, int64_t value_bytes, int length_bits, uint8_t[::1] out not None, int64_t[::1] out_row_starts,
) -> int:
    """Write the entries of a page: control word, length, value.

    Parameters
    ----------
    rep, def_
        ``(num_entries,) uint16``, or None for a stream that does not exist.
    bits_rep, bits_def
        Widths inside the control word; both 0 where entries have none.
    max_rep, max_visible
        Repetition level that begins a row, and largest definition level of an entry that owns a value; -1 where every
        entry does.
    data, offsets
        The values one after another; ``(num_values + 1,) int64`` where they lie, None where each has `value_bytes`.
    length_bits
        Width of the length before each value, 32 or 64; 0 where they have one width. A value whose definition level is
        not 0 then takes no bytes.
    out
        Room for the entries; what is left over is not touched.
    out_row_starts
        ``(num_rows + 1,) int64``: start of each row, then the end; None if not needed.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    InternalError
        Arguments contradict each other or `out` is too small; ``detail`` is the entry.
    """
    cdef ZipLevels levels
    cdef ZipValues values
    cdef ZipStream stream
    cdef Outcome outcome
    cdef int64_t written = 0
    if num_entries < 0 or num_values < 0:
        raise refusal(b"negative number of entries or values", -1, 0)
    if rep is not None and rep.shape[0] != num_entries:
        raise refusal(b"repetition levels and entries differ in number", -1, 0)
    if def_ is not None and def_.shape[0] != num_entries:
        raise refusal(b"definition levels and entries differ in number", -1, 0)
    if offsets is not None and offsets.shape[0] != num_values + 1:
        raise refusal(b"offsets are one more than values", -1, 0)
    levels.rep = NULL
    levels.def_ = NULL
    if rep is not None:
        levels.rep = &rep[0]
    if def_ is not None:
        levels.def_ = &def_[0]
    levels.num_entries, levels.bits_def, levels.max_rep, levels.max_visible = num_entries, bits_def, max_rep, max_visible
    values.data, values.data_bytes, values.num_values, values.value_bytes = &data[0], data.shape[0], num_values, value_bytes
    values.offsets = NULL
    if offsets is not None:
        values.offsets = &offsets[0]
    stream.bytes, stream.num_bytes = &out[0], out.shape[0]
    stream.row_starts = NULL
    stream.num_row_starts = 0
    if out_row_starts is not None:
        stream.row_starts, stream.num_row_starts = &out_row_starts[0], out_row_starts.shape[0]
    with nogil:
        outcome = _zip(levels, values, stream, bits_rep, length_bits, &written)
    check_outcome(outcome)
    return written
