"""Levels and values put together entry by entry. Source: spec section 6; FullZipLayout."""

import numpy as np
from numpy.typing import NDArray

def zip_entries(
    rep: NDArray[np.uint16] | None,
    def_: NDArray[np.uint16] | None,
    num_entries: int,
    bits_rep: int,
    bits_def: int,
    max_rep: int,
    max_visible: int,
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64] | None,
    num_values: int,
    value_bytes: int,
    length_bits: int,
    out: NDArray[np.uint8],
    out_row_starts: NDArray[np.int64] | None,
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
        ``(num_rows + 1,) int64``: where each row begins, then the end; None where nobody asks.

    Returns
    -------
    int
        Bytes written.

    Raises
    ------
    InternalError
        Arguments contradict each other or `out` is too small; ``detail`` is the entry.
    """
