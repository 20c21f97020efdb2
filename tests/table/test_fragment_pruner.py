"""Fragments are left out before they are opened, and never one with a row that satisfies the filter."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from filter_cases import FilterCase, filter_case
from same import assert_same
from values import seeded

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError, LanceError
from lance_arrow.scan.fragments import fragment_groups
from lance_arrow.scan.fragments.fragment_pruner import FragmentPruner
from lance_arrow.scan.fragments.fragment_rows import FragmentRows
from lance_arrow.scan.open_file import OpenFile

F = pc.field
Left = list[tuple[int, int]]
NUM_FRAGMENTS, FRAGMENT_ROWS = 96, 50


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Left:
    """Fragments that each call was asked for, and that it left."""
    found: Left = []
    asked = FragmentPruner.left

    def noted(self: FragmentPruner, numbers: list[int]) -> list[int]:
        kept = asked(self, numbers)
        found.append((len(numbers), len(kept)))
        return kept

    monkeypatch.setattr(FragmentPruner, "left", noted)
    return found


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of fragments that were opened one by one."""
    found: list[str] = []
    open_file = FragmentRows.open_file

    def noted(self: FragmentRows, number: int) -> OpenFile:
        found.append(self.meta.files[number].path)
        return open_file(self, number)

    monkeypatch.setattr(FragmentRows, "open_file", noted)
    return found


def ascending(first: int, count: int = FRAGMENT_ROWS) -> pa.Table:
    keys = np.arange(first, first + count)
    return pa.table({"a": keys, "b": keys[::-1] * -1, "text": [f"key {key:06}" for key in keys]})


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    return ascending(0, NUM_FRAGMENTS * FRAGMENT_ROWS)


@pytest.fixture
def table(rows: pa.Table, tmp_path: Path) -> LanceTable:
    return LanceTable.create(tmp_path / "t.lance", rows, max_rows_per_file=FRAGMENT_ROWS)


def one_by_one(monkeypatch: pytest.MonkeyPatch, read: Callable[[], pa.Table]) -> pa.Table:
    """Read with no fragment left out natively, and none joined."""
    with monkeypatch.context() as patched:
        patched.setattr(fragment_groups, "LEAST_GROUPED", 1 << 40)
        return read()


def _case(number: int) -> FilterCase:
    """Return the first case, of some, that Arrow evaluates and that has rows for many fragments."""
    cases = (filter_case(440_000 + 100 * number + more) for more in range(100))
    return next(case for case in cases if len(case.table) >= 40 and case.expected() is not None)


@pytest.mark.parametrize("number", range(60))
def test_random_filters_find_the_rows_that_arrow_finds(number: int, tmp_path: Path) -> None:
    case = _case(number)
    expected = case.expected()
    assert expected is not None
    table = LanceTable.create(
        tmp_path / "t.lance",
        case.table,
        file_version=case.file_version,
        rows_per_zone=case.rows_per_zone,
        page_bytes=case.page_bytes,
        max_rows_per_file=len(case.table) // 12,
    )
    assert_same(expected, table.to_table(filter=case.expression))
    assert table.count_rows(case.expression) == len(expected)
    dataset = lance_arrow.dataset(str(tmp_path / "t.lance"))
    assert_same(expected, dataset.to_table(filter=case.expression))
    table.delete("row % 3 = 1")
    kept = case.table.take(pa.array(np.flatnonzero(np.arange(len(case.table)) % 3 != 1)))
    assert_same(kept.filter(case.expression), table.to_table(filter=case.expression))


def test_few_fragments_are_opened(table: LanceTable, rows: pa.Table, left: Left, opened: list[str]) -> None:
    wanted = (F("a") >= 1000) & (F("a") < 1003)
    for read in (table.to_table, lance_arrow.dataset(table.uri).to_table):
        left.clear()
        opened.clear()
        assert_same(rows.slice(1000, 3), read(filter=wanted))
        # The first one is not in a group; one of each group that something is left of is shown to the pruner.
        assert sum(asked for asked, _ in left) >= NUM_FRAGMENTS - 1
        assert sum(kept for _, kept in left) == 1
        assert len(set(opened)) <= 4
    assert table.count_rows("a >= 1000 AND a < 1003") == 3
    assert table.count_rows("text = 'key 004000'") == 1


def test_names_are_those_of_the_table(table: LanceTable, rows: pa.Table, left: Left) -> None:
    """Files keep the names that they were written with; the manifest tells which field each column is."""
    table.alter_columns({"path": "a", "name": "c"})
    table.alter_columns({"path": "b", "name": "a"})
    table.alter_columns({"path": "c", "name": "b"})
    swapped = rows.rename_columns(["b", "a", "text"])
    for wanted in (F("b") == 1000, F("a") == -1000, F("a") == 1000, (F("a") < -4700) | (F("b") == 7)):
        assert_same(swapped.filter(wanted), table.to_table(filter=wanted))
        assert_same(swapped.filter(wanted), lance_arrow.dataset(table.uri).to_table(filter=wanted))
    assert sum(kept for _, kept in left) < sum(asked for asked, _ in left) // 2


