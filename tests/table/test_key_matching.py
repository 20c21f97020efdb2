"""`SourceKeys`: rows of a source found by their keys, beside a dictionary of tuples."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow.table.merges.key_matching import SourceKeys

_RANDOM = np.random.default_rng(22)


def _ints(type_: pa.DataType, low: int, high: int, count: int, nulls: float = 0.1) -> pa.Array:
    values = [low + int(one) for one in _RANDOM.integers(0, high - low, count, endpoint=True)]
    return pa.array([None if _RANDOM.random() < nulls else one for one in values], type_)


def _columns(kind: str, count: int) -> dict[str, pa.Array]:
    match kind:
        case "close":
            return {"a": _ints(pa.int64(), -50, 50, count)}
        case "far":
            return {"a": _ints(pa.int64(), -(1 << 61), 1 << 61, count // 2, 0.0)}
        case "far, some null":
            return {"a": _ints(pa.uint64(), 0, 1 << 62, count)}
        case "largest":
            return {"a": _ints(pa.uint64(), (1 << 64) - 60, (1 << 64) - 1, count)}
        case "least":
            return {"a": _ints(pa.int64(), -(1 << 63), -(1 << 63) + 60, count)}
        case "bytes":
            return {"a": _ints(pa.int8(), -128, 127, count)}
        case "text":
            return {"a": pa.array([None if one % 9 == 0 else f"k{one}" for one in _RANDOM.integers(0, 60, count)])}
        case "dates":
            days = _RANDOM.integers(0, 60, count).tolist()
            return {"a": pa.array([datetime.date(2020, 1, 1) + datetime.timedelta(one) for one in days])}
        case "dictionary":
            return {"a": pa.array([f"k{one}" for one in _RANDOM.integers(0, 60, count)]).dictionary_encode()}
    return {"a": _ints(pa.int32(), 0, 9, count), "b": _columns("text", count)["a"], "c": _ints(pa.uint8(), 0, 3, count)}


@pytest.mark.parametrize(
    "kind",
    ["close", "far", "far, some null", "largest", "least", "bytes", "text", "dates", "dictionary", "three columns"],
)
def test_rows_are_found_by_their_keys(kind: str) -> None:
    columns = _columns(kind, 200)
    source = pa.table(columns)
    keys = SourceKeys(source, list(columns))
    expected: dict[tuple[Any, ...], list[int]] = {}
    for row, key in enumerate(zip(*(column.to_pylist() for column in columns.values()), strict=True)):
        if None not in key:
            expected.setdefault(key, []).append(row)
        assert (keys.key_of[row] < 0) == (None in key)
    assert sorted(keys.row_of.tolist()) == sorted(rows[0] for rows in expected.values())
    others = pa.table(
        {name: pa.concat_arrays([more, columns[name].slice(0, 50)]) for name, more in _columns(kind, 300).items()}
    )
    chunked = pa.concat_tables([others.slice(0, 100), others.slice(100)])
    assert keys.find(chunked).tolist() == keys.find(others.combine_chunks()).tolist()
    for table in (source, others.combine_chunks(), others.slice(7)):
        batch = table.to_batches()[0] if table.num_rows else None
        assert batch is not None
        rows = zip(*(batch.column(name).to_pylist() for name in columns), strict=True)
        for key, number in zip(rows, keys.find(batch).tolist(), strict=True):
            found = expected.get(key)
            assert (number < 0) == (found is None)
            if found is not None:
                assert keys.row_of[number] == found[0]
                assert keys.is_repeated[number] == (len(found) > 1)


def test_no_rows() -> None:
    keys = SourceKeys(pa.table({"a": pa.array([], pa.int64())}), ["a"])
    assert keys.find(pa.record_batch({"a": pa.array([1, None], pa.int64())})).tolist() == [-1, -1]
