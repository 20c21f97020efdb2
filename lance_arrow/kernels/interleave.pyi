"""Zipped rows of full-zip pages. Source: spec section 6; FullZipLayout.

A *region* is a byte range that holds whole rows, one per selected run of rows; entries and values are numbered through
all regions in their order.
"""

import numpy as np
from numpy.typing import NDArray

def count_entries(
    data: NDArray[np.uint8],
    region_starts: NDArray[np.int64],
    region_stops: NDArray[np.int64],
    bits_rep: int,
    bits_def: int,
    bytes_per_value: int,
    bits_per_offset: int,
    max_visible: int,
    out_region_entries: NDArray[np.int64],
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

def unzip_fixed(
    data: NDArray[np.uint8],
    region_starts: NDArray[np.int64],
    region_stops: NDArray[np.int64],
    bits_rep: int,
    bits_def: int,
    bytes_per_value: int,
    max_visible: int,
    rep_out: NDArray[np.uint16] | None,
    def_out: NDArray[np.uint16] | None,
    out_value_starts: NDArray[np.int64],
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

def unzip_variable(
    data: NDArray[np.uint8],
    region_starts: NDArray[np.int64],
    region_stops: NDArray[np.int64],
    bits_rep: int,
    bits_def: int,
    bits_per_offset: int,
    max_visible: int,
    rep_out: NDArray[np.uint16] | None,
    def_out: NDArray[np.uint16] | None,
    out_value_starts: NDArray[np.int64],
    out_value_sizes: NDArray[np.int64],
) -> tuple[int, int]:
    """Split entries that carry their length; as `unzip_fixed`, and `out_value_sizes` gets bytes (0 for null values)."""

def read_row_index(index: NDArray[np.uint8], num_rows: int, stream_bytes: int, out: NDArray[np.int64]) -> None:
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
