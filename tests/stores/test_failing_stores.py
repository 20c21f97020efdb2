"""Stores that fail: each read is right or a located error in time, and no commit is lost or made twice.

`nox -s far_faults` does the same at length.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from failing_stores import AVAILABLE, CLIENTS, DOORS, run_commits, run_reads, write_rows
from faulty_bucket import PASSING, FaultyBucket, faulty_bucket
from swapped import run_swaps

import lance_arrow
from lance_arrow import LanceFile, LanceTable, Runtime, Settings
from lance_arrow.errors import StoreError, StoreRefusedError, StoreTimeoutError, TruncatedReadError, UnsupportedError

DEADLINE_SECONDS = 10.0
GIVEN_UP: dict[str, Any] = {
    "busy": StoreError,
    "throttled": StoreError,
    "broken": StoreError,
    "expired": StoreError,
    "denied": StoreRefusedError,
    "reset": StoreError,
    "cut": StoreError,
    "short": TruncatedReadError,
    "long": (TruncatedReadError, UnsupportedError),
    "elsewhere": StoreError,
    "whole": (StoreError, UnsupportedError),
}
OPENS: dict[str, Callable[[str, Any], pa.Table]] = {
    "bare": lambda path, filesystem: LanceFile(path, filesystem=filesystem).read(),
    "dataset": lambda path, filesystem: lance_arrow.dataset(path, filesystem=filesystem).to_table(),
    "table": lambda path, filesystem: LanceTable.open(path, filesystem=filesystem).to_table(),
}
INSTALLED = [
    pytest.param(name, marks=pytest.mark.skipif(name not in AVAILABLE, reason=f"{name} is not installed"))
    for name in CLIENTS
]
OF_BODIES = ("cut", "short", "long", "elsewhere", "whole")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FaultyBucket]:
    write_rows(tmp_path)
    with faulty_bucket(tmp_path) as made:
        yield made


@pytest.mark.share(2)
@pytest.mark.cover(2)
@pytest.mark.parametrize("door", ["bare", "dataset", "table"])
@pytest.mark.parametrize("client", INSTALLED)
@pytest.mark.parametrize("kind", GIVEN_UP)
def test_a_fault_that_stays_is_given_up(
    kind: str, client: str, door: str, server: FaultyBucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    if (client, door) == ("http", "table"):
        pytest.skip("servers of HTTP list no folders")
    monkeypatch.setenv("LANCE_ARROW_READ_ATTEMPTS", "2")
    filesystem, before = CLIENTS[client](server)
    name, _ = DOORS[door]
    server.kinds, server.share = (kind,), 1.0
    if kind in OF_BODIES:
        server.only = "GET"
    begun = time.monotonic()
    with pytest.raises(GIVEN_UP[kind]) as caught:
        OPENS[door](f"{before}{name}", filesystem)
    assert time.monotonic() - begun < DEADLINE_SECONDS
    assert name.partition(".")[0] in str(caught.value)
    assert "secret" not in str(caught.value)
    if kind in OF_BODIES and door == "bare":
        assert caught.value.byte_range is not None


@pytest.mark.cover(1)
@pytest.mark.parametrize("client", INSTALLED)
@pytest.mark.parametrize("kind", PASSING)
def test_a_fault_that_passes_is_mended(kind: str, client: str, server: FaultyBucket) -> None:
    """The first range has the fault, and no other request."""
    filesystem, before = CLIENTS[client](server)
    file = LanceFile(f"{before}bare.lance", filesystem=filesystem)
    server.kinds, server.share, server.only = (kind,), 1.0, "GET"
    server.after = lambda _: setattr(server, "share", 0.0)
    assert file.read(columns=["x"])["x"].equals(lance_arrow.read_table(server.folder / "bare.lance")["x"])
    assert server.given == {kind: 1}


@pytest.mark.parametrize("client", INSTALLED)
def test_a_silent_store_is_given_up_in_time(client: str, server: FaultyBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    filesystem, before = CLIENTS[client](server)
    server.kinds, server.share = ("silent",), 1.0
    with pytest.raises(StoreTimeoutError, match=r"within 0\.5 s.*LANCE_ARROW_READ_SECONDS") as caught:
        LanceFile(f"{before}bare.lance", filesystem=filesystem, runtime=Runtime(Settings(read_seconds=0.5)))
    assert "bare.lance" in str(caught.value.path)
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", "0.5")
    for open_it in (lance_arrow.dataset, LanceTable.open):
        begun = time.monotonic()
        with pytest.raises(StoreTimeoutError):
            open_it(f"{before}table", filesystem=filesystem)
        assert time.monotonic() - begun < 4


def test_reads_are_right_or_located_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", str(DEADLINE_SECONDS))
    outcomes = run_reads(45, 3, DEADLINE_SECONDS)
    assert outcomes.wrong == []
    assert outcomes.num_late == 0
    assert outcomes.counts["right"] > outcomes.counts["located"] > 0, str(outcomes)


def test_no_commit_is_lost_or_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", str(DEADLINE_SECONDS))
    outcomes = run_commits(24, 5, DEADLINE_SECONDS)
    assert outcomes.wrong == []
    assert outcomes.num_late == 0
    assert outcomes.counts["made"] > 12, str(outcomes)


def test_rows_of_two_versions_are_never_mixed() -> None:
    counts = run_swaps(36, 1)
    assert counts["mixed"] == 0
    assert counts["changed"] > 6, counts
    assert counts["swapped"] > 18, counts
