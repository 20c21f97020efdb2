"""Strings of `polars.scan` that lie as dictionaries: values, types, and counts that read no column."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from values import seeded

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.arrays.view_arrays import as_views
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations import polars as polars_door
from lance_arrow.integrations.engine_rows import EngineRows
from lance_arrow.integrations.polars import scan
from lance_arrow.integrations.polars_predicates import divided
from lance_arrow.spi import ReadReport

NUM_ROWS = 20_000
LONG = "an item with more than twelve bytes"
c = pl.col


@pytest.fixture(scope="module")
def expected() -> pa.Table:
    rng = seeded("polars dictionaries")
    modes = pa.array(["AIR", LONG, "", "ünïcode über alles"])
    return pa.table(
        {
            "id": np.arange(NUM_ROWS),
            "mode": modes.take(pa.array(rng.integers(0, 4, NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.2)),
            "raw": pa.array([b"\xff", b"a" * 20]).take(pa.array(rng.integers(0, 2, NUM_ROWS))),
            "text": [f"text {number}" for number in range(NUM_ROWS)],
        }
    )


@pytest.fixture(scope="module")
def where(expected: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("polars") / "t.lance"
    table = LanceTable.create(place, expected.slice(0, 12_000), rows_per_zone=1000)
    table.append(expected.slice(12_000), rows_per_zone=1000)
    return place


QUERIES: dict[str, Any] = {
    "all": lambda frame: frame,
    "equal": lambda frame: frame.filter(c("mode") == LONG),
    "function": lambda frame: frame.filter(c("mode").str.contains("über")).select("id", "mode"),
    "empty": lambda frame: frame.filter(c("mode") == "").select("id"),
    "null": lambda frame: frame.filter(c("mode").is_null()).select(pl.len()),
    "in": lambda frame: frame.filter(c("mode").is_in(["AIR", "none"])).select(pl.len(), c("id").sum()),
    "not": lambda frame: frame.filter(~(c("mode") == "AIR") & (c("id") < 500)),
    "group": lambda frame: frame.group_by("mode").agg(pl.len(), c("id").sum()).sort("mode"),
    "len": lambda frame: frame.select(pl.len()),
    "len of a head": lambda frame: frame.head(7).select(pl.len()),
    "head": lambda frame: frame.head(5),
    "slice": lambda frame: frame.slice(11_990, 20),
    "filtered head": lambda frame: frame.filter(c("mode") == "AIR").head(5),
    "nothing": lambda frame: frame.filter(c("mode") == "nothing"),
    "bytes": lambda frame: frame.select(c("raw").bin.size().sum()),
    "join": lambda frame: frame.join(frame.filter(c("id") < 9), on="id").sort("id"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_same_rows_as_of_strings(where: Path, expected: pa.Table, name: str) -> None:
    query = QUERIES[name]
    assert_frame_equal(query(scan(where)).collect(), query(pl.from_arrow(expected).lazy()).collect())
    assert_frame_equal(query(scan(lance_arrow.dataset(where))).collect(), query(scan(where)).collect())


def test_categoricals(where: Path, expected: pa.Table) -> None:
    frame = scan(where, categoricals=True)
    assert frame.collect_schema()["mode"] == pl.Categorical
    assert frame.collect_schema()["text"] == pl.String
    assert frame.collect()["mode"].cast(pl.String).to_list() == expected["mode"].to_pylist()
    assert frame.filter(c("mode") == "AIR").select(pl.len()).collect().item() == expected["mode"].to_pylist().count(
        "AIR"
    )


def test_counting_reads_no_column(where: Path, receipts: list[ReadReport]) -> None:
    assert scan(where).select(pl.len()).collect().item() == NUM_ROWS
    assert not any(report.bytes_wanted for report in receipts)


def test_counting_with_a_predicate_reads_its_columns(where: Path, receipts: list[ReadReport]) -> None:
    found = scan(where).filter((c("mode") == "AIR") & (c("id") >= 19_000)).select(pl.len()).collect().item()
    assert found > 0
    assert {column for report in receipts for column in report.columns} == {"mode", "id"}
    assert sum(report.zones_pruned for report in receipts) >= 18


def test_rows_are_filtered_by_our_scan_alone(where: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LanceDataset, "scanner", None)
    assert scan(where).filter(c("mode") == "AIR").collect().height > 0


EXACT: dict[str, pl.Expr] = {
    "equal": c("mode") == LONG,
    "not equal": c("mode") != "AIR",
    "less": c("mode") < "AZ",
    "in": c("mode").is_in(["AIR", LONG]),
    "bytes": c("raw") == b"\xff",
    "prefix": c("mode").str.starts_with("an "),
    "contains": c("mode").str.contains("über", literal=True),
}


@pytest.mark.parametrize("name", EXACT)
def test_conditions_on_dictionaries_are_not_left_to_polars(where: Path, name: str) -> None:
    parts = divided(EXACT[name], lance_arrow.dataset(where, strings="view").schema)
    assert parts.filter is not None
    assert parts.rest is None
    # Categories have an order of their own.
    assert divided(EXACT[name], lance_arrow.dataset(where, strings="dictionary").schema).filter is None


def test_columns_of_one_value_are_not_read(where: Path, expected: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    batches = EngineRows.batches

    def watched(self: EngineRows, columns: Sequence[str], *rest: Any, **options: Any) -> Any:
        asked.append(columns)
        return batches(self, columns, *rest, **options)

    monkeypatch.setattr(EngineRows, "batches", watched)
    airs = pl.from_arrow(expected).filter(c("mode") == "AIR")
    frame = scan(where).filter(c("mode") == "AIR")
    assert frame.select(pl.len()).collect().item() == airs.height
    assert asked == []
    assert_frame_equal(frame.select("mode", "id").collect(), airs.select("mode", "id"))
    assert asked == [["id"]]
    asked.clear()
    # What is left to Polars needs the column itself.
    left = c("mode").str.len_bytes() + c("id") == 3 + 12
    assert_frame_equal(frame.filter(left).collect(), airs.filter(left))
    assert "mode" in asked[0]
    running = frame.filter(c("mode").str.len_bytes().cum_sum() < 30).select(pl.len()).collect().item()
    assert running == airs.filter(c("mode").str.len_bytes().cum_sum() < 30).height > 0


def test_many_rows_are_few_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = 300_000
    LanceTable.create(
        tmp_path / "t.lance", pa.table({"mode": pa.array(["a", "b"] * (count // 2)), "id": np.arange(count)})
    )
    shown: list[int] = []
    made = polars_door._frame
    monkeypatch.setattr(polars_door, "_frame", lambda rows, *rest: shown.append(rows.num_rows) or made(rows, *rest))
    assert scan(tmp_path / "t.lance").select("mode", "id").collect().height == count
    assert [rows for rows in shown if rows] == [count]


def test_views_share_items_and_belong_to_arrow() -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int32()), pa.array(["short", LONG]))
    before = pa.total_allocated_bytes()
    found = as_views(coded)
    found.validate(full=True)
    assert found.type == pa.string_view()
    assert found.to_pylist() == [LONG, "short", None, LONG]
    assert found.buffers()[2].address == coded.dictionary.cast(pa.string_view()).buffers()[2].address
    assert pa.total_allocated_bytes() > before
    assert as_views(coded.slice(1, 2)).to_pylist() == ["short", None]
    assert as_views(coded.slice(0, 0)).to_pylist() == []
    nothing = pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int32()), pa.array([], pa.large_string()))
    assert as_views(nothing).to_pylist() == [None, None]
    raw = pa.array([b"\xff", None, b"x" * 13], pa.large_binary()).dictionary_encode()
    assert as_views(raw).to_pylist() == [b"\xff", None, b"x" * 13]


def random_rows(random: np.random.Generator, num_rows: int) -> pa.Table:
    """Values that the two libraries may compare differently, with nulls."""

    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        codes = random.integers(0, len(values), num_rows)
        return pa.array(values, type_).take(pa.array(codes, mask=random.random(num_rows) < 0.15))

    return pa.table(
        {
            "f": some([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), -float("inf")], pa.float64()),
            "g": some([0.0, -0.0, 0.1, 2.5, float("nan")], pa.float32()),
            "i": some([-3, 0, 1, 2, 2**40], pa.int64()),
            "s": some(["", "a", "ab", LONG, "ü"], pa.string()),
            "b": some([True, False], pa.bool_()),
            "j": some([-3, 0, 2, 2**40], pa.int64()),
        }
    )


LITERALS: dict[str, list[Any]] = {
    "f": [0.0, -0.0, 1.5, float("inf"), 3.0],
    "g": [0.0, 2.5, 0.1],
    "i": [0, 2, -3, 7],
    "s": ["", "a", "ab", "b", LONG],
}


def random_predicate(random: np.random.Generator, depth: int = 0) -> pl.Expr:
    kind = int(random.integers(0, 10 if depth < 3 else 6))
    name = str(random.choice(list(LITERALS)))
    values = LITERALS[name]
    value = values[int(random.integers(0, len(values)))]
    if kind <= 2:
        compare = str(random.choice(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"]))
        found: pl.Expr = getattr(c(name), compare)(value)
        return found
    if kind == 3:
        return c(name).is_in(values[: 1 + int(random.integers(0, len(values)))])
    if kind == 4:
        return c(name).is_null() if name != "f" else c(name).is_nan()
    if kind == 5:
        return [
            c("b"),
            c("s").str.starts_with("a"),
            c("s").str.len_bytes() > 1,
            c("f").is_between(0.0, 2.0),
            c("i") < c("j"),
            c("i") == c("j"),
        ][int(random.integers(0, 6))]
    if kind == 6:
        return ~random_predicate(random, depth + 1)
    left, right = random_predicate(random, depth + 1), random_predicate(random, depth + 1)
    return left | right if kind == 7 else left & right


def test_columns_are_compared_with_each_other() -> None:
    schema = pa.schema({"i": pa.int64(), "j": pa.int64(), "k": pa.int32(), "f": pa.float64(), "g": pa.float64()})
    assert divided(c("i") < c("j"), schema).rest is None
    assert divided(c("i") < c("k"), schema).filter is None
    assert divided(c("f") < c("g"), schema).filter is None


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(3, 8))])
def test_random_predicates_find_what_polars_finds(tmp_path: Path, seed: int) -> None:
    """What has an expression is not filtered again by Polars: it must be exact, in both directions."""
    random = np.random.default_rng(seed)
    table = random_rows(random, 300)
    lance_arrow.write_table(table, tmp_path / "a.lance", rows_per_zone=50)
    plain, found = pl.from_arrow(table).lazy(), scan(tmp_path / "a.lance")
    for _ in range(60):
        predicate = random_predicate(random)
        expected = plain.filter(predicate).collect()
        assert_frame_equal(found.filter(predicate).collect(), expected)
        assert found.filter(predicate).select(pl.len()).collect().item() == expected.height
