"""Random tables whose leaves lie within lists, for tests of the native writer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

_SIZES = (0, 1, 5, 200, 1000, 3000)
_MOST_ITEMS = 4


def list_table(seed: int, *, has_maps: bool = True) -> pa.Table:
    """Return a table of lists, large lists, maps and structs, nested and with nulls, of numbers and strings.

    Maps exist since file version 2.2.
    """
    rng = np.random.default_rng([seed, 36])
    num_rows = int(rng.choice(_SIZES))
    # Of a slice the first slots do not count.
    skipped = int(rng.integers(0, 3))
    kinds = ["list", "large_list", "struct", *(["map"] if has_maps else [])]
    columns = {}
    for number in range(3):
        array = _nested(rng, num_rows + skipped, int(rng.integers(1, 4)), kinds)
        columns[f"c{number}"] = array.slice(skipped)
    return pa.table(columns)


def _nested(rng: np.random.Generator, num_slots: int, depth: int, kinds: list[str]) -> pa.Array:
    kind = rng.choice(kinds) if depth else "leaf"
    if kind == "leaf":
        return _leaf(rng, num_slots)
    mask = rng.random(num_slots) < 0.15 if rng.random() < 0.6 else None
    if kind == "struct":
        fields = [_nested(rng, num_slots, depth - 1, kinds) for _ in range(int(rng.integers(1, 4)))]
        return pa.StructArray.from_arrays(
            fields, [f"f{one}" for one in range(len(fields))], mask=None if mask is None else pa.array(mask)
        )
    least = 0 if rng.random() < 0.6 else 1
    most = _MOST_ITEMS if rng.random() < 0.8 else 60
    counts = rng.integers(least, most, num_slots)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    # Items before the first list and behind the last one.
    before, behind = (int(one) for one in rng.integers(0, 3, 2))
    num_items = int(offsets[-1]) + before + behind
    offsets = offsets + before
    bits = np.packbits(~mask, bitorder="little") if mask is not None else None
    validity = None if bits is None else pa.py_buffer(bits)
    wide = kind == "large_list"
    buffers = [validity, pa.py_buffer(offsets.astype(np.int64 if wide else np.int32))]
    null_count = 0 if mask is None else int(mask.sum())
    if kind == "map":
        keys = pa.array([f"k{one}" for one in rng.integers(0, 50, num_items)], pa.string())
        items = _nested(rng, num_items, depth - 1, kinds)
        type_ = pa.map_(pa.string(), items.type)
        entries = pa.StructArray.from_arrays([keys, items], fields=[type_.key_field, type_.item_field])
        return pa.Array.from_buffers(type_, num_slots, buffers, null_count, children=[entries])
    items = _nested(rng, num_items, depth - 1, kinds)
    type_ = pa.large_list(items.type) if wide else pa.list_(items.type)
    return pa.Array.from_buffers(type_, num_slots, buffers, null_count, children=[items])


def _leaf(rng: np.random.Generator, num_slots: int) -> pa.Array:
    mask = rng.random(num_slots) < 0.1 if rng.random() < 0.5 else np.zeros(num_slots, bool)
    numbers = rng.integers(0, int(rng.choice([1, 3, 1000, 1 << 40])), num_slots)
    kind = rng.choice(["int64", "int8", "bool", "double", "text", "binary", "words"])
    if kind == "text":
        return pa.array([f"{one} of many" for one in numbers], pa.string(), mask=mask)
    if kind == "words":
        return pa.array([("red", "green", "blue")[one % 3] for one in numbers], pa.large_string(), mask=mask)
    if kind == "binary":
        width = int(rng.choice([3, 40, 300]))
        return pa.array([bytes([one % 256]) * (one % width) for one in numbers], pa.binary(), mask=mask)
    if kind == "bool":
        return pa.array(numbers % 2 == 0, mask=mask)
    if kind == "double":
        return pa.array(numbers / 7, mask=mask)
    return pa.array((numbers % 100).astype(np.int8) if kind == "int8" else numbers, mask=mask)
