"""Filters of tables: exact whatever zones say, and few rows decoded where zones say much; in files and in the index."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from same import assert_same

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceFragmentScanOptions, LanceTable
from lance_arrow.errors import CorruptFileError, InvalidArgumentError
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.fragments.table_zones import IndexZones
from lance_arrow.spi import ReadReport
from lance_arrow.statistics import zone_maps

NAN = float("nan")
CONDITION = (pc.field("id") >= 1200) & (pc.field("id") < 1400)
PAIR = pa.struct([("x", pa.int64()), ("y", pa.int64())])


def rows_of(start: int, stop: int) -> pa.Table:
    ids = range(start, stop)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "f": pa.array([None if i % 11 == 0 else NAN if i % 13 == 0 else i * 0.5 for i in ids], pa.float64()),
            "s": pa.array([None if i % 100 < 10 else f"s{i:06}" for i in ids], pa.string()),
            "n": pa.array([None if i % 50 == 0 else {"x": i, "y": -i} for i in ids], PAIR),
            "z": pa.array([0.0 if i % 2 else -0.0 for i in ids], pa.float64()),
            "other": pa.array([i * 7 % 1000 for i in ids], pa.int32()),
        }
    )


FILTERS: list[Callable[[], pc.Expression]] = [
    lambda: pc.field("id") == 777,
    lambda: (pc.field("id") >= 1990) & (pc.field("other") < 500),
    lambda: pc.field("f") > 1040,
    lambda: ~(pc.field("f") <= 1040),
    lambda: pc.is_nan(pc.field("f")),
    lambda: pc.field("f").is_null(),
    lambda: pc.field("s").is_null() & (pc.field("id") < 300),
    lambda: pc.field("s") == "s000500",
    lambda: pc.starts_with(pc.field("s"), "s0012"),
    lambda: pc.field("n", "x") < 30,
    lambda: pc.field("n").is_null(),
    lambda: pc.field("z") == 0.0,
    lambda: pc.field("z") < 0,
    lambda: pc.field("id").isin([5, 1500, 99_999]),
    lambda: pc.field("_rowaddr") == (2 << 32) + 3,
    lambda: (pc.field("id") > 10_000) | (pc.field("other") == 7),
    lambda: pc.field("twice") == 3000,
]


def test_zones_are_made_ready_once_for_many_filters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    native = zone_maps.NativeZones
    monkeypatch.setattr(zone_maps, "NativeZones", lambda *given: made.append(given) or native(*given))
    LanceTable.create(tmp_path / "t", rows_of(0, 2000), rows_per_zone=100, max_rows_per_file=1000)
    dataset = lance_arrow.dataset(tmp_path / "t")
    for number in range(5):
        assert dataset.count_rows(pc.field("id") < 10 * number) == 10 * number
    assert len(made) == 2


def tables(tmp_path: Path, *, zones: bool, index: bool) -> LanceTable:
    """Fragments with deleted rows, several files, and rows that moved."""
    how: dict[str, Any] = {} if zones else {"rows_per_zone": None}
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 1500), max_rows_per_file=400, **how)
    if zones:
        table = LanceTable.create(
            tmp_path / "t.lance", rows_of(0, 1500), max_rows_per_file=400, rows_per_zone=64, mode="overwrite"
        )
    table.append(rows_of(1500, 2100), max_rows_per_file=250, **({"rows_per_zone": 50} if zones else how))
    table.add_columns({"twice": "id * 2"})
    table.delete(pc.field("id").isin([*range(500, 540), 777 + 1, 1999]))
    if index:
        for column in ("id", "f", "s", "n.x", "z", "twice"):
            table.create_zone_map(column, rows_per_zone=70)
    table.delete(pc.field("id") == 900)
    table.update({"other": 7}, "id = 1000")
    table.append(rows_of(2100, 2110).append_column("twice", pa.array(np.arange(2100, 2110) * 2)))
    return table


@pytest.mark.parametrize(("zones", "index"), [(False, False), (True, False), (False, True), (True, True)])
def test_the_same_rows(tmp_path: Path, zones: bool, index: bool, whole_run: bool) -> None:
    table = tables(tmp_path, zones=zones, index=index)
    names = [*table.schema.names, "_rowaddr"]
    everything = table.to_table(columns=names)
    dataset = table.dataset()
    found = ds.dataset(table.uri, format=LanceFormat())
    # Every day, each filter has two of the four tables.
    for make in FILTERS if whole_run else FILTERS[zones == index :: 2]:
        expression = make()
        expected = everything.filter(expression)
        assert_same(expected, table.to_table(columns=names, filter=expression))
        assert table.count_rows(expression) == expected.num_rows
        assert table.to_table(columns=["s"], filter=expression).equals(expected.select(["s"]))
        if "_rowaddr" not in str(expression):
            plain = expected.drop_columns(["_rowaddr"])
            assert_same(plain, dataset.to_table(filter=expression))
            assert dataset.count_rows(filter=expression) == expected.num_rows
            some = found.to_table(filter=expression)
            assert sorted(some["id"].to_pylist()) == sorted(plain["id"].to_pylist())


@pytest.mark.parametrize(("zones", "index"), [(True, False), (False, True)])
def test_few_rows_are_looked_at(tmp_path: Path, zones: bool, index: bool) -> None:
    table = tables(tmp_path, zones=zones, index=index)
    address = table.to_table(columns=["_rowaddr"])["_rowaddr"][1000].as_py()
    reader: TableReader = table._reader
    for expression, most in (
        (pc.field("id") == 777, 80),
        (pc.field("f") > 1010, 300 if zones else 2100),
        (pc.field("twice") > 4000, 300),
        (pc.field("n", "x") < 30, 80),
        (pc.field("_rowaddr") == address, 400),
    ):
        condition = reader.filter(expression)
        # What was updated or added after the index was made, may hold anything.
        left = sum(reader.fragment(at).prune(condition.predicate).rows.num_rows for at in range(len(reader.fragments)))
        assert 0 < left <= most, expression


def test_tables_heed_the_options_of_a_scan(tmp_path: Path, receipts: list[ReadReport]) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 2000), max_rows_per_file=1000, rows_per_zone=50)
    table.delete("id = 1205")
    expected = table.to_table(filter=CONDITION)
    dataset = ds.dataset(table.uri, format=LanceFormat())
    for wishes, pruned, rows in ((None, 36, 199), (LanceFragmentScanOptions(zone_maps=False), 0, 199)):
        receipts.clear()
        assert dataset.to_table(filter=CONDITION, fragment_scan_options=wishes)["id"].equals(expected["id"])
        assert sum(one.zones_pruned for one in receipts) == pruned
        assert dataset.count_rows(filter=CONDITION, fragment_scan_options=wishes) == rows
    small = LanceFragmentScanOptions(memory_budget_bytes=4096)
    assert max(batch.num_rows for batch in dataset.to_batches(fragment_scan_options=small)) < 200
    data = sorted((tmp_path / "t.lance" / "data").iterdir())[0]
    with LanceFile(data) as file:
        place = int(file._file.columns([0])[0].pages[0].buffer_offsets[-1])
    damaged = bytearray(data.read_bytes())
    damaged[place + 100] ^= 1
    data.write_bytes(damaged)
    dataset = ds.dataset(table.uri, format=LanceFormat())
    with pytest.raises(CorruptFileError):
        dataset.to_table(columns=["id"])
    assert (
        dataset.to_table(columns=["id"], fragment_scan_options=LanceFragmentScanOptions(verify="off")).num_rows == 1999
    )


def test_rows_that_zones_are_sure_of_are_counted_unread(tmp_path: Path, receipts: list[ReadReport]) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 2000), rows_per_zone=50)
    table.delete("id IN (0, 1500)")
    dataset = lance_arrow.dataset(table.uri)
    receipts.clear()
    for read in (dataset.count_rows, table.count_rows):
        receipts.clear()
        assert read(filter=CONDITION) == 200
        assert [(one.rows, one.decoded_rows) for one in receipts] == [(200, {})]
        assert read(filter=(pc.field("id") >= 1010) & (pc.field("id") < 1600)) == 589
        assert [(one.rows, one.decoded_rows) for one in receipts[1:]] == [(589, {"id": 50})]


def test_an_index_that_is_gone_or_broken_is_none(tmp_path: Path) -> None:
    table = tables(tmp_path, zones=False, index=True)
    expected = table.to_table(filter=pc.field("id") == 777)
    for path in (tmp_path / "t.lance" / "_indices").rglob("*.lance"):
        path.write_bytes(path.read_bytes()[:100])
    assert LanceTable.open(table.uri).to_table(filter=pc.field("id") == 777).equals(expected)
    shutil.rmtree(tmp_path / "t.lance" / "_indices")
    assert LanceTable.open(table.uri).to_table(filter=pc.field("id") == 777).equals(expected)
    assert lance_arrow.dataset(table.uri).to_table(filter=pc.field("id") == 777).equals(expected)


@pytest.mark.share(2)
@pytest.mark.parametrize("count", ["null_count", "nan_count", "fragment_id", "zone_start", "zone_length"])
def test_an_index_without_all_of_its_counts_is_none(tmp_path: Path, count: str) -> None:
    table = tables(tmp_path, zones=False, index=True)
    filters = [pc.field("s").is_null(), pc.is_nan(pc.field("f")), pc.field("id") == 777]
    expected = [table.to_table(columns=["id"], filter=one) for one in filters]
    for path in (tmp_path / "t.lance" / "_indices").rglob("*.lance"):
        zones = lance_arrow.read_table(path)
        number = zones.schema.get_field_index(count)
        lance_arrow.write_table(
            zones.set_column(number, count, pa.nulls(zones.num_rows, zones.schema.types[number])), path
        )
    opened = LanceTable.open(table.uri)
    assert [opened.to_table(columns=["id"], filter=one) for one in filters] == expected


def test_indices_by_name(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 100))
    table.create_zone_map("id", message="m")
    table.create_zone_map("n.x", name="nested")
    table.create_zone_map("id", rows_per_zone=10)
    assert table.indices == {"nested": ("n.x",), "id_idx": ("id",)}
    assert [version.operation for version in table.history()] == ["create_index"] * 3 + ["overwrite"]
    table.drop_index("nested")
    assert table.indices == {"id_idx": ("id",)}
    for call, message in (
        (lambda: table.create_zone_map("nope"), "no column 'nope'"),
        (lambda: table.create_zone_map("n"), "have no zone map"),
        (lambda: table.create_zone_map("id", rows_per_zone=0), "rows_per_zone is 0"),
        (lambda: table.drop_index("nope"), "no index 'nope'"),
    ):
        with pytest.raises(InvalidArgumentError, match=message):
            call()
    table.create_zone_map("id", rows_per_zone=10)
    reader = LanceTable.open(table.uri)._reader
    table.append(rows_of(100, 110))
    assert list(reader.numbers_left(reader.filter(pc.field("id") > 100))) == []
    reader = LanceTable.open(table.uri)._reader
    assert list(reader.numbers_left(reader.filter(pc.field("id") > 100))) == [1]
    empty = LanceTable.create(tmp_path / "e.lance", rows_of(0, 0))
    empty.create_zone_map("id")
    empty.append(rows_of(0, 3))
    assert empty.count_rows(pc.field("id") == 1) == 1


def covered(zones: dict[str, pa.Array]) -> list[int]:
    index = IndexZones(pa.table(zones))
    return [number for number in range(6) if index.of(number) is not None]


def test_contradicting_zones_are_left_out() -> None:
    zones = {
        "min": pa.array([1, 5, 1], pa.int64()),
        "max": pa.array([4, 9, 2], pa.int64()),
        "null_count": pa.array([0, 0, 0], pa.uint32()),
        "nan_count": pa.array([0, 0, 0], pa.uint32()),
        "fragment_id": pa.array([3, 3, 4], pa.uint64()),
        "zone_start": pa.array([0, 10, 7], pa.uint64()),
        "zone_length": pa.array([10, 10, 3], pa.uint64()),
    }
    assert covered(zones) == [3, 4]
    overlapping = {**zones, "zone_start": pa.array([0, 9, 7], pa.uint64())}
    assert covered(overlapping) == [4]
    empty = {**zones, "zone_length": pa.array([10, 10, 0], pa.uint64())}
    assert covered(empty) == [3]


def test_deleted_values_cause_no_error_and_are_not_found(tmp_path: Path, receipts: list[ReadReport]) -> None:
    rows = pa.table({"n": [0 if number % 7 == 3 else number for number in range(9000)], "x": range(9000)})
    table = LanceTable.create(tmp_path / "t.lance", rows)
    table.delete("n = 0")
    # Live rows are many short runs, so that the filter is first asked of deleted ones, too: there it divides by zero.
    condition = pc.divide(pc.scalar(9000), pc.field("n")) >= 2
    expected = [number for number in range(1, 4501) if number % 7 != 3]
    receipts.clear()
    assert table.to_table(columns=["x"], filter=condition)["x"].to_pylist() == expected
    assert receipts[-1].decoded_rows["n"] >= 7713
    assert table.count_rows(filter=condition) == len(expected)
    dataset = table.dataset()
    assert dataset.to_table(columns=["x"], filter=condition)["x"].to_pylist() == expected
    assert dataset.count_rows(filter=condition) == len(expected)
    assert table.count_rows(filter=pc.field("n") <= 4500) == len(expected)
