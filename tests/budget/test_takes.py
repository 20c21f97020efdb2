"""What a take costs: rounds of requests, and bytes beside those that hold the rows; for every layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from second_reader.chunk_index import chunk_table
from stores import CountingStore
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.io.source import LOCAL_COALESCING, REMOTE_COALESCING
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

ROWS, WIDE_ROWS = 20_000, 3_000
ZIPPED = {"lance-encoding:structural-encoding": "fullzip"}
SPARSE = {"lance-encoding:structural-encoding": "sparse"}
RNG = seeded("takes")


def none_at(every: int, values: list[Any]) -> list[Any]:
    return [None if i % every == 0 else value for i, value in enumerate(values)]


TEXTS = [f"text {i} " * (i % 5) for i in range(ROWS)]
LISTS = none_at(7, [[i + k for k in range(i % 6)] for i in range(ROWS)])
BLOBS = [b"x" * (1000 + i % 500) + b"%d" % i for i in range(WIDE_ROWS)]
CASES: dict[str, tuple[str, pa.Array, dict[str, str], str]] = {
    # version, values, options, what the description must say
    "chunks": ("2.2", pa.array(RNG.integers(0, 2**60, ROWS)), {}, "MiniBlockLayout(value"),
    "chunks of 2.1": ("2.1", pa.array(RNG.integers(0, 2**60, ROWS)), {}, "MiniBlockLayout(value"),
    "chunks with nulls": ("2.2", pa.array(none_at(7, RNG.integers(0, 2**60, ROWS).tolist())), {}, "def_compression"),
    "chunks of lists": ("2.1", pa.array(LISTS, pa.list_(pa.int64())), {}, "MiniBlockLayout(rep_compression"),
    "texts": ("2.2", pa.array(TEXTS), {}, "MiniBlockLayout(value_compression=Fsst"),
    "dictionary": ("2.2", pa.array([f"word {i:04}" for i in RNG.integers(0, 700, ROWS)]), {}, "dictionary=General"),
    "zipped fixed": (
        "2.2",
        pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(WIDE_ROWS * 600).astype(np.float32)), 600),
        {},
        "FullZipLayout(value_compression=FixedSizeList",
    ),
    "zipped variable": ("2.2", pa.array(BLOBS), ZIPPED, "details=BitsPerOffset"),
    "zipped lists": (
        "2.1",
        pa.array([[b] * (i % 3) for i, b in enumerate(BLOBS)]),
        ZIPPED,
        "EmptyableList, details=Bits",
    ),
    "constant": ("2.2", pa.array([5] * ROWS), {}, "ConstantLayout(layers=AllValidItem, inline_value)"),
    "constant with levels": ("2.2", pa.array([[7] * (i % 4) for i in range(ROWS)]), {}, "ConstantLayout(layers"),
    "nothing in lists": (
        "2.2",
        pa.array([[None] * (i % 4) for i in range(ROWS)], pa.list_(pa.int32())),
        {},
        "ConstantLayout(layers",
    ),
    "planar dense": ("2.3", pa.array(RNG.integers(0, 2**60, ROWS)), {}, "codec=Dense"),
    "planar sparse": ("2.3", pa.array(LISTS, pa.list_(pa.int64())), SPARSE, "codec=Sparse"),
    "planar sparse zipped": ("2.3", pa.array(none_at(5, BLOBS)), {**SPARSE, **ZIPPED}, "codec=Zipped"),
    "planar constant": ("2.3", pa.array([[7] * (i % 4) for i in range(ROWS)]), {}, "codec=Constant"),
}


class Page:
    """The only page of a column, and what takes of it need at least, told from its bytes and values."""

    def __init__(self, path: Path, array: pa.Array, version: str, encoding: str, buffers: list[list[int]]) -> None:
        self.array, self.buffers = array, buffers
        self.data = 1 if "MiniBlock" in encoding or "Chunked" in encoding else 0 if "Zip" in encoding else None
        self.index_bytes = sum(size for number, (_, size) in enumerate(buffers) if number != self.data)
        self.chunk_starts = self.value_starts = None
        if self.data == 1:
            position, size = buffers[0]
            words = np.frombuffer(path.read_bytes()[position : position + size], np.uint8)
            if pa.types.is_list(array.type):
                # Source: a chunk word holds the chunk's 8-byte units less one above 4 bits for its values.
                units = (words.view("<u2" if version == "2.1" else "<u4") >> 4).astype(np.int64) + 1
                self.max_chunk_bytes = int(units.max()) * 8
            else:
                self.chunk_starts, self.value_starts = chunk_table(words, version != "2.1", len(array), buffers[1][1])

    def needed(self, rows: list[int]) -> int:
        """Bytes of the chunks, or of the entries, that hold the rows; at most."""
        if self.data is None:
            return 0
        if self.chunk_starts is not None:
            chunks = np.unique(np.searchsorted(self.value_starts, rows, side="right") - 1)
            return int((self.chunk_starts[chunks + 1] - self.chunk_starts[chunks]).sum())
        if self.data == 1:
            # A list may lie in two chunks.
            return 2 * len(rows) * self.max_chunk_bytes
        # Entries: values with a few bytes of length and levels before each, and for each empty list.
        return sum(self.array.slice(row, 1).nbytes + 24 for row in rows)


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Any:
    version, array, options, expected = CASES[request.param]
    field = pa.field("x", array.type, metadata=options or None)
    place = tmp_path_factory.mktemp("takes") / "file.lance"
    path = witness.write(pa.table([array], schema=pa.schema([field])), place, version)
    pages = [page for column in witness.describe(path)["columns"] for page in column]
    assert expected in pages[0]["encoding"], pages[0]["encoding"]
    return path, array, [Page(path, array, version, page["encoding"], page["buffers"]) for page in pages]


def spread(array: pa.Array, count: int) -> list[int]:
    """Rows as far apart as they can be, back to front."""
    return np.linspace(len(array) - 1, 1, count).astype(int).tolist()


def forgetful(**settings: Any) -> lance_arrow.Runtime:
    """A runtime that has no memory for bytes of far files."""
    own = lance_arrow.Settings(memory_budget_bytes=1, **settings)
    return lance_arrow.Runtime(own, plugins=default_runtime().plugins)


def test_bytes_that_were_read_are_not_asked_for_again(case: Any) -> None:
    path, array, _ = case
    rows = spread(array, 3)
    store = CountingStore({"f": path.read_bytes()})
    with lance_arrow.LanceFile("f", filesystem=store, runtime=lance_arrow.Runtime()) as file:
        first = file.take(rows)
        store.waves.clear()
        assert file.take(rows).equals(first)
        assert not store.waves


@pytest.mark.parametrize("count", [1, 10, 500])
def test_two_waves_then_one(case: Any, count: int) -> None:
    path, array, _ = case
    store = CountingStore({"f": path.read_bytes()})
    with lance_arrow.LanceFile("f", filesystem=store, runtime=lance_arrow.Runtime()) as file:
        store.waves.clear()
        rows = spread(array, count)
        assert file.take(rows)["x"].to_pylist() == [array[row].as_py() for row in rows]
        assert len(store.waves) <= 2, "indices, then data"
        store.waves.clear()
        rows = [row - 1 for row in rows]
        assert file.take(rows)["x"].to_pylist() == [array[row].as_py() for row in rows]
        assert len(store.waves) <= 1, "indices are kept"


@pytest.mark.parametrize("count", [1, 10])
def test_bytes_on_a_local_disk(case: Any, receipts: list[ReadReport], count: int) -> None:
    path, array, pages = case
    rows = spread(array, count)
    needed = sum(page.needed(rows) for page in pages)
    index = sum(page.index_bytes for page in pages)
    # Holes up to 4 KiB are read through; there are no more of them than ranges.
    holes = LOCAL_COALESCING.max_gap_bytes * (len(rows) + sum(len(page.buffers) for page in pages))
    with lance_arrow.LanceFile(path) as file:
        file.take(rows)
        file.take(rows)
    first, again = receipts
    metadata_bytes = 4 << 10
    assert first.requested_bytes <= needed + index + metadata_bytes
    assert first.fetched_bytes <= needed + index + metadata_bytes + holes
    assert again.requested_bytes <= needed
    assert again.fetched_bytes <= needed + holes


def test_bytes_on_an_object_store(case: Any, receipts: list[ReadReport]) -> None:
    """Rows further apart than a joined hole cost their own bytes; nearer ones at most a hole each."""
    path, array, pages = case
    rows = spread(array, 3)
    store = CountingStore({"f": path.read_bytes()})
    with lance_arrow.LanceFile("f", filesystem=store, runtime=forgetful()) as file:
        file.take(rows)
        store.waves.clear()
        file.take(rows)
    needed = sum(page.needed(rows) for page in pages)
    assert receipts[-1].requested_bytes <= needed
    assert receipts[-1].fetched_bytes == store.bytes_fetched
    assert store.bytes_fetched <= needed + (len(rows) - 1) * REMOTE_COALESCING.max_gap_bytes
    if needed and pages[0].buffers[pages[0].data][1] > 5 * REMOTE_COALESCING.max_gap_bytes:
        # The last row may lie in the end of the file, which came with its footer.
        (wave,) = store.waves
        assert len(wave) in (2, 3)
        assert store.bytes_fetched <= needed


def test_many_columns_share_the_waves(witness: Witness, tmp_path: Path) -> None:
    """All layouts in one file: still two waves, then one."""
    names = [name for name, (version, array, *_) in CASES.items() if version == "2.2" and len(array) == ROWS]
    arrays = [CASES[name][1] for name in names]
    path = witness.write(pa.table(arrays, names), tmp_path / "file.lance", "2.2")
    store = CountingStore({"f": path.read_bytes()})
    with lance_arrow.LanceFile("f", filesystem=store, runtime=lance_arrow.Runtime()) as file:
        store.waves.clear()
        file.take([5, 19_000, 7])
        assert len(store.waves) == 2
        file.take([6, 18_000])
        assert len(store.waves) == 3


def test_indices_stay_within_their_budget(witness: Witness, tmp_path: Path) -> None:
    """Indices above the budget are read again, and never held: a take stays right and costs its second wave again."""
    lists = pa.array([[7] * (i % 4) for i in range(ROWS)])
    numbers = pa.array(RNG.integers(0, 2**60, ROWS))
    path = witness.write(pa.table({"lists": lists, "numbers": numbers}), tmp_path / "file.lance", "2.2")
    budget_bytes = 1 << 10
    runtime = forgetful(index_cache_bytes=budget_bytes)
    store = CountingStore({"f": path.read_bytes()})
    with lance_arrow.LanceFile("f", filesystem=store, runtime=runtime) as file:
        for _ in range(2):
            store.waves.clear()
            got = file.take([1, 19_999])
            assert got.to_pydict() == {
                "lists": [[7], [7] * 3],
                "numbers": [numbers[1].as_py(), numbers[19_999].as_py()],
            }
            assert len(store.waves) == 2
            assert runtime.indices.held_bytes <= budget_bytes
