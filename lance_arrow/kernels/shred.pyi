"""Arrow's validity and offsets to repetition and definition levels, and leaf values without what nulls hide.

Unlike other kernels these read what a caller wrote, not a file: contradicting arrays raise InvalidArgumentError.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Levels = NDArray[np.uint16]
_Positions = NDArray[np.int64]
_Offsets = NDArray[np.int32] | NDArray[np.int64] | NDArray[np.signedinteger]
_Node = tuple[int, _Bytes | None, int, _Offsets | None, int, int]

def shred_levels(
    nodes: Sequence[_Node],
    num_rows: int,
    levels: _Levels,
    out_rep: _Levels | None,
    out_def: _Levels,
    out_run_starts: _Positions,
    out_run_stops: _Positions,
    seen: _Bytes,
) -> tuple[int, int]:
    """Write the levels of the first ``num_rows`` slots of the outer-most node.

    Parameters
    ----------
    nodes
        Outer-most first, the leaf last: ``(num_slots, validity, bit_offset, offsets, dimension, first_item)``.
        ``validity`` is a bitmap whose bit ``bit_offset`` is that of slot 0, or None; ``offsets`` the
        ``num_slots + 1`` offsets of a list, or None; ``dimension`` the items of a fixed-size list of structs, whose
        slot 0 begins at ``first_item`` of the next node, or 0.
    levels
        ``(num_nodes, 2) uint16``: the definition levels of a null slot and of an empty list, numbered as the layers
        are (spec 2); 0 where there is none: a node with a bitmap has the first, a list the second.
    out_rep, out_def
        Room for the entries; ``out_rep`` exactly where there is a list.
    out_run_starts, out_run_stops
        Room for the runs of visible slots of the leaf.
    seen
        ``(num_nodes, 2) uint8``: set to 1 where a null slot, an empty list occurred outside of anything null.

    Returns
    -------
    num_entries, num_runs
        With more runs than there is room for, runs are not written: call again with more.

    Raises
    ------
    InvalidArgumentError
        Offsets descend or leave their items, or an array is shorter than the one around it needs.
    """

def renumber_levels(levels: _Levels, table: _Levels) -> None:
    """Replace each level by ``table[level]``, in place."""

def clear_null_values(def_: _Levels, max_visible: int, bytes_per_value: int, values: _Bytes) -> None:
    """Zero the values whose definition level is above 0; entries above ``max_visible`` own no value."""

def fill_null_bits(def_: _Levels, max_visible: int, bits_per_value: int, bits: _Bytes, value: bool) -> None:
    """Set (or clear) the ``bits_per_value`` bits of each null value; others keep theirs."""

def shred_offsets(
    offsets: _Offsets,
    data_bytes: int,
    run_starts: _Positions,
    run_stops: _Positions,
    def_: _Levels | None,
    max_visible: int,
    out_offsets: _Offsets,
    base: int,
) -> tuple[int, int]:
    """Write ``base`` and the ends of the visible values after it; null values are empty.

    Returns
    -------
    num_bytes, span_start
        Bytes of all values, and where they lie one after another in the data, or -1 when there are gaps.

    Raises
    ------
    InvalidArgumentError
        Offsets descend or leave their bytes, or the sum does not fit them.
    """

def shred_bytes(
    offsets: _Offsets,
    data: _Bytes,
    run_starts: _Positions,
    run_stops: _Positions,
    def_: _Levels | None,
    max_visible: int,
    out: _Bytes,
) -> None:
    """Copy the bytes of the visible values that are not null back to back; the inverse of gaps in `shred_offsets`."""
