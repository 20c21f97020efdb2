"""Scans of far files: how many requests, for how many bytes; the reader in front of them does not matter."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from far_trees import TreeStore
from stores import CountingStore
from values import seeded

import lance_arrow
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import ReadReport

ROWS = 600_000
REQUEST = 2 << 20
PATH = "/far.lance"


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("far")
    wide = {f"w{k}": pa.array(rng.integers(0, 2**62, ROWS), mask=rng.random(ROWS) < 0.1) for k in range(3)}
    text = pa.array([f"row {v:x}" for v in rng.integers(0, 2**40, ROWS)])
    return pa.table({"id": np.arange(ROWS), **wide, "text": text, "flag": rng.random(ROWS) < 0.5})


@pytest.fixture(scope="module")
def written(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("far") / "far.lance"
    lance_arrow.write_table(table, path)
    return path.read_bytes()


@pytest.fixture
def store(written: bytes) -> CountingStore:
    return TreeStore({PATH: written})


def requests(store: CountingStore) -> list[tuple[int, int]]:
    return [one for wave in store.waves for one in wave]


def read(store: CountingStore, columns: list[str] | None) -> pa.Table:
    with lance_arrow.LanceFile(PATH, filesystem=store) as file:
        return file.read(columns=columns)


def streamed(store: CountingStore, columns: list[str] | None) -> pa.Table:
    with lance_arrow.LanceFile(PATH, filesystem=store) as file:
        return pa.Table.from_batches(file.to_batches(columns=columns))


def scanned(store: CountingStore, columns: list[str] | None) -> pa.Table:
    return lance_arrow.dataset(PATH, filesystem=store).to_table(columns=columns)


def scanned_by_pyarrow(store: CountingStore, columns: list[str] | None) -> pa.Table:
    return pads.dataset(PATH, filesystem=store, format=lance_arrow.LanceFormat()).to_table(columns=columns)


@pytest.mark.cover(1)
@pytest.mark.parametrize("scan", [read, streamed, scanned, scanned_by_pyarrow])
@pytest.mark.parametrize("columns", [None, ["w1"]], ids=["all", "one"])
def test_a_scan_asks_for_each_byte_once(
    store: CountingStore, table: pa.Table, written: bytes, scan: Callable[..., pa.Table], columns: list[str] | None
) -> None:
    found = scan(store, columns)
    wanted = table if columns is None else table.select(columns)
    assert found.replace_schema_metadata(None).equals(wanted)
    stored = len(written) if columns is None else 8 * ROWS
    # Metadata at the end; requests of 2 MiB, of which some end with a page or a run of pages.
    assert len(requests(store)) <= 3 + 2 * stored / REQUEST
    assert store.bytes_fetched <= 1.05 * stored + (256 << 10)


@pytest.mark.parametrize("scan", [read, streamed, scanned])
def test_receipts_tell_the_requests(store: CountingStore, receipts: list[ReadReport], scan: Any) -> None:
    scan(store, ["w0", "text"])
    (report,) = (one for one in receipts if one.rows)
    opened = [one for one in requests(store) if one[1] == len(store.files[PATH])]
    assert report.requests == len(requests(store)) - len(opened)
    assert report.fetched_bytes == store.bytes_fetched - sum(b - a for a, b in opened)


def test_a_table_reads_its_files_alike(table: pa.Table, tmp_path: Path) -> None:
    made = lance_arrow.LanceTable.create(tmp_path / "t.lance", table)
    made.delete("id % 1000 = 3")
    files = {str(one): one.read_bytes() for one in (tmp_path / "t.lance").rglob("*") if one.is_file()}
    (data,) = (name for name in files if "/data/" in name)
    expected = made.to_table()
    for take in ("to_table", "to_batches", "dataset"):
        far = TreeStore(files)
        opened = lance_arrow.LanceTable.open(str(tmp_path / "t.lance"), filesystem=far)
        if take == "dataset":
            found = opened.dataset().to_table()
        else:
            rows = getattr(opened, take)()
            found = rows if isinstance(rows, pa.Table) else pa.Table.from_batches(rows)
        assert found.equals(expected), take
        assert len(requests(far)) <= 8 + 2 * len(files[data]) / REQUEST, take


def test_a_stream_that_is_left_early_has_asked_for_the_windows_that_were_begun(
    store: CountingStore, written: bytes
) -> None:
    runtime = Runtime(Settings(num_threads=1))
    with lance_arrow.LanceFile(PATH, filesystem=store, runtime=runtime) as file:
        batches = file.to_batches(columns=["w0", "w1", "w2"])
        first = next(batches)
        batches.close()
        window = first.num_rows / ROWS * 3 * 8 * ROWS
        time.sleep(0.1)
        assert first.num_rows < ROWS / 3
        # The window, and to the end of its last request in each column.
        assert store.bytes_fetched <= window + 3 * REQUEST + (256 << 10)


def test_a_filter_asks_ahead_for_its_own_columns(store: CountingStore, table: pa.Table, written: bytes) -> None:
    with lance_arrow.LanceFile(PATH, filesystem=store) as file:
        opened = store.bytes_fetched
        found = file.read(filter=pc.field("w0") < 2**45)
        assert found.num_rows == len(table.filter(pc.field("w0") < 2**45))
        assert store.bytes_fetched - opened <= 1.1 * len(written)
        before = store.bytes_fetched
        assert file.count_rows(pc.field("w1") < 2**61) == len(table.filter(pc.field("w1") < 2**61))
        assert store.bytes_fetched - before <= 8 * 1.1 * ROWS


def test_a_small_budget_holds_less_and_finds_the_same(store: CountingStore, table: pa.Table, written: bytes) -> None:
    for budget in (1 << 20, 64 << 20, 256 << 20):
        runtime = Runtime(Settings(memory_budget_bytes=budget))
        store.waves.clear()
        with lance_arrow.LanceFile(PATH, filesystem=store, runtime=runtime) as file:
            found = pa.Table.from_batches(file.to_batches())
        assert found.replace_schema_metadata(None).equals(table), budget
        if budget > 1 << 20:
            assert store.bytes_fetched <= 1.3 * len(written), budget


class SlowStore(TreeStore):
    """A store whose answers wait for a signal, and which counts the threads that wait."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.gate = threading.Event()
        self.most = self.now = 0

    def cat_ranges(self, *args: Any, **kwargs: Any) -> list[bytes]:
        self.now += 1
        self.most = max(self.most, self.now)
        self.gate.wait(10)
        self.now -= 1
        return super().cat_ranges(*args, **kwargs)


