"""Pages of chunks that read their own index natively: the rows, and the refusals, of the layouts in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from second_reader import read_twice

from lance_arrow import LanceFile, write_table
from lance_arrow.engine import NativePage
from lance_arrow.errors import LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.settings import Settings
from lance_arrow.spi.layouts import BufferRole, RowRanges

ROWS = 3000
VERSIONS = ("2.1", "2.2", "2.3")


def table() -> pa.Table:
    rng = np.random.default_rng(20)
    words = np.array(["alpha", "beta", "", "a longer word", "delta"])
    return pa.table(
        {
            "plain": rng.random(ROWS),
            "small": pa.array(rng.integers(0, 9, ROWS), mask=rng.random(ROWS) < 0.1),
            "lists": pa.array([list(range(one % 5)) if one % 7 else None for one in range(ROWS)], pa.list_(pa.int32())),
            "words": pa.array(words[rng.integers(0, 5, ROWS)], mask=rng.random(ROWS) < 0.2),
            "numbers": pa.array(rng.choice([10**15, -(10**17), 10**18 + 7], ROWS)),
            "nested": pa.array([[["x", "yy"][: one % 3]] * (one % 2) for one in range(ROWS)]),
        }
    )


@pytest.fixture(scope="module", params=VERSIONS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("indices") / "table.lance"
    write_table(table(), made, file_version=request.param, checksums=False, page_bytes=8_000)
    return made


def indices(path: Path) -> Iterator[tuple[int, int, int]]:
    """Column, place and size of each buffer of a page that is no data."""
    with LanceFile(path) as file:
        reader: RowReader = file._rows
        for leaf in (leaf for root in reader.roots for leaf in root.leaves()):
            (meta,) = reader.metas([leaf])
            for number, page in enumerate(meta.pages):
                layout = reader.bound(leaf.page_leaf, meta, number)
                for buffer, role in enumerate(layout.roles(page.facts)):
                    if role is not BufferRole.DATA:
                        yield leaf.column, int(page.buffer_offsets[buffer]), int(page.buffer_sizes[buffer])


def test_rows_are_those_of_the_table(path: Path) -> None:
    wanted = table()
    rows = np.array([0, 1, 17, 1500, 2998])
    with LanceFile(path) as file:
        assert file.take(rows).equals(wanted.take(rows))
        assert file.read().equals(wanted)
        assert file.take(rows).equals(wanted.take(rows))


def test_what_was_read_is_kept_and_counted(path: Path) -> None:
    runtime = Runtime(Settings(num_threads=1))
    with LanceFile(path, runtime=runtime) as file:
        file.take([5])
        held = [index for index in runtime.indices._held.values() if isinstance(index, NativePage)]
        assert held
        assert all(page.is_indexed and page.is_counted for page in held)
        assert runtime.indices.held_bytes >= sum(page.nbytes for page in held) > 0
        # The second read notes where the pages are.
        file.take([6])
        before = runtime.indices.held_bytes
        file.take([7])
        assert runtime.indices.held_bytes == before
    tight = Runtime(Settings(num_threads=1, index_cache_bytes=100))
    with LanceFile(path, runtime=tight) as file:
        for row in (5, 2000, 5):
            assert file.take([row]).equals(table().take([row]))
        assert tight.indices.held_bytes <= 100


def test_threads_share_a_page(path: Path) -> None:
    runtime = Runtime(Settings(num_threads=4))
    with LanceFile(path, runtime=runtime) as file:
        found = runtime.side_by_side(lambda row: file.take([row]), list(range(0, ROWS, 100)))
    assert pa.concat_tables(found).equals(table().take(list(range(0, ROWS, 100))))


def test_damaged_indices_are_refused_as_the_second_reader_does(path: Path, tmp_path: Path, whole_run: bool) -> None:
    """Bits of chunk tables, row indices and dictionaries flipped: the same rows, or the same error."""
    good = path.read_bytes()
    rng = np.random.default_rng(1)
    damaged = tmp_path / "damaged.lance"
    refused = 0
    places = [place for place in indices(path) if place[2]]
    for column, start, size in places:
        for _ in range(4 if whole_run else 2):
            content = bytearray(good)
            content[start + int(rng.integers(size))] ^= 1 << int(rng.integers(8))
            damaged.write_bytes(content)
            found = [outcome(damaged, column, natively) for natively in (True, False)]
            assert found[0] == found[1]
            refused += not isinstance(found[0], pa.RecordBatch)
    assert refused > len(places) * (1 if whole_run else 0.5)


def outcome(path: Path, column: int, natively: bool) -> pa.RecordBatch | tuple[object, ...]:
    """All rows of the column, or the error's class and place, by the engine or by the second reader."""
    runtime = Runtime(Settings(num_threads=1))
    with LanceFile(path, runtime=runtime if natively else read_twice(runtime)) as file:
        reader: RowReader = file._rows
        node = next(node for node in reader.roots if column in [leaf.column for leaf in node.leaves()])
        rows = RowRanges.one(0, ROWS)
        try:
            batches, _ = reader.read([node], rows)
        except LanceError as error:
            return type(error), error.column, error.page, error.byte_range
        (batch,) = batches
        return batch
