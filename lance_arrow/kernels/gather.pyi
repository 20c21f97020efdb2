"""Selected fixed- and variable-width values copied into a destination; chunk arguments and errors as in `bits`.

Variable-width outputs: ``out_offsets`` is a ``uint8`` view of signed offsets of ``out_offset_bits`` (32 or 64), one
more than values, of which the first already holds the base; the others are written as base + running length, and the
values to ``out_data`` from its start. Bytes of ``out_data`` after the last value are unspecified. Offsets that would
not fit in 32 bits are refused with InternalError: measure first.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]

def copy_fixed(
    data: _Bytes, starts: _Positions, sizes: _Positions, value_starts: _Positions, bytes_per_value: int, out: _Bytes
) -> None:
    """Copy the values of plain chunks to their places; a chunk may be longer than its values, not shorter."""

def take_runs_fixed(
    src: _Bytes, bytes_per_value: int, run_starts: _Positions, run_stops: _Positions, out: _Bytes
) -> None:
    """Copy the values ``run_starts[i] .. run_stops[i]`` of ``src`` back to back."""

def take_marked_fixed(src: _Bytes, bytes_per_value: int, bits: _Bytes, bit_offset: int, out: _Bytes) -> None:
    """Copy the values of ``src`` back to back whose bit is set; that of value i is ``bit_offset + i``.

    Too few bits, or a smaller ``out`` than they want, are the caller's mistake.
    """

def take_fixed(src: _Bytes, bytes_per_value: int, indices: _Bytes, index_bits: int, out: _Bytes) -> None:
    """Copy ``src[index]`` for each index: a dictionary of fixed-width items expanded.

    Parameters
    ----------
    indices
        ``uint8`` view of unsigned integers of ``index_bits`` (8, 16, 32, 64).

    Raises
    ------
    CorruptPageError
        An index is not below the number of items; ``detail`` is its position.
    """

def copy_values(data: _Bytes, starts: _Positions, bytes_per_value: int, out: _Bytes) -> None:
    """Copy one value of ``bytes_per_value`` from each byte position ``starts[i]`` of ``data``."""

def clear_null_indices(
    indices: _Bytes, index_bits: int, num_items: int, null_index: int, def_levels: NDArray[np.uint16] | None
) -> None:
    """Set the index of every null slot (definition level above 0) to ``null_index`` in place and check all others.

    Null slots may hold any index, even one out of range. ``null_index`` is not compared with ``num_items``: it may
    name an item that the caller appended, so that null slots expand to nothing.
    Source: MiniBlockLayout.dictionary; spec 3.

    Raises
    ------
    CorruptPageError
        The index of a slot that is not null is not below ``num_items``; ``detail`` is its position.
    """

def measure_take_variable(offsets: _Bytes, offset_bits: int, indices: _Bytes, index_bits: int) -> int:
    """Return the bytes that `take_variable` writes."""

def take_variable(
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    indices: _Bytes,
    index_bits: int,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> None:
    """Copy the value ``data[offsets[index] : offsets[index + 1]]`` for each index.

    Raises
    ------
    CorruptPageError
        An index has no item, or an item's offsets descend or leave ``data``; ``detail`` is the index's position.
    """

def measure_take_runs_variable(offsets: _Bytes, offset_bits: int, run_starts: _Positions, run_stops: _Positions) -> int:
    """Return the bytes that `take_runs_variable` writes."""

def take_runs_variable(
    offsets: _Bytes,
    offset_bits: int,
    data: _Bytes,
    run_starts: _Positions,
    run_stops: _Positions,
    out_offsets: _Bytes,
    out_offset_bits: int,
    out_data: _Bytes,
) -> None:
    """Copy the values ``run_starts[i] .. run_stops[i]`` back to back.

    Raises
    ------
    CorruptPageError
        Offsets descend inside a run or leave ``data``; ``detail`` is the run's number.
    """