def test_several_requests_are_in_flight(written: bytes) -> None:
    store = SlowStore({PATH: written})
    store.gate.set()
    with lance_arrow.LanceFile(PATH, filesystem=store) as file:
        store.gate.clear()
        threading.Timer(0.3, store.gate.set).start()
        assert file.read().num_rows == ROWS
    assert 4 <= store.most <= 32


def test_all_pages_are_asked_for_before_the_first_is_here(table: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    lance_arrow.LanceTable.create(path, table)
    store = SlowStore({str(one): one.read_bytes() for one in path.rglob("*") if one.is_file()})
    store.gate.set()
    opened = lance_arrow.LanceTable.open(str(path), filesystem=store)
    opened.to_table(columns=["flag"])
    store.gate.clear()
    waiting = []

    def answer() -> None:
        waiting.append(store.now)
        store.gate.set()

    threading.Timer(0.5, answer).start()
    assert opened.to_table(columns=["w0"]).num_rows == ROWS
    assert waiting == [-(-8 * ROWS // REQUEST)]


@pytest.fixture(autouse=True)
def _no_threads_are_left() -> Iterator[None]:
    yield
    for _ in range(100):
        if not any(one.name.startswith("lance-arrow-far") for one in threading.enumerate()):
            return
        time.sleep(0.05)
    raise AssertionError("threads of requests outlive their scan")