def test_columns_of_other_files_are_looked_at(table: LanceTable, rows: pa.Table, left: Left, opened: list[str]) -> None:
    table.add_columns({"late": "a * 2"})
    whole = rows.append_column("late", pc.multiply(rows["a"], 2))
    for wanted in (F("late") == 3000, (F("late") == 3000) & (F("b") > -5000), F("late").is_null()):
        opened.clear()
        assert_same(whole.filter(wanted), LanceTable.open(table.uri).to_table(filter=wanted))
        assert len(opened) < NUM_FRAGMENTS // 2


def test_a_column_that_came_later_is_null_before(table: LanceTable, rows: pa.Table) -> None:
    table.add_columns(pa.schema([("new", pa.int64())]))
    more = ascending(10_000, 400).append_column("new", pa.array(np.arange(400)))
    for first in range(0, 400, 40):
        table.append(more.slice(first, 40))
    whole = pa.concat_tables([rows.append_column("new", pa.nulls(len(rows), pa.int64())), more])
    for wanted in (F("new") == 17, F("new").is_null() & (F("a") == 5), F("new").is_null(), F("new") >= 0):
        assert_same(whole.filter(wanted), table.to_table(filter=wanted))


def test_a_column_of_another_type_is_cast_before_it_is_compared(table: LanceTable, rows: pa.Table) -> None:
    table.alter_columns({"path": "a", "data_type": pa.int32()})
    for first in (20_000, 20_050):
        more = ascending(first)
        table.append(more.set_column(0, "a", more["a"].cast(pa.int32())))
    found = table.to_table(filter="a = 20051 OR a = 3")
    assert found["a"].to_pylist() == [3, 20051]


def test_updated_and_deleted_rows(table: LanceTable, rows: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = seeded("updated")
    table.delete("a % 11 = 4")
    table.update({"b": "b * 10"}, "a % 400 < 3")
    for low in rng.integers(-50_000, 100, 12).tolist():
        wanted = (F("b") >= low) & (F("b") < low + 400)

        read = partial(LanceTable.open(table.uri).to_table, filter=wanted)
        assert_same(one_by_one(monkeypatch, read), read())


def test_a_file_of_another_size_is_an_error(table: LanceTable, rows: pa.Table) -> None:
    """It is not left out by zone maps of rows that are not the table's."""
    files = sorted((Path(table.uri) / "data").iterdir())
    other = table.uri + "-other.lance"
    lance_arrow.write_table(ascending(9_000_000, 70), other)
    files[NUM_FRAGMENTS // 2].write_bytes(Path(other).read_bytes())
    with pytest.raises(CorruptManifestError, match="bytes, the manifest"):
        LanceTable.open(table.uri).to_table(filter=F("a") == 1)


def test_missing_and_damaged_files_are_told(table: LanceTable, opened: list[str]) -> None:
    files = sorted((Path(table.uri) / "data").iterdir())
    data = files[40].read_bytes()
    files[40].write_bytes(data[:-20] + bytes(20))
    with pytest.raises(LanceError) as found:
        LanceTable.open(table.uri).to_table(filter=F("a") == 1)
    assert files[40].name in str(found.value)
    files[40].unlink()
    with pytest.raises(LanceError) as found:
        LanceTable.open(table.uri).to_table(filter=F("a") == 1)
    assert files[40].name in str(found.value)


def test_filters_that_exclude_nothing_stop_asking(tmp_path: Path, left: Left, opened: list[str]) -> None:
    rng = seeded("idle")
    rows = pa.table({"a": rng.integers(0, 1000, 12_000)})
    table = LanceTable.create(tmp_path / "t.lance", rows, max_rows_per_file=40)
    assert_same(rows.filter(F("a") == 500), table.to_table(filter=F("a") == 500))
    assert len(set(opened)) < 40


def test_zone_maps_of_other_forms_are_learnt(tmp_path: Path, left: Left) -> None:
    """Bounds of strings take more bytes where these are longer."""
    texts = [f"{key:0{5 + key // 1000}}" for key in range(NUM_FRAGMENTS * FRAGMENT_ROWS)]
    rows = pa.table({"text": texts})
    table = LanceTable.create(tmp_path / "t.lance", rows, max_rows_per_file=FRAGMENT_ROWS)
    found = [table.to_table(filter=F("text") == texts[key]).num_rows for key in (70, 1200, 3333, 4799)]
    assert found == [1, 1, 1, 1]
    asked, kept = (sum(one) for one in zip(*left, strict=True))
    assert kept < asked // 4
