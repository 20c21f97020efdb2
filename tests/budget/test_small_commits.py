"""What a small commit asks the operating system for: every call of it is counted, with the bytes that it writes."""

from __future__ import annotations

import datetime
import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.io import LocalSource, small_files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="other systems have other calls")

VERSIONS = 40
ASKED = ("open", "write", "writev", "fsync", "link", "replace", "unlink", "remove", "stat", "lstat", "scandir", "mkdir")


class Calls:
    """Calls of the operating system, by name; and the bytes that they write."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        self.written: list[int] = []
        for name in ASKED:
            patch.setattr(os, name, self._counted(name, getattr(os, name)))

    def _counted(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            creates = name == "open" and arguments[1] & os.O_CREAT
            self.counts["create" if creates else name] += 1
            found = real(*arguments, **keywords)
            if name in ("write", "writev"):
                self.written.append(found)
            return found

        return call


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    made = LanceTable.create(tmp_path / "t", rows(0))
    made.append(rows(1))
    return made


@pytest.fixture
def calls(table: LanceTable) -> Iterator[Calls]:
    with pytest.MonkeyPatch.context() as patch:
        yield Calls(patch)


def rows(number: int) -> pa.Table:
    """A hundred rows of three columns."""
    keys = np.arange(100 * number, 100 * number + 100)
    return pa.table({"id": keys, "double": keys / 7, "name": [f"name {key}" for key in keys]})


def test_an_append(table: LanceTable, calls: Calls) -> None:
    table.append(rows(2))
    assert calls.counts == {
        # The data file, the copy of the transaction and the manifest: hidden, then under their names.
        "create": 3, "writev": 2, "write": 1, "replace": 2, "link": 1, "unlink": 1,
        # The data file and both folders are opened to be synced; the manifest is open.
        "open": 3, "fsync": 4,
        # Whether there are older files; whether there are two folders; which versions there are.
        "lstat": 2, "stat": 2, "scandir": 1,
    }  # fmt: skip
    # Each file in one piece: several pages, statistics, metadata.
    fragment = table.manifest.fragments[-1]
    path = Path(table.uri)
    (transaction,) = path.glob("_transactions/2-*.txn")
    manifest = min((path / "_versions").iterdir())
    assert calls.written == [fragment.files[0].size_bytes, transaction.stat().st_size, manifest.stat().st_size]


def test_an_append_that_need_not_outlive_the_machine(table: LanceTable, calls: Calls) -> None:
    other = LanceTable.open(table.uri, durability="rename")
    calls.counts.clear()
    other.append(rows(2))
    assert (calls.counts["fsync"], calls.counts["open"], calls.counts["create"]) == (0, 0, 3)
    assert calls.counts.total() == 15


def test_a_delete(table: LanceTable, calls: Calls) -> None:
    table.delete("id < 3")
    # A deletion file in place of the data file.
    assert {name: calls.counts[name] for name in ("create", "fsync", "replace", "link")} == {
        "create": 3, "fsync": 4, "replace": 2, "link": 1,
    }  # fmt: skip


def test_a_commit_after_many_versions_asks_for_no_more(table: LanceTable, calls: Calls) -> None:
    found = []
    for number in range(2, VERSIONS):
        calls.counts.clear()
        calls.written.clear()
        table.append(rows(number))
        found.append((calls.counts.total(), calls.written[-1]))
    assert {total for total, _ in found} == {22}
    # A manifest grows by its fragments alone.
    grown = np.diff([size for _, size in found])
    assert grown.max() <= 100


@pytest.mark.parametrize("num_versions", [2, VERSIONS])
def test_calls_of_python_of_a_commit(table: LanceTable, num_versions: int) -> None:
    for number in range(2, num_versions):
        table.append(rows(number))
    other = LanceTable.open(table.uri, durability="rename")
    other.append(rows(50))
    found: Counter[str] = Counter()
    inside: list[Any] = []

    def look(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_qualname == "commit" and not inside:
            inside.append(frame)
        elif event == "return" and inside and frame is inside[0]:
            inside.clear()
        if inside and event in ("call", "c_call"):
            found[code.co_qualname if event == "call" else argument.__qualname__] += 1

    # What is collected of other tests is called too.
    gc.collect()
    gc.disable()
    sys.setprofile(look)
    try:
        other.append(rows(51))
    finally:
        sys.setprofile(None)
        gc.enable()
    # Beside these, names of older versions are compared.
    per_version = found.pop("len") + found.pop("str.removesuffix") + found.pop("str.isdecimal")
    per_version += found.pop("DirEntry.is_file")
    assert found.total() <= 443
    assert per_version <= 50 + 5 * num_versions


def test_a_cleanup_reads_each_manifest_once(table: LanceTable, calls: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2, VERSIONS):
        table.append(rows(number))
    opened: list[str] = []
    read: Counter[bytes] = Counter()
    begin, read_files = LocalSource.__init__, small_files.read_files

    def open_alone(source: LocalSource, path: str, **keywords: Any) -> None:
        opened.append(path)
        begin(source, path, **keywords)

    def read_together(names: list[bytes], *arguments: Any) -> None:
        read.update(names)
        read_files(names, *arguments)

    monkeypatch.setattr(LocalSource, "__init__", open_alone)
    monkeypatch.setattr(small_files, "read_files", read_together)
    calls.counts.clear()
    report = table.cleanup(older_than=datetime.timedelta())
    assert len(report.versions) == VERSIONS - 1
    assert (len(read), read.total(), opened) == (VERSIONS, VERSIONS, [])
    # Twice the folder of versions, that of branches, which do not exist, and once those of tags, trees, data,
    # transactions, and the table itself.
    assert calls.counts["scandir"] == 9
    calls.counts.clear()
    table.cleanup(older_than=datetime.timedelta(), dry_run=False)
    # Manifests, copies of transactions, and the mark that says which versions go.
    assert calls.counts["remove"] == 2 * (VERSIONS - 1) + 1


def test_calls_of_a_cleanup_grow_by_its_versions_alone(tmp_path: Path) -> None:
    def calls_of(num_versions: int) -> int:
        table = LanceTable.create(tmp_path / f"{num_versions}", rows(0), durability="rename")
        for number in range(1, num_versions):
            table.append(rows(number))
        table.cleanup(older_than=datetime.timedelta())
        total = 0

        def look(frame: Any, event: str, argument: Any) -> None:
            nonlocal total
            total += event in ("call", "c_call")

        sys.setprofile(look)
        try:
            table.cleanup(older_than=datetime.timedelta(), dry_run=False)
        finally:
            sys.setprofile(None)
        return total

    few, some, many = (calls_of(number) for number in (10, 40, 70))
    # A version is read, and its manifest and copy of its transaction are removed: 370 calls.
    assert (some - few) / 30 <= 380
    # Fragments that it names take none: every version names those of all before.
    assert abs((many - some) - (some - few)) <= 60
