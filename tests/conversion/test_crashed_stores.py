"""A conversion that dies at any call to a store leaves the target as it was, or complete, and hinders no second one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crash_points import FragileFileSystem, Fuse, Killed

import lance_arrow
from lance_arrow.errors import TableNotFoundError

OLD = pa.table({"id": [-1]})
NEW = pa.table({"id": range(100)})
TARGET = "/crash/target"


def _file(source: Path, store: FragileFileSystem) -> None:
    lance_arrow.convert(source, TARGET, target_filesystem=store)


def _over_file(source: Path, store: FragileFileSystem) -> None:
    lance_arrow.convert(source, TARGET, target_filesystem=store, overwrite=True)


def _table(source: Path, store: FragileFileSystem) -> None:
    lance_arrow.convert(source, TARGET, target_filesystem=store, table=True)


def _over_table(source: Path, store: FragileFileSystem) -> None:
    lance_arrow.convert(source, TARGET, target_filesystem=store, table=True, overwrite=True)


WAYS: dict[str, Callable[[Path, FragileFileSystem], None]] = {
    "file": _file,
    "over file": _over_file,
    "table": _table,
    "over table": _over_table,
}


def prepared(way: str) -> FragileFileSystem:
    store = FragileFileSystem()
    if way == "over file":
        lance_arrow.write_table(OLD, TARGET, filesystem=store)
    if way == "over table":
        lance_arrow.LanceTable.create(TARGET, OLD, filesystem=store)
    return store


def found(way: str, store: FragileFileSystem) -> pa.Table | None:
    """What a reader finds at the target."""
    if "file" in way:
        return lance_arrow.read_table(TARGET, filesystem=store) if store.exists(TARGET) else None
    try:
        return lance_arrow.LanceTable.open(TARGET, filesystem=store).to_table()
    except TableNotFoundError:
        return None


@pytest.mark.cover(1)
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", WAYS)
def test_every_call(tmp_path: Path, way: str, after: bool) -> None:
    pq.write_table(NEW, tmp_path / "a.parquet")
    base = prepared(way)
    old = found(way, base)
    counting = Fuse()
    WAYS[way](tmp_path / "a.parquet", base.fused(counting))
    assert counting.calls > 8
    states = []
    for at in range(counting.calls):
        store = base.fused(Fuse(at, after=after))
        with contextlib.suppress(Killed):
            WAYS[way](tmp_path / "a.parquet", store)
        left = store.fused(Fuse())
        now = found(way, left)
        assert now in (old, NEW), f"call {at}"
        states.append(now == NEW)
        if now == old:
            WAYS[way](tmp_path / "a.parquet", left)
            assert found(way, left) == NEW
    # From one call on, what was written is there.
    assert states == sorted(states)
    assert not states[0]
    assert states[-1]
