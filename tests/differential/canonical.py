"""Tables as plain lists of flat arrays that hold only what is visible: equal data gives equal parts.

Nothing here uses a kernel on nested or sliced lists, so a defect of one cannot hide or fake a difference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

Part = tuple[str, pa.Array]


def parts(array: pa.Array, rows: np.ndarray, path: str) -> Iterator[Part]:
    """Yield validity, lengths and visible leaf values of `array` at `rows` (``(n,)`` int64), depth first."""
    data_type = array.type
    if pa.types.is_dictionary(data_type):
        # An index may point to a null item, which makes the row null.
        yield from parts(array.dictionary.take(array.indices), rows, path)
        return
    valid = np.zeros(0, bool) if len(array) == 0 else array.is_valid().to_numpy(zero_copy_only=False)[rows]
    yield f"{path} validity", pa.array(valid)
    kept = rows[valid]
    if pa.types.is_struct(data_type):
        for number, field in enumerate(data_type):
            yield from parts(array.field(number), kept, f"{path}.{field.name}")
    elif pa.types.is_fixed_size_list(data_type):
        size = data_type.list_size
        items = ((kept + array.offset)[:, None] * size + np.arange(size)).ravel()
        yield from parts(array.values, items, f"{path}[]")
    elif pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_map(data_type):
        offsets = array.offsets.to_numpy().astype(np.int64)
        starts, lengths = offsets[:-1][kept], np.diff(offsets)[kept]
        yield f"{path} lengths", pa.array(lengths)
        before = np.cumsum(lengths) - lengths
        items = np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
        yield from parts(array.values, items, f"{path}[]")
    elif not pa.types.is_null(data_type):
        values = array.take(pa.array(kept, pa.int64()))
        if pa.types.is_floating(data_type):
            values = values.view({16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[data_type.bit_width])
        yield path, values


def _chunks(column: pa.ChunkedArray) -> list[tuple[int, pa.Array]]:
    starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])
    return list(zip(starts.tolist(), column.chunks, strict=False))


def difference(
    expected: pa.ChunkedArray, actual: pa.ChunkedArray, rows: np.ndarray | None = None, *, types: bool = True
) -> str | None:
    """Say where columns differ first, None when nowhere; `actual` holds `rows` of `expected`, all in order when None.

    Chunks are compared pair by pair: joining those of dictionaries with null items is beyond pyarrow. Types of nested
    columns may differ in names and nullabilities unless `types`; those of leaves are always compared.
    """
    if types and actual.type != expected.type:
        return f"type {actual.type}, expected {expected.type}"
    num_rows = len(expected) if rows is None else len(rows)
    if len(actual) != num_rows:
        return f"{len(actual)} rows, expected {num_rows}"
    rows = np.arange(num_rows) if rows is None else rows
    if expected.num_chunks == 1 and actual.num_chunks > 1:
        # Many small batches at once; where they differ, the first of them is looked for below.
        ours = _joined(list(parts(chunk, np.arange(len(chunk)), "")) for chunk in actual.chunks)
        if ours is not None and _part_difference(list(parts(expected.chunk(0), rows, "")), ours) is None:
            return None
    for place, ours in _chunks(actual):
        picks = rows[place : place + len(ours)]
        for start, theirs in _chunks(expected):
            (common,) = np.nonzero((picks >= start) & (picks < start + len(theirs)))
            if len(common) == 0:
                continue
            found = _part_difference(list(parts(theirs, picks[common] - start, "")), list(parts(ours, common, "")))
            if found is not None:
                return f"rows from {place + int(common[0])}: {found}"
    return None


def _joined(chunks: Iterable[list[Part]]) -> list[Part] | None:
    """Join the flat parts of chunks one after the other; None where those of chunks are not alike."""
    lists = list(chunks)
    if len({tuple((name, values.type) for name, values in one) for one in lists}) != 1:
        return None
    return [(same[0][0], pa.concat_arrays([values for _, values in same])) for same in zip(*lists, strict=True)]


def _countable(array: pa.Array) -> pa.Array:
    """Times as numbers: Python has none before year 1 and after 9999."""
    if not pa.types.is_temporal(array.type) or pa.types.is_interval(array.type):
        return array
    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())


def _part_difference(expected: list[Part], actual: list[Part]) -> str | None:
    if len(expected) != len(actual):
        return f"parts {[name for name, _ in actual]}, expected {[name for name, _ in expected]}"
    for (_, left), (name, right) in zip(expected, actual, strict=True):
        if left.type != right.type:
            return f"{name}: type {right.type}, expected {left.type}"
        if len(left) != len(right):
            return f"{name}: {len(right)} entries, expected {len(left)}"
        if not left.equals(right):
            wanted, found = _countable(left), _countable(right)
            unequal = [n for n, (a, b) in enumerate(zip(wanted.to_pylist(), found.to_pylist(), strict=True)) if a != b]
            first = unequal[0] if unequal else 0
            shown = [repr(side[first].as_py())[:80] for side in (found, wanted)]
            return f"{name}: entry {first} is {shown[0]}, expected {shown[1]} ({len(unequal)} of {len(left)} differ)"
    return None
