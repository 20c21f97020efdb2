"""Groups of fragments that are written at once: as many as fit the budget, all of them, or none."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.settings import Settings
from lance_arrow.table.group_threads import GROUP_BYTES, GroupMeter, side_by_side


def settings_of(groups: int, threads: int = 8) -> Settings:
    return Settings(memory_budget_bytes=groups * GROUP_BYTES, num_threads=threads)


def test_as_many_as_fit() -> None:
    meter = GroupMeter(6, None)
    both = threading.Barrier(2)
    found = side_by_side(lambda one: (both.wait(20), one)[1], range(4), meter, settings_of(2))
    assert found == [0, 1, 2, 3]
    for settings in (settings_of(1), settings_of(4, threads=1)):
        names = side_by_side(lambda one: threading.current_thread().name, range(3), meter, settings)
        assert set(names) == {threading.current_thread().name}


def test_one_that_fails_ends_the_others() -> None:
    meter = GroupMeter(100, None)
    begun = threading.Event()
    ended: list[BaseException] = []

    def write(group: int) -> None:
        if group == 0:
            assert begun.wait(20)
            raise KeyboardInterrupt
        begun.set()
        try:
            while True:
                meter.add(1)
        except CancelledError as error:
            ended.append(error)
            raise

    with pytest.raises(KeyboardInterrupt):
        side_by_side(write, range(2), meter, settings_of(2))
    assert len(ended) == 1


def test_compaction_of_several_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fragments come in their order, with their ids, whichever is written first; progress is told in order."""
    rows = pa.table({"id": np.arange(1000), "text": [f"t{i}" for i in range(1000)]})
    used: list[int] = []

    def at_once(function, groups, meter, settings):
        used.append(len(groups))
        return side_by_side(function, groups, meter, settings_of(4))

    monkeypatch.setattr("lance_arrow.table.compaction.side_by_side", at_once)
    for stable in (False, True):
        path = tmp_path / f"stable {stable}"
        table = LanceTable.create(path, rows, max_rows_per_file=10, enable_stable_row_ids=stable)
        table.delete("id % 7 = 3")
        names = ["id", "text", *(["_rowid"] if stable else [])]
        before = table.to_table(columns=names)
        told: list[tuple[int, int]] = []
        table.compact(target_rows_per_fragment=100, on_progress=lambda *one, told=told: told.append(one))
        assert table.to_table(columns=names).equals(before)
        assert told == sorted(told)
        assert told[-1] == (before.num_rows, before.num_rows)
    assert used
    assert min(used) > 5
    table = LanceTable.create(tmp_path / "failing", rows, max_rows_per_file=10)
    (tmp_path / "failing" / "data" / table.manifest.fragments[57].files[0].path).unlink()
    left = sorted((tmp_path / "failing").rglob("*"))
    with pytest.raises(Exception, match="not there"):
        table.compact(target_rows_per_fragment=100)
    assert sorted((tmp_path / "failing").rglob("*")) == left
