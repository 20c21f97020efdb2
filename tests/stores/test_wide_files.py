"""Files whose metadata is longer than the end that is read of others: they are opened together all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow import LanceTable, receipts
from lance_arrow.container import joined_files
from lance_arrow.scan.groups import group_sizes

NUM_FILES, NUM_ROWS, NUM_COLUMNS = 6, 250, 600
WANTED = ["c007", "c599"]
WAIT_SECONDS = 0.03


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("wide")
    random = np.random.default_rng(3)
    rows = pa.table({f"c{number:03}": random.random(NUM_FILES * NUM_ROWS) for number in range(NUM_COLUMNS)})
    LanceTable.create(folder / "table", rows, max_rows_per_file=NUM_ROWS)
    (folder / "files").mkdir()
    for number in range(NUM_FILES):
        lance_arrow.write_table(rows.slice(number * NUM_ROWS, NUM_ROWS), folder / "files" / f"{number}.lance")
    with bucket(folder, seconds=WAIT_SECONDS) as started:
        yield started


def asked_files(server: Bucket) -> list[str]:
    """Paths of data files, one for each request."""
    return [one for one in server.requests if one.startswith("GET") and one.endswith(".lance")]


DOORS: dict[str, Callable[[Any], Any]] = {
    "table": lambda store: LanceTable.open("table", filesystem=store),
    "dataset": lambda store: lance_arrow.dataset("table", filesystem=store),
    "files": lambda store: lance_arrow.dataset("files", filesystem=store),
}


@pytest.fixture(params=list(DOORS))
def read(request: pytest.FixtureRequest, server: Bucket) -> Callable[..., pa.Table]:
    """Returns the wanted columns of all rows, which are those that are read near."""
    opened = DOORS[request.param]
    folder = server.folder / ("files" if request.param == "files" else "table")
    expected = lance_arrow.dataset(folder).to_table(WANTED)

    def wanted() -> pa.Table:
        source = opened(server.store())
        server.requests.clear()
        server.most_waiting = 0
        found = source.to_table(WANTED)
        assert found.equals(expected)
        return found

    return wanted


def test_ends_are_as_long_as_the_columns_are_many(server: Bucket, read: Callable[[], pa.Table]) -> None:
    read()
    assert len(asked_files(server)) <= (1 + len(WANTED)) * NUM_FILES
    assert server.most_waiting >= NUM_FILES


def test_the_rest_of_longer_metadata_is_read_at_once(
    server: Bucket, read: Callable[[], pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_sizes, "_COLUMN_BYTES", 0)
    read()
    assert len(asked_files(server)) <= (2 + len(WANTED)) * NUM_FILES
    assert server.most_waiting >= NUM_FILES


@pytest.mark.parametrize(
    ("module", "name"), [(group_sizes, "_MOST_END_BYTES"), (joined_files, "_MOST_WIDENED")], ids=["one", "all"]
)
def test_too_much_metadata_is_read_for_wanted_columns_alone(
    module: Any, name: str, server: Bucket, read: Callable[[], pa.Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_sizes, "_COLUMN_BYTES", 0)
    monkeypatch.setattr(module, name, 1 << 16)
    read()
    # Each file waits for its metadata, but none for that of another.
    assert server.most_waiting >= NUM_FILES


def test_near(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = LanceTable.open(server.folder / "table").to_table(WANTED)
    monkeypatch.setattr(group_sizes, "_COLUMN_BYTES", 0)
    for name in ("table", "files"):
        assert lance_arrow.dataset(server.folder / name).to_table(WANTED).equals(expected)
        assert lance_arrow.dataset(server.folder / name).count_rows("c007 < 0.5") == sum(
            value < 0.5 for value in expected["c007"].to_pylist()
        )


@pytest.mark.parametrize("column_bytes", [0, 256])
def test_receipts_count_each_request(column_bytes: int, server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_sizes, "_COLUMN_BYTES", column_bytes)
    table = LanceTable.open("table", filesystem=server.store())
    server.requests.clear()
    server.sent.clear()
    with receipts() as found:
        table.to_table(WANTED)
    assert sum(one.requests for one in found) == len(server.requests)
    assert sum(one.fetched_bytes for one in found) == sum(server.sent)
