"""`history`: all versions, what made them, and how often a store is asked for that."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow import LanceTable

ROWS = pa.table({"id": pa.array([1, 2, 3], pa.int64())})


class Store(MemoryFileSystem):
    """Objects in memory that can be read in ranges, many with one call; counts calls, and files of each."""

    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    asked: ClassVar[list[int]] = []

    def cat_ranges(self, paths: Any, starts: Any, ends: Any, **options: Any) -> Any:
        self.asked.append(len(paths))
        return super().cat_ranges(paths, starts, ends, **options)


def test_small_manifests_are_read_together() -> None:
    store = Store(skip_instance_cache=True)
    table = LanceTable.create("/t.lance", ROWS, filesystem=store, message="first")
    for _ in range(20):
        table.append(ROWS)
    table.delete("id = 1")
    Store.asked.clear()
    found = table.history()
    assert Store.asked == [22]
    assert [one.version for one in found] == list(range(22, 0, -1))
    assert [one.operation for one in found] == ["delete", *["append"] * 20, "overwrite"]
    assert (found[-1].message, found[0].num_rows, found[0].num_fragments) == ("first", 42, 21)


def test_a_manifest_that_cannot_be_read_together_is_read_alone(tmp_path: Any, monkeypatch: Any) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS)
    table.append(ROWS)
    before = table.history()
    monkeypatch.setattr("lance_arrow.manifests.manifest_contents.reads_small_files", lambda filesystem: False)
    assert table.history() == before
    monkeypatch.undo()
    monkeypatch.setattr("lance_arrow.manifests.manifest_contents.TAIL_BYTES", 10)
    assert table.history() == before
