"""FSST symbol tables applied to many values per call; errors as in `bits`, outputs as in `gather`."""

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
