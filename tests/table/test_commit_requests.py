"""What a commit asks a far store for when others came first: a request for each of their versions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow import LanceTable


class Store(MemoryFileSystem):
    """Files in memory; remembers what is read of manifests and deletion files, and whose sizes are asked for."""

    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    asked: ClassVar[list[str]] = []
    protocol = "countedmemory"

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **kwargs: Any) -> Any:
        """Read a range."""
        self._note(path)
        return super().cat_file(path, start, end, **kwargs)

    def info(self, path: str, **kwargs: Any) -> Any:
        """Tell the size."""
        self._note(path)
        return super().info(path, **kwargs)

    def _open(self, path: str, mode: str = "rb", **kwargs: Any) -> Any:
        if "r" in mode:
            self._note(path)
        return super()._open(path, mode, **kwargs)

    def _note(self, path: str) -> None:
        if path.endswith((".manifest", ".txn", ".arrow", ".bin")):
            self.asked.append(path.rsplit("/", 1)[1])


@pytest.mark.parametrize("num_fragments", [1, 900])
def test_versions_of_others_take_a_request_each(num_fragments: int) -> None:
    Store.store.clear()
    store = Store(skip_instance_cache=True)
    rows = pa.table({"a": np.arange(num_fragments)})
    table = LanceTable.create("/t", rows, filesystem=store, max_rows_per_file=1, unsafe_single_writer=True)
    stale = LanceTable.open("/t", filesystem=store, unsafe_single_writer=True)
    for _ in range(3):
        table.append(rows.slice(0, 1))
    others = {str(path).rsplit("/", 1)[1] for path in Store.store if path.endswith(".manifest")}
    Store.asked.clear()
    stale.append(rows.slice(0, 1))
    assert stale.version == 5
    found = [name for name in Store.asked if name in others]
    assert (len(found), len(set(found))) == (3, 3)


def test_deletion_files_take_a_request_each() -> None:
    Store.store.clear()
    store = Store(skip_instance_cache=True)
    rows = pa.table({"a": np.arange(40_000)})
    table = LanceTable.create("/t", rows, filesystem=store, max_rows_per_file=10_000, unsafe_single_writer=True)
    table.delete("a % 1000 = 7 OR a BETWEEN 20000 AND 26000")
    found = LanceTable.open("/t", filesystem=store)
    Store.asked.clear()
    assert found.to_table().num_rows == 40_000 - 4 * 10 - 6001 + 6
    names = [name for name in Store.asked if name.endswith((".arrow", ".bin"))]
    assert (len(names), len(set(names))) == (4, 4)
