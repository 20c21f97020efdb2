"""Takes of a row ask for index and row together: few bytes where chunks have the same size, more elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow import LanceFile

ROWS = 300_000
BLOCK_BYTES = 16 << 10
WORD_BYTES = 4
"""Of each chunk, in the table of chunks."""
CHUNK_ROWS = 1024
INDEX_BYTES = WORD_BYTES * (ROWS // CHUNK_ROWS + 1)
SOME_ROWS = range(60_000, 220_000, 20_000)
"""So far from the ends of the file that no request reads the index, or the end of the file, with them."""
RANDOM = np.random.default_rng(41)


def packed() -> pa.Array:
    """Chunks of 20 bits a value."""
    return pa.array(RANDOM.integers(0, 1 << 20, ROWS))


def few_items() -> pa.Array:
    """Indices of 10 bits, since nearly all items occur in the first chunk."""
    return pa.array([f"word {one}" for one in RANDOM.integers(0, 1000, ROWS).tolist()])


def more_items_by_and_by() -> pa.Array:
    """Indices of more and more bits: rows lie up to 12 KB from where rows of equal bytes would."""
    numbers = np.arange(ROWS) // 100 + RANDOM.integers(0, 10, ROWS)
    return pa.array([f"a text that takes long enough {one:06}" for one in numbers.tolist()])


def with_nulls() -> pa.Array:
    """Levels, whose bytes follow the data."""
    return pa.array(RANDOM.integers(0, 1 << 20, ROWS), mask=RANDOM.random(ROWS) < np.arange(ROWS) / ROWS / 50)


def texts() -> pa.Array:
    """Texts of 0 to 59 letters."""
    letters = "".join(map(chr, RANDOM.integers(97, 123, 4000).tolist()))
    return pa.array([letters[at : at + size] for at, size in RANDOM.integers((0, 0), (3000, 60), (ROWS, 2)).tolist()])


KINDS = (packed, few_items, more_items_by_and_by, with_nulls, texts)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("bucket")
    for kind in KINDS:
        lance_arrow.write_table(pa.table({"x": kind()}), folder / f"{kind.__name__}.lance")
    with bucket(folder) as started:
        yield started


def taken(server: Bucket, name: str, row: int) -> tuple[int, int]:
    """Return requests and bytes of a take of one row."""
    path = f"{name}.lance"
    expected = lance_arrow.read_table(Path(server.folder) / path).slice(row, 1)
    with LanceFile(path, filesystem=server.store()) as file:
        server.requests.clear()
        server.sent.clear()
        assert file.take([row]).equals(expected)
    return len(server.requests), sum(server.sent)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_guesses_are_right(server: Bucket, kind: Callable[[], pa.Array]) -> None:
    # The index and the row; a large dictionary by itself. Another one would be for a row that lies elsewhere.
    most = 3 if kind is more_items_by_and_by else 2
    assert max(taken(server, kind.__name__, row)[0] for row in SOME_ROWS) <= most


@pytest.mark.parametrize(("kind", "bits"), [(packed, 20), (few_items, 10)])
def test_chunks_that_are_alike_are_guessed_by_the_chunk(
    server: Bucket, kind: Callable[[], pa.Array], bits: int
) -> None:
    chunk_bytes = bits * CHUNK_ROWS // 8 + 16
    found = np.array([taken(server, kind.__name__, row)[1] for row in SOME_ROWS])
    # Two chunks on both sides begin and end within blocks, which are read whole.
    assert found.max() <= INDEX_BYTES + (4 * chunk_bytes // BLOCK_BYTES + 2) * BLOCK_BYTES
    # 16 KiB on both sides would touch three blocks.
    assert found.mean() < INDEX_BYTES + 2.5 * BLOCK_BYTES
