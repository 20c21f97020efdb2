"""Filters, takes and scans of a small far file: how many of its bytes are asked for, and none twice, by every door."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from far_trees import TreeStore
from values import seeded

import lance_arrow
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings

ROWS = 410_000
START = np.datetime64("2024-01-01", "us")
Door = Callable[[TreeStore, str, Any], Any]


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("asked once")
    cities = np.array(["Oslo", "Bergen", "Paris", "Rome", "Berlin"])
    return pa.table(
        {
            "id": np.arange(ROWS),
            "when": START + np.arange(ROWS).astype("timedelta64[s]"),
            "value": rng.integers(0, 10_000, ROWS) / 100.0,
            "city": pa.array(cities[rng.integers(0, len(cities), ROWS)]),
            "name": pa.array([f"row {v:x}" for v in rng.integers(0, 2**20, ROWS)]),
        }
    )


@pytest.fixture(scope="module")
def written(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, bytes], str]:
    """A table of one file: its place, its files, and which of them has the rows."""
    folder = tmp_path_factory.mktemp("asked") / "t.lance"
    lance_arrow.LanceTable.create(folder, table)
    files = {str(one): one.read_bytes() for one in Path(folder).rglob("*") if one.is_file()}
    (data,) = (name for name in files if "/data/" in name)
    assert 5_000_000 <= len(files[data]) <= 5_500_000
    return str(folder), files, data


class Asked:
    """What is asked of the file with the rows."""

    def __init__(self, written: tuple[str, dict[str, bytes], str]) -> None:
        self.folder, files, self.of_table = written
        # The same file by itself.
        self.data = "/bare.lance"
        files = {**files, self.data: files[self.of_table]}
        self.size = len(files[self.data])
        self.store = TreeStore(files)

    @property
    def requests(self) -> list[tuple[int, int]]:
        return [
            (start, stop)
            for wave in self.store.named_waves
            for name, start, stop in wave
            if name in (self.data, self.of_table)
        ]  # fmt: skip

    @property
    def share(self) -> float:
        return sum(stop - start for start, stop in self.requests) / self.size

    def check_once(self) -> None:
        ordered = sorted(self.requests)
        assert not [(left, right) for left, right in pairwise(ordered) if left[1] > right[0]]


@pytest.fixture
def asked(written: tuple[str, dict[str, bytes], str]) -> Asked:
    return Asked(written)


def file(asked: Asked) -> lance_arrow.LanceFile:
    return lance_arrow.LanceFile(asked.data, filesystem=asked.store, runtime=Runtime())


def streamed(asked: Asked, **how: Any) -> pa.Table:
    with file(asked) as opened:
        batches = list(opened.to_batches(**how))
        return pa.Table.from_batches(batches, schema=None if batches else opened.schema)


def read(asked: Asked, **how: Any) -> pa.Table:
    with file(asked) as opened:
        return opened.read(**how)


def dataset(asked: Asked) -> Any:
    return lance_arrow.dataset(asked.data, filesystem=asked.store)


def arrow_dataset(asked: Asked) -> Any:
    return pads.dataset(asked.data, filesystem=asked.store, format=lance_arrow.LanceFormat())


def opened_table(asked: Asked) -> lance_arrow.LanceTable:
    return lance_arrow.LanceTable.open(asked.folder, filesystem=asked.store)


READS: dict[str, Callable[..., pa.Table]] = {
    "read": read,
    "to_batches": streamed,
    "dataset": lambda asked, **how: dataset(asked).to_table(**how),
    "pyarrow": lambda asked, **how: arrow_dataset(asked).to_table(**how),
    "table": lambda asked, **how: opened_table(asked).to_table(**how),
    "table's dataset": lambda asked, **how: opened_table(asked).dataset().to_table(**how),
}


def counted(asked: Asked, filter: pc.Expression) -> int:
    with file(asked) as opened:
        return opened.count_rows(filter)


COUNTS: dict[str, Callable[[Asked, pc.Expression], int]] = {
    "file": counted,
    "dataset": lambda asked, filter: dataset(asked).count_rows(filter=filter),
    "pyarrow": lambda asked, filter: arrow_dataset(asked).count_rows(filter=filter),
    "table": lambda asked, filter: opened_table(asked).count_rows(filter),
    "table's dataset": lambda asked, filter: opened_table(asked).dataset().count_rows(filter=filter),
}


def _between(name: str, low: Any, high: Any) -> pc.Expression:
    return (pc.field(name) >= low) & (pc.field(name) < high)


def _moment(second: int) -> pa.Scalar:
    return pa.scalar(START + np.timedelta64(second, "s"), pa.timestamp("us"))


NARROW = {
    "range": _between("id", ROWS // 2, ROWS // 2 + 4000),
    "equality": pc.field("id") == ROWS // 3,
    "time": _between("when", _moment(ROWS // 4), _moment(ROWS // 4 + 2000)),
}
WIDE = {
    "few rows everywhere": pc.field("value") < 0.05,
    "half of the rows": pc.field("value") < 50,
    "one text": pc.field("name") == "row 777",
}


@pytest.mark.parametrize("door", READS)
@pytest.mark.parametrize("query", NARROW)
def test_a_narrow_filter_asks_for_a_small_part(asked: Asked, table: pa.Table, door: str, query: str) -> None:
    found = READS[door](asked, filter=NARROW[query])
    assert found.replace_schema_metadata(None).equals(table.filter(NARROW[query]))
    asked.check_once()
    assert asked.share <= 0.1
    # The end of the file; chunk tables and zone maps; parts of each column.
    assert len(asked.requests) <= 12


@pytest.mark.parametrize("door", READS)
@pytest.mark.parametrize("query", WIDE)
def test_a_filter_that_zones_do_not_help_asks_for_no_byte_twice(
    asked: Asked, table: pa.Table, door: str, query: str
) -> None:
    found = READS[door](asked, filter=WIDE[query])
    assert found.replace_schema_metadata(None).equals(table.filter(WIDE[query]))
    asked.check_once()
    assert asked.share <= 1
    if query == "one text":
        # The filter's column and the rest of each window together: all of the file, asked for at once.
        assert len(asked.requests) == 2
    else:
        assert len(asked.requests) <= 24


@pytest.mark.parametrize("door", COUNTS)
@pytest.mark.parametrize("query", {**NARROW, **WIDE})
def test_a_count_asks_for_the_filters_columns(asked: Asked, table: pa.Table, door: str, query: str) -> None:
    filter = {**NARROW, **WIDE}[query]
    assert COUNTS[door](asked, filter) == len(table.filter(filter))
    asked.check_once()
    assert asked.share <= (0.05 if query in NARROW else 0.65 if query == "one text" else 0.2)
    assert len(asked.requests) <= 4


@pytest.mark.parametrize("door", READS)
@pytest.mark.parametrize("columns", [None, ["id", "when", "value", "name"]])
def test_a_file_that_is_read_nearly_whole_is_one_request(
    asked: Asked, table: pa.Table, door: str, columns: list[str] | None
) -> None:
    found = READS[door](asked, columns=columns)
    assert found.num_rows == ROWS
    asked.check_once()
    # The end came when the file was opened.
    (_, end), (_, rest) = asked.requests
    assert end == asked.size
    assert rest < asked.size


def test_one_column_is_not_the_whole_file(asked: Asked) -> None:
    assert read(asked, columns=["value"]).num_rows == ROWS
    asked.check_once()
    assert asked.share <= 0.2
    assert len(asked.requests) == 2


def taken(asked: Asked, rows: Any) -> pa.Table:
    with file(asked) as opened:
        return opened.take(rows)


TAKES: dict[str, Callable[[Asked, Any], pa.Table]] = {
    "file": taken,
    "dataset": lambda asked, rows: dataset(asked).take(rows),
    "table": lambda asked, rows: opened_table(asked).take(rows),
    "table's dataset": lambda asked, rows: opened_table(asked).dataset().take(rows),
}


@pytest.mark.parametrize("door", TAKES)
@pytest.mark.parametrize(("count", "share"), [(1, 0.1), (10, 0.5), (100, 1)])
def test_a_take_asks_for_no_byte_twice(asked: Asked, table: pa.Table, door: str, count: int, share: float) -> None:
    rows = np.sort(seeded(f"take {count}").choice(ROWS, count, replace=False))
    found = TAKES[door](asked, rows)
    assert found.replace_schema_metadata(None).equals(table.take(rows))
    asked.check_once()
    assert asked.share <= share
    assert len(asked.requests) <= 1 + 16 + 16


def test_a_file_that_is_open_remembers(asked: Asked, table: pa.Table) -> None:
    with file(asked) as opened:
        opened.read(filter=NARROW["range"])
        before = len(asked.requests)
        opened.read(filter=NARROW["range"])
        opened.take([ROWS // 2 + 5])
        assert len(asked.requests) == before
        assert opened.read().num_rows == ROWS
    asked.check_once()
    assert asked.share <= 1


@pytest.mark.parametrize("budget", [4 << 20, 32 << 20])
def test_a_small_budget_asks_again_and_finds_the_same(asked: Asked, table: pa.Table, budget: int) -> None:
    runtime = Runtime(Settings(memory_budget_bytes=budget))
    with lance_arrow.LanceFile(asked.data, filesystem=asked.store, runtime=runtime) as opened:
        for filter in (*NARROW.values(), *WIDE.values()):
            found = opened.read(filter=filter)
            assert found.replace_schema_metadata(None).equals(table.filter(filter))
            kept = runtime._far_bytes
            assert kept is not None
            assert kept.held_bytes <= budget // 16
