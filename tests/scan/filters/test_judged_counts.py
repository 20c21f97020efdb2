"""Counts of dictionaries by the engine alone: no batch is made, and what it does not judge is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from stores import CountingStore

import lance_arrow
from lance_arrow import LanceFile, LanceTable, Runtime, Settings
from lance_arrow.scan.filters import judged_counts, row_filter
from lance_arrow.scan.row_reader import RowReader

ROWS = 50_000
MODE = pc.field("mode")
FILTERS = [MODE == "AIR", MODE != "AIR", MODE.isin(["AIR", "MAIL", "SHIP"]), MODE.is_null(), MODE == "nothing"]


def table(*, has_nulls: bool = True, num_words: int = 7) -> pa.Table:
    random = np.random.default_rng(3)
    words = pa.array(["AIR", "MAIL", "SHIP", *[f"W{one}" for one in range(num_words - 3)]])
    codes = pa.array(random.integers(0, num_words, ROWS), mask=random.random(ROWS) < 0.1 if has_nulls else None)
    return pa.table({"mode": words.take(codes), "id": range(ROWS)})


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Reads of columns."""
    seen: list[Any] = []
    read = RowReader.read

    def noted(self: RowReader, *given: Any, **named: Any) -> Any:
        seen.append(given)
        return read(self, *given, **named)

    monkeypatch.setattr(RowReader, "read", noted)
    return seen


@pytest.mark.cover(1)
@pytest.mark.parametrize("has_nulls", [False, True])
@pytest.mark.parametrize("num_words", [3, 7, 40, 300])
@pytest.mark.parametrize("strings", ["plain", "dictionary", "view"])
def test_counts_make_no_batch(
    tmp_path: Path, batches: list[Any], strings: Any, num_words: int, *, has_nulls: bool
) -> None:
    rows = table(has_nulls=has_nulls, num_words=num_words)
    lance_arrow.write_table(rows, tmp_path / "a.lance", rows_per_zone=None, page_bytes=1 << 16)
    with LanceFile(tmp_path / "a.lance", strings=strings) as file:
        for expression in FILTERS:
            assert file.count_rows(expression) == rows.filter(expression).num_rows
    assert not batches


@pytest.mark.parametrize("max_rows", [1000, 7777])
def test_counts_in_windows(tmp_path: Path, batches: list[Any], max_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_filter, "ROWS_FOR_ONE", 10)
    monkeypatch.setattr(row_filter, "late_window_rows", lambda num_rows, num_threads: max_rows)
    rows = table()
    lance_arrow.write_table(rows, tmp_path / "a.lance", rows_per_zone=None)
    for num_threads in (1, 3):
        with LanceFile(tmp_path / "a.lance", runtime=Runtime(Settings(num_threads=num_threads))) as file:
            for _ in range(2):
                assert [file.count_rows(one) for one in FILTERS] == [rows.filter(one).num_rows for one in FILTERS]
    assert not batches


def test_zones_and_items_decide_together(tmp_path: Path, batches: list[Any]) -> None:
    parts = [["AIR", "MAIL"], ["AIR", "AIR"], ["MAIL", "SHIP"], [None, None]]
    rows = pa.table({"mode": pa.array([part[row % 2] for part in parts for row in range(1024)], pa.string())})
    lance_arrow.write_table(rows, tmp_path / "a.lance", rows_per_zone=256)
    with LanceFile(tmp_path / "a.lance") as file:
        for expression in FILTERS:
            assert file.count_rows(expression) == rows.filter(expression).num_rows
    assert not batches


def test_live_rows_in_many_runs(tmp_path: Path) -> None:
    LanceTable.create(tmp_path / "t.lance", table()).delete("id % 3 = 1")
    kept = LanceTable.open(tmp_path / "t.lance").to_table()
    for _ in range(2):
        counts = [lance_arrow.dataset(tmp_path / "t.lance").count_rows(filter=one) for one in FILTERS]
        assert counts == [kept.filter(one).num_rows for one in FILTERS]


def test_what_the_engine_does_not_judge_is_read(tmp_path: Path, batches: list[Any]) -> None:
    rows = pa.table({"mode": ["1", "2"] * 5000 + ["no number"], "id": range(10_001)})
    lance_arrow.write_table(rows, tmp_path / "a.lance")
    store = CountingStore({"a.lance": (tmp_path / "a.lance").read_bytes()})
    two = MODE.cast(pa.int64()) == 2
    with LanceFile(tmp_path / "a.lance") as file:
        with pytest.raises(lance_arrow.errors.InvalidArgumentError):
            file.count_rows(two)
        assert batches
        batches.clear()
        assert file.count_rows((MODE == "2") & (pc.field("id") < 10)) == 5
        assert batches
    batches.clear()
    with LanceFile("a.lance", filesystem=store) as file:
        assert file.count_rows(MODE == "2") == 5000
    assert batches


def test_a_refused_page_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance_arrow.write_table(table(), tmp_path / "a.lance", rows_per_zone=None, checksums=False)
    size = (tmp_path / "a.lance").stat().st_size
    found, own = 0, judged_counts.count_judged
    for at in range(0, size - 400, size // 40):
        damaged = bytearray((tmp_path / "a.lance").read_bytes())
        damaged[at : at + 64] = b"\xff" * 64
        (tmp_path / "b.lance").write_bytes(damaged)
        answers = []
        for counts in (own, lambda *given: None):
            monkeypatch.setattr(judged_counts, "count_judged", counts)
            try:
                with LanceFile(tmp_path / "b.lance") as file:
                    answers.append(file.count_rows(MODE == "AIR"))
            except lance_arrow.errors.LanceError as error:
                found += 1
                answers.append((type(error), error.column, error.page))
        assert answers[0] == answers[1], at
    assert found > 2


def test_another_window_finds_meanwhile_that_rows_cannot_be_counted_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What counts is looked up once by each window: the next look may find that another thread has put None there."""
    rows = table()
    lance_arrow.write_table(rows, tmp_path / "a.lance", rows_per_zone=None)
    own, count_in = vars(row_filter.RowFilter)["counting"], row_filter.RowFilter._count_in
    looks: list[int] = []

    class Counting:
        def __get__(self, found: Any, owner: type | None = None) -> Any:
            looks.append(1)
            return own.__get__(found, owner) if len(looks) == 1 else None

        def __set__(self, found: Any, value: Any) -> None:
            raise AssertionError("it is put into the object's own values")

    def counted(self: Any, *given: Any) -> int:
        looks.clear()
        return count_in(self, *given)

    monkeypatch.setattr(row_filter.RowFilter, "_count_in", counted)
    with LanceFile(tmp_path / "a.lance") as file:
        monkeypatch.setattr(row_filter.RowFilter, "counting", Counting())
        assert file.count_rows(MODE == "AIR") == rows.filter(MODE == "AIR").num_rows
    assert looks
