"""`take`: any type, any order, duplicates kept; rows that do not exist are named."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from values import seeded
from witness import Witness

from lance_arrow import LanceFile
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.row_arguments import as_offsets

ROWS = 3000
RNG = seeded("take")


def none_at(every: int, values: list[Any]) -> list[Any]:
    return [None if i % every == 0 else value for i, value in enumerate(values)]


def column(values: list[Any], type_: pa.DataType, **options: str) -> tuple[pa.Field, list[Any]]:
    metadata = {f"lance-encoding:{key.replace('_', '-')}": value for key, value in options.items()}
    return pa.field("", type_, metadata=metadata or None), values


def columns(version: str) -> dict[str, tuple[pa.Field, list[Any]]]:
    rows = range(ROWS)
    point = pa.struct([("x", pa.int32()), ("s", pa.string())])
    points = [{"x": i, "s": f"s{i}"} for i in rows]
    texts = [f"text {i} " * (i % 5) for i in rows]
    lists = [[i + k for k in range(i % 6)] for i in rows]
    found = {
        "integer": column(none_at(7, list(rows)), pa.int64()),
        "flag": column(none_at(5, [i % 3 == 0 for i in rows]), pa.bool_()),
        "nothing": column([None] * ROWS, pa.null()),
        "constant": column([5] * ROWS, pa.int32()),
        "runs": column([i // 100 for i in rows], pa.int32()),
        "decimal": column(none_at(3, [i * 10**20 for i in rows]), pa.decimal128(38, 0)),
        "day": column([datetime.date(2000, 1, 1) + datetime.timedelta(i) for i in rows], pa.date32()),
        "text": column(none_at(4, texts), pa.string()),
        "few": column(none_at(9, [f"word {i % 11}" for i in rows]), pa.large_string()),
        "zipped": column(none_at(6, [text.encode() for text in texts]), pa.binary(), structural_encoding="fullzip"),
        "zipped lists": column(
            none_at(6, [[f"{i}" * 30] * (i % 3) for i in rows]), pa.list_(pa.string()), structural_encoding="fullzip"
        ),
        "dictionary": column(none_at(8, [f"d{i % 50}" for i in rows]), pa.dictionary(pa.int16(), pa.string())),
        "vector": column(
            none_at(10, [[float(i), None if i % 3 == 0 else 0.5] for i in rows]), pa.list_(pa.float32(), 2)
        ),
        "wide": column(RNG.random((ROWS, 100)).astype(np.float32).tolist(), pa.list_(pa.float32(), 100)),
        "matrix": column([[[i, 1], [None, i % 9]] for i in rows], pa.list_(pa.list_(pa.int16(), 2), 2)),
        "list": column(none_at(7, lists), pa.list_(pa.int32())),
        "lists": column(
            none_at(7, [[one, None, one[:1]][: i % 4] for i, one in enumerate(lists)]),
            pa.large_list(pa.list_(pa.int64())),
        ),
        "list of texts": column(none_at(7, [[texts[i], None][: i % 3] for i in rows]), pa.list_(pa.string())),
        "struct": column(none_at(11, points), point),
        "packed": column(
            [{"x": i, "y": i / 2} for i in rows], pa.struct([("x", pa.int32()), ("y", pa.float64())]), packed="true"
        ),
        "list of structs": column(none_at(7, [points[i : i + i % 3] for i in rows]), pa.list_(point)),
        "struct of lists": column(
            none_at(13, [{"l": lists[i], "n": i} for i in rows]),
            pa.struct([("l", pa.list_(pa.int32())), ("n", pa.int64())]),
        ),
        "id": column([i.to_bytes(16, "big") for i in rows], pa.uuid()),
    }
    if version != "2.1":
        found["map"] = column(
            none_at(7, [[(f"k{k}", k) for k in range(i % 4)] for i in rows]), pa.map_(pa.string(), pa.int32())
        )
        found["pairs"] = column(
            none_at(5, [[points[i], None if i % 2 else points[-i]] for i in rows]), pa.list_(point, 2)
        )
    return found


@pytest.fixture(scope="module", params=["2.1", "2.2", "2.3"])
def files(
    request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory
) -> list[tuple[LanceFile, str, list[Any]]]:
    """A file for each column, of several pages, with its values."""
    folder = tmp_path_factory.mktemp("take")
    opened = []
    for name, (unnamed, values) in columns(request.param).items():
        field = unnamed.with_name(name)
        parts = [
            pa.table([pa.array(values[a : a + 700], field.type)], schema=pa.schema([field]))
            for a in range(0, ROWS, 700)
        ]
        path = witness.write(pa.concat_tables(parts), folder / f"{name}.lance", request.param, data_cache_bytes=1)
        opened.append((LanceFile(path), name, pa.chunked_array([part[name].chunk(0) for part in parts]).to_pylist()))
    return opened


@pytest.mark.interop
@settings(max_examples=8)
@given(wanted=st.lists(st.integers(0, ROWS - 1) | st.sampled_from([0, 699, 700, ROWS - 1]), max_size=40))
def test_taken_rows_are_the_rows(files: list[tuple[LanceFile, str, list[Any]]], wanted: list[int]) -> None:
    """Expected values are Python's: pyarrow 26 takes wrong ones from slices of fixed-size lists of lists."""
    for file, name, values in files:
        got = file.take(wanted)
        got.validate(full=True)
        assert got.schema == file.schema
        assert got[name].to_pylist() == [values[i] for i in wanted], name


