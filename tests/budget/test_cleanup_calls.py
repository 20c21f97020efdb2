"""What a cleanup asks of the filesystem: few listings, manifests read together, one call for each removed file."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from call_counts import count_calls

from lance_arrow import LanceTable
from lance_arrow.io.local_source import LocalSource

VERSIONS = 40


def table(folder: Path, num_versions: int) -> LanceTable:
    made = LanceTable.create(folder, pa.table({"a": [1, 2, 3]}))
    for _ in range(num_versions - 2):
        made.append(pa.table({"a": [4]}))
    made.overwrite(pa.table({"a": [5]}))
    return made


def calls_of(made: LanceTable, monkeypatch: pytest.MonkeyPatch, *, dry_run: bool) -> tuple[Counter[str], int]:
    """Clean up; return how often what was called, and how many files went."""
    found: Counter[str] = Counter()

    def counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            found[name] += 1
            return function(*arguments, **named)

        return call

    with monkeypatch.context() as patched:
        for name in ("scandir", "remove", "open", "stat", "fsync"):
            patched.setattr(os, name, counted(name, getattr(os, name)))
        patched.setattr(LocalSource, "__init__", counted("sources", LocalSource.__init__))
        report = made.cleanup(older_than=datetime.timedelta(), delete_unverified=True, dry_run=dry_run)
    return found, len(report.files)


def test_a_cleanup_takes_one_call_for_each_removed_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, few_files = calls_of(table(tmp_path / "few.lance", 5), monkeypatch, dry_run=False)
    many, many_files = calls_of(table(tmp_path / "many.lance", VERSIONS), monkeypatch, dry_run=False)
    # And one for the mark that says which versions go.
    assert few["remove"] == few_files + 1
    assert many["remove"] == many_files + 1
    assert many_files > 2 * VERSIONS - 4
    # Everything else does not grow with the history: manifests are read by one native call.
    del few["remove"], many["remove"]
    assert many == few
    assert many["sources"] == many["fsync"] == 0
    assert many["open"] == 1
    assert many["scandir"] <= 15


def test_a_dry_run_removes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table(tmp_path / "t.lance", 5)
    calls, num_files = calls_of(made, monkeypatch, dry_run=True)
    assert num_files > 4
    assert calls["remove"] == calls["sources"] == 0
    assert calls["scandir"] <= 10


def test_manifests_that_cannot_be_read_together_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = table(tmp_path / "t.lance", VERSIONS)
    monkeypatch.setattr("lance_arrow.manifests.manifest_contents.TAIL_BYTES", 10)
    calls, _ = calls_of(made, monkeypatch, dry_run=False)
    assert calls["sources"] == VERSIONS
    assert LanceTable.open(tmp_path / "t.lance").to_table().to_pydict() == {"a": [5]}


def test_a_further_version_takes_few_calls(tmp_path: Path) -> None:
    few, many = table(tmp_path / "few.lance", 5), table(tmp_path / "many.lance", VERSIONS)

    def calls(made: LanceTable) -> int:
        return count_calls(lambda: made.cleanup(older_than=datetime.timedelta(), delete_unverified=True, dry_run=False))

    calls(table(tmp_path / "first.lance", 5))
    # 318 before: an object for each fragment of each version.
    assert (calls(many) - calls(few)) / (VERSIONS - 5) <= 215
