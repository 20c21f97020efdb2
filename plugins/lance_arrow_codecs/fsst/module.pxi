# FSST symbol tables chosen, applied to many values per call, and as C tables of codecs.

cdef extern from "lance_arrow_codecs/fsst/symbols.hpp" namespace "lance_arrow::codecs" nogil:
    cdef struct CodedValues:
        const uint8_t* data
        int64_t data_bytes
        const int64_t* starts
        const int64_t* sizes
        int64_t num_values

    Outcome _measure_symbols "lance_arrow::codecs::measure_symbols"(const uint8_t*, int64_t, CodedValues, int64_t*)
    Outcome _expand_symbols "lance_arrow::codecs::expand_symbols"(const uint8_t*, int64_t, CodedValues, VariableOut)

cdef extern from "lance_arrow_codecs/fsst/training.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _train_symbols "lance_arrow::codecs::train_symbols"(
        StoredOffsets, const uint8_t*, int64_t, uint8_t*, int64_t) except +

cdef extern from "lance_arrow_codecs/fsst/encoding.hpp" namespace "lance_arrow::codecs" nogil:
    Outcome _compress_symbols "lance_arrow::codecs::compress_symbols"(
        const uint8_t*, int64_t, StoredOffsets, const uint8_t*, int64_t, VariableOut, int64_t*) except +


cdef int _coded_values(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] sizes, CodedValues* out
) except -1:
    if starts.shape[0] != sizes.shape[0]:
        raise refusal(b"starts and sizes have different lengths", -1, 0)
    out.data, out.data_bytes = &data[0], data.shape[0]
    out.starts, out.sizes, out.num_values = &starts[0], &sizes[0], starts.shape[0]
    return 0


def measure_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
    const int64_t[::1] sizes not None,
) -> int:
    """Return the bytes that `expand_symbols` writes, after checking the table and every code."""
    cdef Outcome outcome
    cdef int64_t total = 0
    cdef CodedValues values
    _coded_values(data, starts, sizes, &values)
    with nogil:
        outcome = _measure_symbols(&table[0], table.shape[0], values, &total)
    check_outcome(outcome)
    return total


def expand_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] data not None, const int64_t[::1] starts not None,
    const int64_t[::1] sizes not None, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
) -> None:
    """Replace the codes of each value ``data[starts[i] : starts[i] + sizes[i]]`` by their symbols.

    Code 255 stands for the literal byte after it; a table whose switch is 0 means that values are stored as they are.
    Source: CompressiveEncoding.Fsst.symbol_table; spec 5.6.

    Parameters
    ----------
    table
        ``(2312,) uint8``.

    Raises
    ------
    CorruptPageError
        The table is malformed (``detail``: symbol number), or a value uses an unknown code or ends in an escape
        (``detail``: its position).
    """
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef Outcome outcome
    cdef CodedValues values
    _coded_values(data, starts, sizes, &values)
    with nogil:
        outcome = _expand_symbols(&table[0], table.shape[0], values, out)
    check_outcome(outcome)


def train_symbols(
    const uint8_t[::1] offsets not None, int offset_bits, const uint8_t[::1] data not None,
    uint8_t[::1] out_table not None,
) -> None:
    """Choose the symbols that save most on a sample of values, which are given as in `variable_chunks`.

    The same values give the same table on every machine. Source: Boncz, Neumann, Leis: FSST, VLDB 2020; the layout of
    the table is spec 5.6.

    Parameters
    ----------
    out_table
        ``(2312,) uint8``.
    """
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef Outcome outcome
    with nogil:
        outcome = _train_symbols(stored, &data[0], data.shape[0], &out_table[0], out_table.shape[0])
    check_outcome(outcome)


def compress_symbols(
    const uint8_t[::1] table not None, const uint8_t[::1] offsets not None, int offset_bits,
    const uint8_t[::1] data not None, uint8_t[::1] out_offsets not None, int out_offset_bits,
    uint8_t[::1] out_data not None,
) -> int:
    """Replace the longest symbols in each value by their codes, and other bytes by an escape and the byte.

    A small table is indexed by the first three bytes of a symbol. If more than two symbols share a place, only the two
    with the lowest codes are used.

    Parameters
    ----------
    offsets, offset_bits, data
        Values, as in `variable_chunks`.
    out_data
        Twice as many bytes as the values have; bytes behind the last code may be overwritten.

    Returns
    -------
    int
        Bytes of all codes.

    Raises
    ------
    CorruptPageError
        The table is malformed.
    InternalError
        Offsets descend or leave the data, there is too little room, or the table is switched off.
    """
    cdef StoredOffsets stored = stored_offsets(offsets, offset_bits)
    cdef VariableOut out = variable_out(out_offsets, out_offset_bits, out_data)
    cdef int64_t total = 0
    cdef Outcome outcome
    with nogil:
        outcome = _compress_symbols(&table[0], table.shape[0], stored, &data[0], data.shape[0], out, &total)
    check_outcome(outcome)
    return total


cdef extern from "lance_arrow_codecs/fsst/codec.hpp" namespace "lance_arrow::codecs" nogil:
    HeldChunkCodec* hold_symbols(const LaChunkCodec*, const uint8_t* table, int64_t table_bytes, Outcome*) except +
    HeldChunkMarks* hold_symbol_marks(const LaChunkCodec*) except +
    HeldValueCodec* hold_zipped_symbols(const uint8_t* table, int64_t table_bytes, Outcome*) except +


def symbols_codec(child, const uint8_t[::1] table not None) -> object | None:
    """FSST codes, `child` being the capsule of the codec that finds them; None when it has none, or no byte strings."""
    cdef Outcome outcome
    cdef HeldChunkCodec* held
    if child is None:
        return None
    held = hold_symbols(chunk_codec_of(child), &table[0], table.shape[0], &outcome)
    check_outcome(outcome)
    return chunk_capsule(held, child)


def symbol_marks(codec) -> object | None:
    """What compares the values of FSST codes, whose capsule `codec` is; None for None."""
    return marks_capsule(hold_symbol_marks(chunk_codec_of(codec)), codec)


def zipped_symbols_codec(child, const uint8_t[::1] table not None) -> object | None:
    """Zipped FSST codes; None unless `child` is the capsule of values that are stored as they are."""
    cdef Outcome outcome
    cdef HeldValueCodec* held
    if child is None or not value_codec_of(child).is_plain:
        return None
    held = hold_zipped_symbols(&table[0], table.shape[0], &outcome)
    check_outcome(outcome)
    return value_capsule(held)
