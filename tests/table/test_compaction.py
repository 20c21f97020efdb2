"""Compaction: the same rows in fewer files, with their ids; what is not worth it is left alone."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.table.compaction import CompactionPlan


def rows_of(start: int, stop: int) -> pa.Table:
    return pa.table({"id": np.arange(start, stop), "s": [f"t{i}" for i in range(start, stop)]})


@pytest.mark.parametrize(
    ("physical", "live", "expected"),
    [
        ([], [], []),
        ([10], [10], []),
        ([10, 10], [10, 10], [range(2)]),
        ([100, 10, 10, 100, 10], [100, 10, 10, 100, 10], [range(1, 3)]),
        ([100, 10, 100], [100, 10, 100], []),
        ([100], [80], [range(1)]),
        ([100], [95], []),
        ([60, 60], [60, 60], []),
        ([60, 60, 60, 60, 60], [60, 60, 60, 60, 60], []),
        ([30, 30, 30, 30, 30, 30, 30, 30], [30] * 8, [range(4), range(4, 8)]),
        ([200, 200], [10, 200], [range(1)]),
        ([500], [300], [range(1)]),
        ([5, 5], [0, 5], [range(2)]),
    ],
)
def test_plan(physical: list[int], live: list[int], expected: list[range]) -> None:
    assert CompactionPlan(target_rows=100, deleted_part=0.1).groups(physical, live) == expected


def test_nothing_left_to_do(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    slow = LanceTable.create(path, rows_of(0, 20), max_rows_per_file=4)
    fast = LanceTable.open(path)

    def first(done: int, total: int) -> None:
        if fast.version == 1:
            fast.compact()

    report = slow.compact(on_progress=first)
    # Ids were reserved after the other compaction, for nothing.
    assert (fast.version, slow.version) == (3, 4)
    assert not report.fragments_rewritten
    assert (report.version_before, report.version_after) == (4, 4)


@pytest.mark.parametrize("stable", [False, True])
def test_rows_stay(tmp_path: Path, stable: bool) -> None:
    path = tmp_path / "t.lance"
    table = LanceTable.create(path, rows_of(0, 95), max_rows_per_file=10, enable_stable_row_ids=stable)
    table.append(rows_of(95, 300))
    table.delete(pc.field("id").isin([3, 4, 50, *range(60, 70), 299]))
    table.update({"s": "'new'"}, "id = 12 OR id = 290")
    names = ["id", "s", *(["_rowid", "_row_created_at_version", "_row_last_updated_at_version"] if stable else [])]
    before = table.to_table(columns=names)
    table.compact(target_rows_per_fragment=100, message="tidy")
    assert [version.operation for version in table.history()][:2] == ["rewrite", "reserve_fragments"]
    assert table.history()[0].message == "tidy"
    after = table.to_table(columns=names)
    assert sorted(after.to_pylist(), key=repr) == sorted(before.to_pylist(), key=repr)
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [203, 2, 81]
    assert table.manifest.fragments[0].deletion is not None
    # What was rewritten is a neighbour of the updated rows now.
    table.compact(target_rows_per_fragment=100)
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [203, 83]
    version = table.version
    table.compact(target_rows_per_fragment=100)
    assert table.version == version
    table.compact(target_rows_per_fragment=1000)
    assert [fragment.num_rows for fragment in table.manifest.fragments] == [286]
    assert sorted(table.to_table(columns=names).to_pylist(), key=repr) == sorted(before.to_pylist(), key=repr)
    assert LanceTable.open(path, version=4).to_table(columns=names).equals(before)
    for options in ({"target_rows_per_fragment": 0}, {"materialize_deletions_threshold": 2}):
        with pytest.raises(InvalidArgumentError, match="expected"):
            table.compact(**options)


def test_columns_in_several_files(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t.lance", rows_of(0, 30), max_rows_per_file=10)
    table.add_columns({"twice": "id * 2"})
    table.add_columns([pa.field("n", pa.list_(pa.int8()))])
    table.drop_columns(["s"])
    table.append(pa.table({"id": np.arange(30, 33)}))
    before = table.to_table()
    table.compact()
    assert table.to_table().equals(before)
    assert [len(fragment.files) for fragment in table.manifest.fragments] == [1]


def test_beside_writers(tmp_path: Path) -> None:
    """Rows that are appended and deleted meanwhile are neither lost nor come back."""
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows_of(0, 200), max_rows_per_file=10, enable_stable_row_ids=True)
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for step in range(6):
                table = LanceTable.open(path)
                if number == 0:
                    table.compact(target_rows_per_fragment=64)
                elif number == 1:
                    table.append(rows_of(1000 + 10 * step, 1005 + 10 * step))
                else:
                    table.delete(pc.field("id").isin([step * 20, step * 20 + 1]))
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    found = LanceTable.open(path).to_table(columns=["id", "_rowid"])
    gone = {step * 20 + one for step in range(6) for one in (0, 1)}
    assert sorted(found["id"].to_pylist()) == sorted(
        {*range(200)} - gone | {1000 + 10 * step + one for step in range(6) for one in range(5)}
    )
    assert len(set(found["_rowid"].to_pylist())) == found.num_rows
