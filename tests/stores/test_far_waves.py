"""Operations on many files of a store: requests for several files are under way at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bucket_server import Bucket, bucket

import lance_arrow
from lance_arrow import LanceFormat, LanceTable, runtime
from lance_arrow.integrations.file_rows import FileRows
from lance_arrow.io.obstore_filesystem import as_filesystem

NUM_FILES, NUM_ROWS = 16, 500
TOTAL = NUM_FILES * NUM_ROWS
WAIT_SECONDS = 0.03
READING, WRITING = 4, 3
"""How many requests wait at once at least: of reads, and of writes, which are sent while the next file is encoded."""


def rows() -> pa.Table:
    random = np.random.default_rng(2)
    return pa.table({"id": np.arange(TOTAL), "x": random.random(TOTAL), "s": [f"v{one % 97}" for one in range(TOTAL)]})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    folder = tmp_path_factory.mktemp("waves")
    table = LanceTable.create(folder / "table", rows(), max_rows_per_file=NUM_ROWS, enable_stable_row_ids=True)
    table.delete("id % 10 = 3")
    table.delete("id % 100 = 7")
    (folder / "files").mkdir()
    for number in range(NUM_FILES):
        lance_arrow.write_table(rows().slice(number * NUM_ROWS, NUM_ROWS), folder / "files" / f"{number:02}.lance")
    with bucket(folder, seconds=WAIT_SECONDS) as started:
        yield started


def table(store: Any) -> LanceTable:
    return LanceTable.open("table", filesystem=store)


def of_table(store: Any) -> lance_arrow.LanceDataset:
    return lance_arrow.dataset("table", filesystem=store)


def of_files(store: Any) -> lance_arrow.LanceDataset:
    return lance_arrow.dataset("files", filesystem=store)


def of_pyarrow(store: Any) -> pads.FileSystemDataset:
    return pads.dataset("files", filesystem=as_filesystem(store), format=LanceFormat())


FIRST = {"order_by": [("x", "descending")], "limit": 5}
READS: dict[str, Callable[[Any], object]] = {
    "count": lambda store: table(store).count_rows("x < 0.1"),
    "column": lambda store: table(store).to_table(["x"]),
    "take": lambda store: table(store).take(list(range(0, 7000, 100))),
    "order": lambda store: table(store).to_table(["id"], **FIRST),
    "changes": lambda store: sum(batch.num_rows for batch in table(store).changes(2)),
    "statistics": lambda store: of_table(store).statistics("x"),
    "describe": lambda store: of_table(store).describe(["x"]),
    "plan": lambda store: of_table(store).explain("x < 0.1"),
    "verify": lambda store: lance_arrow.verify("table", filesystem=store).ok,
    "files: count": lambda store: of_files(store).count_rows("x < 0.1"),
    "files: rows": lambda store: of_files(store).count_rows(),
    "files: all": lambda store: of_files(store).to_table(),
    "files: take": lambda store: of_files(store).take(list(range(0, 7000, 100))),
    "files: order": lambda store: of_files(store).to_table(["id"], **FIRST),
    "files: statistics": lambda store: of_files(store).statistics("x"),
    "files: plan": lambda store: of_files(store).explain("x < 0.1"),
    "files: schemas": lambda store: lance_arrow.dataset("files", filesystem=store, unify_schemas=True).schema,
    "files: engine": lambda store: list(FileRows(of_files(store)).batches(["x"], None, NUM_ROWS, wants_all=False)[1]),
    "files: verify": lambda store: lance_arrow.verify("files", filesystem=store).ok,
    "pyarrow: count": lambda store: of_pyarrow(store).count_rows(filter=pads.field("x") < 0.1),
    "pyarrow: rows": lambda store: of_pyarrow(store).count_rows(),
    "pyarrow: column": lambda store: of_pyarrow(store).to_table(["x"]),
}


@pytest.mark.parametrize("name", READS)
def test_reads(name: str, server: Bucket) -> None:
    store = server.store()
    server.most_waiting = 0
    READS[name](store)
    assert server.most_waiting >= READING


WRITES: dict[str, Callable[[LanceTable], object]] = {
    "delete": lambda found: found.delete("id % 10 = 5"),
    "update": lambda found: found.update({"x": "x + 1"}, "id % 100 = 2"),
    "compact": lambda found: found.compact(target_rows_per_fragment=2000),
    "index": lambda found: found.create_zone_map("x"),
    "column": lambda found: found.add_columns({"y": "x * 2"}),
    "append": lambda found: found.append(rows(), max_rows_per_file=NUM_ROWS),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str, server: Bucket) -> None:
    store = server.store()
    path = f"written {name}"
    LanceTable.create(path, rows(), max_rows_per_file=NUM_ROWS, filesystem=store).delete("id % 10 = 3")
    server.most_waiting = 0
    WRITES[name](LanceTable.open(path, filesystem=store))
    assert server.most_waiting >= WRITING
    found = LanceTable.open(path, filesystem=store)
    near = LanceTable.open(server.folder / path)
    assert found.to_table().equals(near.to_table())
    assert lance_arrow.verify(server.folder / path).ok


def test_fragments_keep_their_order(server: Bucket) -> None:
    made = LanceTable.create("ordered", rows(), max_rows_per_file=NUM_ROWS, filesystem=server.store())
    assert made.to_table()["id"].to_pylist() == list(range(TOTAL))
    ids = [fragment.id for fragment in made._reader.fragments]
    assert ids == list(range(NUM_FILES))


def test_a_write_that_fails_leaves_no_file(server: Bucket) -> None:
    store = server.store(retry_config={"max_retries": 0})
    made = LanceTable.create("failing", rows().slice(0, 10), filesystem=store)
    before = sorted((server.folder / "failing" / "data").iterdir())
    sent: list[str] = []

    def refused(asked: str) -> int | None:
        is_data = asked.startswith("PUT") and "/data/" in asked
        sent.extend([asked] if is_data else [])
        return 403 if is_data and len(sent) > NUM_FILES // 2 else None

    server.refusal = refused
    try:
        with pytest.raises(lance_arrow.errors.LanceError):
            made.append(rows(), max_rows_per_file=NUM_ROWS)
    finally:
        server.refusal = lambda _: None
    assert sorted((server.folder / "failing" / "data").iterdir()) == before
    assert LanceTable.open("failing", filesystem=store).count_rows() == 10


def test_many_readers_at_once_do_not_wait_for_each_other(server: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fewer threads than groups that are opened at once: what a group reads besides must not need a thread of its own.
    monkeypatch.setattr(runtime, "FAR_THREADS", 2)
    own = lance_arrow.Runtime(lance_arrow.Settings(num_threads=2))
    with ThreadPoolExecutor(6) as readers:
        counts = [readers.submit(_count_with, own, server) for _ in range(6)]
        assert {one.result(60) for one in counts} == {TOTAL - TOTAL // 10 - TOTAL // 100}


def _count_with(own: lance_arrow.Runtime, server: Bucket) -> int:
    reader = table(server.store())._reader
    reader._runtime = own
    groups = reader.groups(reader.projection(["x"]).nodes, None)
    opened = own.ahead(lambda numbers: groups.opened(numbers, None), [[n, n + 1] for n in range(0, 16, 2)], is_far=True)
    return sum(one.rows.num_rows for found in opened for one in found if not isinstance(one, list))
