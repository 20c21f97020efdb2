"""Pages with one value: whether all valid values are equal, the bytes of that value, and whether bytes are one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.pages.level_writing import num_valid, visible_levels
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, Levels, VariableWidth
from lance_arrow.spi.encoding import PageContent

_PROBED = 64
_INLINE_BYTES = 32


def common_scalar(page: PageContent) -> bytes | None:
    """Return the bytes of the value that all valid slots hold; None if they differ or no slot is valid.

    A boolean is one byte. Lists and structs have no scalar.
    """
    values = page.values
    if values is None or not isinstance(values.shape, (FixedWidth, VariableWidth)) or not num_valid(page.levels):
        return None
    # Most pages differ in their first values, so these are compared first.
    if page.levels.def_ is None and _first_two_differ(values):
        return None
    places = _first_valid_slots(page.levels)
    if isinstance(values.shape, VariableWidth):
        return _common_string(values, page.levels, places)
    rows = _rows(values)
    if len(places) and (rows[places] != rows[places[0]]).any():
        return None
    valid = _valid_slots(page.levels)
    found = rows if valid is None else rows[valid]
    return bytes(found[0].tobytes()) if bool((found == found[0]).all()) else None


def is_inline(values: BlockSlice, scalar: bytes) -> bool:
    """Return whether a scalar is stored in the description of a 2.2 page instead of a buffer."""
    return isinstance(values.shape, FixedWidth) and len(scalar) <= _INLINE_BYTES


def scalar_buffer(values: BlockSlice, scalar: bytes) -> NDArray[np.uint8]:
    """Write a scalar as Arrow buffers: u32 number of them, u32 size of each, then their bytes. Source: spec 7."""
    parts = [scalar]
    if isinstance(values.shape, VariableWidth):
        parts = [np.array([0, len(scalar)], f"<i{values.shape.offset_bits // 8}").tobytes(), scalar]
    header = np.array([len(parts), *map(len, parts)], "<u4").tobytes()
    return np.frombuffer(b"".join([header, *parts]), np.uint8)


def _first_two_differ(values: BlockSlice) -> bool:
    """Return whether the bytes of the first two values differ."""
    shape = values.shape
    if values.num_values < 2:
        return False
    if isinstance(shape, VariableWidth):
        first, second, third = values.offsets[: 3 * shape.offset_bits // 8].view(f"<i{shape.offset_bits // 8}").tolist()
        width = second - first
        if third - second != width:
            return True
    else:
        assert isinstance(shape, FixedWidth)
        width = shape.bytes_per_value
    # Bits cannot be compared as bytes.
    return values.values[:width].tobytes() != values.values[width : 2 * width].tobytes()


def _valid_slots(levels: Levels) -> NDArray[np.bool_] | None:
    """Return flags of the valid slots; None if all are valid."""
    visible = None if levels.def_ is None else visible_levels(levels)
    return None if visible is None else visible == 0


def _first_valid_slots(levels: Levels) -> NDArray[np.int64]:
    """Return valid slots among the first entries; empty if these have no value."""
    rep, def_ = (None if one is None else one[:_PROBED] for one in (levels.rep, levels.def_))
    head = Levels(levels.layers, min(_PROBED, levels.num_entries), rep, def_)
    valid = _valid_slots(head)
    return np.arange(head.num_entries) if valid is None else np.flatnonzero(valid)


def _rows(values: BlockSlice) -> NDArray[np.generic]:
    """Return an array with one element or row per value."""
    assert isinstance(values.shape, FixedWidth)
    if values.shape.bits == 1:
        bits = np.unpackbits(values.values, bitorder="little")
        return bits[values.bit_offset :][: values.num_values]
    width = values.shape.bytes_per_value
    data = np.ascontiguousarray(values.values)
    if width in (1, 2, 4, 8):
        return data.view(f"<u{width}")
    return data.reshape(-1, width)


def _common_string(values: BlockSlice, levels: Levels, places: NDArray[np.int64]) -> bytes | None:
    assert isinstance(values.shape, VariableWidth)
    offsets = values.offsets.view(f"<i{values.shape.offset_bits // 8}")

    def value_at(place: int) -> NDArray[np.uint8]:
        return values.values[int(offsets[place] - offsets[0]) : int(offsets[place + 1] - offsets[0])]

    if len(places) and any(not np.array_equal(value_at(one), value_at(int(places[0]))) for one in places.tolist()):
        return None
    valid = _valid_slots(levels)
    first = value_at(0 if valid is None else int(np.argmax(valid)))
    starts, stops = offsets[:-1] - offsets[0], offsets[1:] - offsets[0]
    lengths = stops - starts
    kept = lengths if valid is None else lengths[valid]
    if (kept != len(first)).any():
        return None
    if len(first) == 0:
        return b""
    if valid is None:
        rows = values.values[: int(stops[-1])].reshape(-1, len(first))
    else:
        rows = values.values[starts[valid][:, np.newaxis] + np.arange(len(first))]
    return first.tobytes() if bool((rows == first).all()) else None


def fits(scalar: bytes, shape: FixedWidth) -> bool:
    """Return whether the bytes are one value of `shape`; a boolean is one byte, 0 or 1."""
    return scalar in (b"\0", b"\1") if shape.bits == 1 else len(scalar) == shape.bytes_per_value
