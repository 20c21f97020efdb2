"""FSST symbol tables chosen, and applied to many values per call; errors as in `bits`, outputs as in `gather`."""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def measure_symbols(table: _Bytes, data: _Bytes, starts: _Positions, sizes: _Positions) -> int:
    """Return the bytes that `expand_symbols` writes, after checking the table and every code."""

def expand_symbols(
    table: _Bytes,
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
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

def train_symbols(offsets: _Bytes, offset_bits: int, data: _Bytes, out_table: _Bytes) -> None:
    """Choose the symbols that save most on a sample of values, which are given as in `variable_chunks`.

    The same values give the same table on every machine. Source: Boncz, Neumann, Leis: FSST, VLDB 2020; the layout of
    the table is spec 5.6.

    Parameters
    ----------
    out_table
        ``(2312,) uint8``.
    """

def compress_symbols(
    table: _Bytes,
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> int:
    """Replace the longest symbols in each value by their codes, and other bytes by an escape and the byte.

    Of symbols whose first three bytes meet in the same place of a small table more than two, only the two with the
    lowest codes are used.

    Parameters
    ----------
    offsets, offset_bits, data
        Values, as in `variable_chunks`.
    out_data
        Twice as many bytes as the values have; those behind the last code may be scribbled over.

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
