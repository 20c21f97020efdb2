"""What `count(*)` costs behind the doors of DuckDB and Polars: no data file is opened, and Polars opens the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from call_counts import count_calls

import lance_arrow
from lance_arrow import LanceTable, Runtime
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations import polars as polars_door
from lance_arrow.io.local_source import LocalSource

ROWS = pa.table({"n": pa.array(range(600)), "s": ["a", "b", "c"] * 200})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table = LanceTable.create(tmp_path / "t.lance", ROWS, max_rows_per_file=200)
    table.delete("n < 50")
    return tmp_path / "t.lance"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are opened."""
    found: list[str] = []
    begin = LocalSource.__init__

    def looking(self: LocalSource, file: str, *, name: str | None = None) -> None:
        found.append(Path(file).parent.name)
        begin(self, file, name=name)

    monkeypatch.setattr(LocalSource, "__init__", looking)
    return found


def test_polars_counts_open_the_manifest_alone(path: Path, opened: list[str]) -> None:
    frame = polars_door.scan(path)
    assert frame.select(pl.len()).collect().item() == 550
    assert opened == ["_versions"]
    # Then a data file tells which columns are dictionaries.
    assert frame.filter(pl.col("s") == "b").select(pl.len()).collect().item() == 183
    assert opened.count("_versions") == 1
    assert "data" in opened


def test_a_scan_stays_with_the_version_that_it_opened(path: Path) -> None:
    frame = polars_door.scan(path)
    LanceTable.open(path).delete("s = 'b'")
    assert frame.select("s").collect().height == frame.select(pl.len()).collect().item() == 550


def test_polars_counts_take_few_calls(path: Path) -> None:
    def count() -> None:
        polars_door.scan(path).select(pl.len()).collect()

    count()
    # 2,767 before, with a data file.
    assert count_calls(count) <= 460


def test_duckdb_counts_open_nothing(path: Path, opened: list[str]) -> None:
    with duckdb.connect() as connection:
        duckdb_door.register(connection, "rows", lance_arrow.dataset(path))
        opened.clear()
        assert connection.execute("SELECT count(*) FROM rows").fetchall() == [(550,)]
    assert opened == []


@pytest.mark.parametrize("batch_rows", [1, 7, 550, 1000])
def test_duckdb_counts_in_batches(path: Path, batch_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_door, "BATCH_ROWS", batch_rows)
    with duckdb.connect() as connection:
        duckdb_door.register(connection, "rows", path)
        assert connection.execute("SELECT count(*) FROM rows").fetchall() == [(550,)]
        assert connection.execute("SELECT count(*) FROM rows WHERE n < 10").fetchall() == [(0,)]


@pytest.mark.parametrize("asked", [["s", "n"], ["_rows", "s", "n"], ["s", "_rows"], ["_rows"]])
def test_frames_for_polars_are_made_without_queries(
    path: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = polars_door._Frames.of(path, categoricals=False)
    queried: list[str] = []

    def watched(name: str, own: Callable[..., pl.DataFrame]) -> Callable[..., pl.DataFrame]:
        def run(self: pl.DataFrame, *given: Any, **named: Any) -> pl.DataFrame:
            # Values of literals are selected from an empty frame.
            queried.extend([name] * bool(self.width))
            return own(self, *given, **named)

        return run

    for name in ("select", "with_columns", "filter"):
        monkeypatch.setattr(pl.DataFrame, name, watched(name, getattr(pl.DataFrame, name)))
    for predicate, count in ((None, 550), (pl.col("s").is_in(["a", "b"]), 366)):
        found = list(frames(asked, predicate, None, None))
        assert [frame.columns for frame in found] == [asked] * len(found)
        assert sum(frame.height for frame in found) == count
        # Columns of a count that only its predicate mentions are null, and not read.
        is_count = "_rows" in asked and len(asked) > 1 and predicate is not None
        # Polars asks for the column without values first.
        assert queried == ["select"] * (is_count and asked[0] != "_rows")
        queried.clear()


@pytest.mark.parametrize(
    ("predicate", "most"),
    [
        (pl.col("s") == "b", 3700),
        (pl.col("s").is_in(["a", "b"]), 3700),
        (pl.col("s").str.ends_with("b"), 3500),
        (pl.col("n") < 300, 2450),
    ],
)
def test_filtered_counts_for_polars_take_few_calls(
    path: Path, predicate: pl.Expr, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Calls of other threads are not counted.
    monkeypatch.setattr(Runtime, "ahead", lambda self, function, items, num_ahead=None: map(function, items))
    # Polars calls it from a thread of its own.
    frames = polars_door._Frames.of(path, categoricals=False)

    def count() -> None:
        assert sum(frame.height for frame in frames(["_rows", "n", "s"], predicate, None, None)) > 100

    count()
    # Where rows were made, they took 2,900 to 4,500.
    assert count_calls(count) <= most