@pytest.mark.interop
def test_many_rows_back_to_front(files: list[tuple[LanceFile, str, list[Any]]]) -> None:
    wanted = list(range(ROWS - 1, -1, -1)) + [0, 0, 5]
    for file, name, values in files:
        assert file.take(np.array(wanted))[name].to_pylist() == [values[i] for i in wanted], name


@pytest.mark.interop
@pytest.mark.parametrize("wrong", [-1, ROWS, 2**40, 2**63, 2**64 - 1, 2**70, -(2**70)])
def test_rows_that_do_not_exist_are_named(files: list[tuple[LanceFile, str, list[Any]]], wrong: int) -> None:
    file, _, _ = files[0]
    spellings: list[Any] = [[0, wrong], [wrong], (wrong, 1)]
    if 0 <= wrong < 2**64:
        spellings += [np.array([1, wrong], np.uint64), pa.array([wrong, 2], pa.uint64()), [wrong, -5]]
    for indices in spellings:
        with pytest.raises(InvalidArgumentError, match=f"row {wrong} does not exist") as caught:
            file.take(indices)
        assert caught.value.detail == wrong


@pytest.mark.parametrize(
    ("indices", "detail"),
    [
        ([1.0, 2.0], 1.0),
        ([0, 1.5], 1.5),
        ([0, None], None),
        ([True, False], True),
        ([1, False], False),
        (np.array([True]), True),
        (["7"], "7"),
        ([float("nan")], None),
        (pa.array([0, None]), None),
        (pa.array([0.5]), 0.5),
        (pa.array([True]), True),
        (pa.chunked_array([pa.array(["a"])]), "a"),
        (5, None),
        (np.zeros((2, 2), np.int64), None),
        ([[1], [2, 3]], None),
        ({1, 2}, None),
    ],
)
def test_what_is_no_row_offset_is_named(indices: Any, detail: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="row offsets") as caught:
        as_offsets(indices)
    if detail is not None:
        assert caught.value.detail == detail
        assert repr(detail) in str(caught.value)


@pytest.mark.parametrize(
    "indices",
    [
        [3, 1],
        (3, 1),
        range(3, 0, -2),
        np.array([3, 1], np.int8),
        np.array([3, 1], np.uint64),
        pa.array([3, 1], pa.uint16()),
        pa.chunked_array([[3], [1]]),
        [np.int64(3), np.uint8(1)],
    ],
)
def test_row_offsets_of_any_usual_kind(indices: Any) -> None:
    assert as_offsets(indices).tolist() == [3, 1]
    assert as_offsets(indices).dtype == np.int64


@pytest.mark.parametrize("nothing", [[], np.empty(0), pa.array([]), pa.chunked_array([], pa.int64())])
def test_no_rows_at_all(nothing: Any) -> None:
    assert as_offsets(nothing).tolist() == []
