"""Byte streams to values and packed rows to fields; chunk arguments and errors as in `bits`."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def gather_streams(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, bytes_per_value: int, out: _Bytes
) -> None:
    """Put values together whose byte b stands in stream b of their chunk.

    Source: CompressiveEncoding.ByteStreamSplit; spec 5.10.

    Raises
    ------
    CorruptPageError
        A chunk is not exactly ``bytes_per_value`` streams of as many bytes as it has values.
    """

def scatter_streams(values: _Bytes, value_starts: _Positions, bytes_per_value: int, out: _Bytes) -> None:
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

def split_rows(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    value_starts: _Positions,
    field_bytes: _Positions,
    out: Sequence[_Bytes],
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

def locate_fields(
    data: _Bytes,
    starts: _Positions,
    sizes: _Positions,
    field_bytes: _Positions,
    out_starts: _Positions,
    out_sizes: _Positions,
) -> int:
    """Find the fields of rows that lie one by one; return how many rows are not empty.

    Source: CompressiveEncoding.VariablePackedStruct; spec 5.9.

    Parameters
    ----------
    starts, sizes
        ``(num_rows,) int64``: byte range of each row. A row of size 0 is null: its fields of fixed width get the
        place of a neighbour's (0 where every row is null), its variable ones are empty.
    field_bytes
        ``(num_fields,) int64``: a field's width, or -4 or -8 where a length of so many bytes stands before its bytes.
    out_starts, out_sizes
        ``(num_fields, num_rows) int64``: byte range of each field in `data`, without its length.

    Raises
    ------
    CorruptPageError
        A row ends inside a field, or after the last one.
    """
