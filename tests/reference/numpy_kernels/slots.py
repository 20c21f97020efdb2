"""Structure kept as positions, slot by slot: the meaning of ``engine/door/slots.pxi``. Source: spec section 11."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError

Positions: TypeAlias = NDArray[np.int64]
SlotLayer: TypeAlias = tuple[Positions, Positions, Positions, bool, Positions | None, Positions | None]
"""Starts and stops of the selected runs; listed slots and whether they are the null ones; lists that hold items, and
where those begin (then the end), None where the layer is no list."""

MAX_LAYERS = 64


def unravel_slots(
    layers: Sequence[SlotLayer],
    out_validity: Sequence[NDArray[np.uint8] | None],
    out_offsets: Sequence[NDArray[np.int32] | NDArray[np.int64] | None],
    slots: Positions,
    null_counts: Positions,
) -> None:
    """Append validity bits and list offsets of every layer after the `slots` that are there, and count on.

    Layers are inner-most first; a list's items are slots of the layer before it.
    """
    if not 1 <= len(layers) <= MAX_LAYERS:
        raise InternalError("there must be 1 to 64 layers")
    if any(len(one) != len(layers) for one in (out_validity, out_offsets, slots, null_counts)):
        raise InternalError("arrays over layers have different lengths")
    for n in range(len(layers) - 1, -1, -1):
        selected = _selected(layers[n])
        nulls = _nulls(layers[n], selected)
        start = int(slots[n])
        if start < 0:
            raise InternalError("a layer begins at a negative slot", detail=n)
        _put_validity(out_validity[n], start, nulls)
        null_counts[n] += int(nulls.sum())
        if out_offsets[n] is not None:
            if n == 0 or layers[n][5] is None:
                raise InternalError("offsets are requested of a layer that is not a list", detail=n)
            _put_offsets(layers[n], out_offsets[n], start, selected, int(slots[n - 1]))
        slots[n] = start + len(selected)


def null_flags(layer: SlotLayer, out: NDArray[np.uint16]) -> None:
    """Write for each selected slot 1 where it is null, else 0; what is not selected is as unlisted slots are."""
    nulls = _nulls(layer, _selected(layer))
    if len(nulls) > len(out):
        raise InternalError("there is no room for all slots")
    out[:] = 0 if layer[3] else 1
    out[: len(nulls)] = nulls


def _selected(layer: SlotLayer) -> Positions:
    starts, stops = layer[0], layer[1]
    if len(starts) != len(stops):
        raise InternalError("arrays over runs have different lengths")
    before = 0
    for run, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        if start < before or stop < start:
            raise InternalError("the runs do not ascend", detail=run)
        before = stop
    runs = [np.arange(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
    return np.concatenate([np.empty(0, np.int64), *runs])


def _nulls(layer: SlotLayer, selected: Positions) -> NDArray[np.bool_]:
    listed = np.isin(selected, layer[2])
    return listed if layer[3] else ~listed


def _put_validity(bits: NDArray[np.uint8] | None, start: int, nulls: NDArray[np.bool_]) -> None:
    if bits is None:
        if nulls.any():
            raise InternalError("a layer has nulls but no bitmap")
        return
    if start + len(nulls) > 8 * bits.size:
        raise InternalError("a layer's bitmap is too small")
    whole = np.unpackbits(bits, bitorder="little")
    whole[start : start + len(nulls)] = ~nulls
    bits[:] = np.packbits(whole, bitorder="little")


def _put_offsets(
    layer: SlotLayer, offsets: NDArray[np.int32] | NDArray[np.int64], start: int, selected: Positions, first_item: int
) -> None:
    list_slots, item_starts = layer[4], layer[5]
    if len(item_starts) != len(list_slots) + 1:
        raise InternalError("item starts are one more than lists")
    if start + len(selected) + 1 > len(offsets):
        raise InternalError("a list's offsets are too few")
    sizes = dict(zip(list_slots.tolist(), np.diff(item_starts).tolist(), strict=True))
    places = np.cumsum([first_item, *(sizes.get(slot, 0) for slot in selected.tolist())])
    if places[-1] > np.iinfo(offsets.dtype).max:
        raise InternalError("a list has more items than its offsets can count")
    offsets[start : start + len(places)] = places
