"""Streams without a JVM: offsets over versions, admission, and one commit of each micro-batch whatever happens."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    InvalidArgumentError,
    TableNotFoundError,
    UnsupportedError,
    VersionNotFoundError,
)
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.stream_reader import LanceStreamReader
from lance_arrow.spark.stream_writer import BATCH_KEY, QUERY_KEY, LanceStreamWriter
from lance_arrow.spark.type_mapping import spark_schema
from lance_arrow.spark.write_plans import TaskMessage

try:
    from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows

    ADMITS = True
except ImportError:
    # Before PySpark 4.2.
    ADMITS = False
    ReadAllAvailable = object

needs_admission = pytest.mark.skipif(not ADMITS, reason="this PySpark bounds no micro-batches")


def rows(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64())})


SCHEMA = spark_schema(rows(1).schema)


def reader_of(path: Path, **options: str) -> LanceStreamReader:
    source = LanceDataSource({"path": str(path), **{name.lower(): value for name, value in options.items()}})
    made = pickle.loads(pickle.dumps(source)).streamReader(SCHEMA)
    assert isinstance(made, LanceStreamReader)
    return made


def read(reader: LanceStreamReader, start: dict[str, int], end: dict[str, int]) -> list[int]:
    """Read a batch as tasks do, from offsets as checkpoints keep them."""
    start, end = json.loads(json.dumps(start)), json.loads(json.dumps(end))
    sent = pickle.dumps(reader)
    partitions = [pickle.loads(pickle.dumps(one)) for one in reader.partitions(start, end)]
    batches = [batch for one in partitions for batch in pickle.loads(sent).read(one)]
    return [value for batch in batches for value in batch.column(0).to_pylist()]


def batches(reader: LanceStreamReader, start: dict[str, int] | None = None) -> list[list[int]]:
    """Run a query until nothing is left."""
    at = reader.initialOffset() if start is None else start
    found = []
    while True:
        end = reader.latestOffset(at, reader.getDefaultReadLimit()) if ADMITS else reader.latestOffset()
        if end == at:
            return found
        found.append(read(reader, at, end))
        at = end


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Version 1: 1, 2, 3 in a file each; version 2: 4, 5; version 3: 6."""
    table = LanceTable.create(tmp_path / "t", rows(1, 2, 3), max_rows_per_file=1)
    table.append(rows(4, 5), max_rows_per_file=1)
    table.append(rows(6))
    return tmp_path / "t"


def test_a_new_query_reads_what_is_there_then_what_comes(path: Path) -> None:
    reader = reader_of(path)
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert read(reader, start, end) == [1, 2, 3, 4, 5, 6]
    LanceTable.open(path).append(rows(7))
    later = reader.latestOffset(end, ReadAllAvailable())
    assert read(reader, end, later) == [7]
    assert reader.latestOffset(later, ReadAllAvailable()) == later
    assert reader.partitions(later, later) == []


def test_starting_versions(path: Path) -> None:
    assert batches(reader_of(path, startingVersion="2")) == [[4, 5, 6]]
    assert batches(reader_of(path, startingVersion="1")) == [[1, 2, 3, 4, 5, 6]]
    latest = reader_of(path, startingVersion="latest")
    start = latest.initialOffset()
    assert batches(latest, start) == []
    LanceTable.open(path).append(rows(7))
    assert batches(latest, start) == [[7]]
    with pytest.raises(InvalidArgumentError, match="startingVersion is 9, the newest one is 4"):
        reader_of(path, startingVersion="9").initialOffset()


@pytest.mark.skipif(ADMITS, reason="this PySpark bounds micro-batches")
@pytest.mark.parametrize("option", ["maxRowsPerTrigger", "maxBytesPerTrigger", "maxFragmentsPerTrigger"])
def test_limits_are_refused_where_spark_knows_none(path: Path, option: str) -> None:
    with pytest.raises(UnsupportedError, match=r"need PySpark 4\.2 or newer"):
        reader_of(path, **{option: "2"})


def test_a_release_that_does_not_say_where_a_batch_begins(path: Path) -> None:
    """PySpark 4.1 asks for the end alone; versions before the newest one may be gone by then."""
    reader = reader_of(path, startingVersion="2")
    start = reader.initialOffset()
    end = reader.latestOffset()
    assert read(reader, start, end) == [4, 5, 6]
    assert reader.latestOffset() == end
    LanceTable.open(path).append(rows(7, 8))
    for one in sorted((path / "_versions").iterdir(), key=lambda file: file.stat().st_mtime_ns)[:2]:
        one.unlink()
    assert read(reader, end, reader.latestOffset()) == [7, 8]


@needs_admission
@pytest.mark.parametrize("option", ["maxRowsPerTrigger", "maxFragmentsPerTrigger"])
def test_admission_cuts_versions(path: Path, option: str) -> None:
    assert batches(reader_of(path, **{option: "2"})) == [[1, 2], [3, 4], [5, 6]]
    assert batches(reader_of(path, startingVersion="2", **{option: "2"})) == [[4, 5], [6]]


@needs_admission
def test_admission_by_bytes_always_takes_something(path: Path) -> None:
    reader = reader_of(path, maxBytesPerTrigger="1")
    assert reader.getDefaultReadLimit() == ReadMaxBytes(1)
    assert batches(reader) == [[1], [2], [3], [4], [5], [6]]
    start = reader.initialOffset()
    assert read(reader, start, reader.latestOffset(start, ReadAllAvailable())) == [1, 2, 3, 4, 5, 6]
    assert reader_of(path, maxRowsPerTrigger="5").getDefaultReadLimit() == ReadMaxRows(5)


@needs_admission
def test_available_now_ends_where_it_began(path: Path) -> None:
    reader = reader_of(path, maxRowsPerTrigger="4")
    reader.prepareForTriggerAvailableNow()
    LanceTable.open(path).append(rows(7))
    assert batches(reader) == [[1, 2, 3, 4], [5, 6]]


def test_changes_stop_a_stream_unless_told(path: Path) -> None:
    reader = reader_of(path, startingVersion="2")
    table = LanceTable.open(path)
    table.delete(pc.field("id") == 4)
    table.append(rows(8))
    with pytest.raises(UnsupportedError, match="version 4 is delete: it did more than add rows"):
        batches(reader)
    assert batches(reader_of(path, startingVersion="2", changes="skip")) == [[4, 5, 6, 8]]
    table.overwrite(rows(9))
    assert batches(reader_of(path, startingVersion="5", changes="added")) == [[8, 9]]
    assert batches(reader_of(path, startingVersion="5", changes="skip")) == [[8]]
    # A snapshot is what is there now, whatever was done before.
    assert batches(reader_of(path)) == [[9]]


def test_versions_that_are_gone(path: Path) -> None:
    reader = reader_of(path, startingVersion="1")
    start = reader.initialOffset()
    (oldest, *_) = sorted((path / "_versions").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    oldest.unlink()
    with pytest.raises(VersionNotFoundError, match="version 1 was removed"):
        reader.latestOffset(start, ReadAllAvailable())


def test_what_a_stream_cannot_start_from(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="give startingVersion"):
        reader_of(path, version="1")
    with pytest.raises(TableNotFoundError):
        reader_of(tmp_path / "not")
    with pytest.raises(InvalidArgumentError, match="not an offset of format 'lance'"):
        reader_of(path).latestOffset({"offset": 3}, ReadAllAvailable())


def test_filters_and_columns_apply_to_streams(path: Path) -> None:
    assert batches(reader_of(path, filter="id >= 5", columns="id")) == [[5, 6]]


# Writing.


def writer_of(path: Path, *, overwrite: bool = False, query: str = "q") -> LanceStreamWriter:
    source = LanceDataSource({"path": str(path), "queryid": query, "checkpointlocation": "/c"})
    made = source.streamWriter(SCHEMA, overwrite)
    assert isinstance(made, LanceStreamWriter)
    return made


def task(writer: LanceStreamWriter, *ids: int) -> TaskMessage:
    given = rows(*ids).to_batches() if ids else []
    return pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(writer)).write(iter(given))))


def ids_of(path: Path) -> list[int]:
    return LanceTable.open(path).to_table()["id"].to_pylist()


def unnamed(path: Path) -> set[str]:
    named = {file.path for one in LanceTable.open(path).manifest.fragments for file in one.files}
    return {one.name for one in (path / "data").iterdir()} - named


def test_a_batch_counts_once_however_often_it_is_committed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    planned = writer_of(path)
    writer_of(path).commit([task(planned, 1), task(planned, 2)], 0)
    # The driver died before it noted the commit: the batch comes again, from other tasks and a new plan.
    again = writer_of(path)
    writer_of(path).commit([task(again, 1), task(again, 2)], 0)
    assert ids_of(path) == [1, 2]
    assert unnamed(path) == set()
    writer_of(path).commit([task(again, 3)], 1)
    writer_of(path).commit([task(again, 3)], 1)
    assert ids_of(path) == [1, 2, 3]
    assert LanceTable.open(path).version == 2
    newest = LanceTable.open(path).history()[0].transaction
    assert newest is not None
    assert newest.properties[QUERY_KEY] == "q"
    assert newest.properties[BATCH_KEY] == "1"


def test_another_query_is_another_matter(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for query in ("q", "r", "q"):
        writer_of(path, query=query).commit([task(writer_of(path, query=query), 1)], 0)
    assert ids_of(path) == [1, 1]


def test_a_batch_is_known_again_after_others_wrote(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer_of(path).commit([task(writer_of(path), 1)], 0)
    table = LanceTable.open(path)
    table.append(rows(100))
    table.delete(pc.field("id") == 100)
    writer_of(path).commit([task(writer_of(path), 1)], 0)
    assert ids_of(path) == [1]
    assert unnamed(path) == {file.path for file in table.checkout(2).manifest.fragments[1].files}


def test_a_transaction_that_never_became_a_version_does_not_count(tmp_path: Path) -> None:
    """The driver died between the transaction's file and the manifest."""
    path = tmp_path / "t"
    writer_of(path).commit([task(writer_of(path), 1)], 0)
    writer_of(path).commit([task(writer_of(path), 2)], 1)
    manifest = Path(LanceTable.open(path).manifest.facts.manifest_path)
    manifest.unlink()
    assert ids_of(path) == [1]
    writer_of(path).commit([task(writer_of(path), 2)], 1)
    assert ids_of(path) == [1, 2]


def test_two_drivers_at_once_make_one_version_of_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer_of(path).commit([task(writer_of(path), 0)], 0)
    for batch in range(1, 6):
        attempts = [(writer_of(path), task(writer_of(path), batch)) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda one, number=batch: one[0].commit([one[1]], number), attempts))
    assert ids_of(path) == [0, 1, 2, 3, 4, 5]
    assert unnamed(path) == set()


def test_abort_leaves_what_may_have_been_committed(tmp_path: Path) -> None:
    path = tmp_path / "t"
    planned = writer_of(path)
    done = task(planned, 1)
    writer_of(path).commit([done], 0)
    writer_of(path).abort([done, None], 0)
    assert ids_of(path) == [1]
    lost = task(planned, 2)
    writer_of(path).abort([lost, None], 1)
    assert unnamed(path) == set()


def test_empty_batches_make_no_versions(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer_of(path).commit([task(writer_of(path))], 0)
    assert LanceTable.open(path).version == 1
    writer_of(path).commit([task(writer_of(path))], 1)
    writer_of(path).commit([], 2)
    assert LanceTable.open(path).version == 1


def test_complete_mode_replaces(tmp_path: Path) -> None:
    path = tmp_path / "t"
    for batch in range(3):
        writer_of(path, overwrite=True).commit([task(writer_of(path, overwrite=True), batch)], batch)
    writer_of(path, overwrite=True).commit([task(writer_of(path, overwrite=True), 2)], 2)
    assert ids_of(path) == [2]
    assert LanceTable.open(path).version == 3


def test_no_commit_without_every_message_or_of_other_columns(tmp_path: Path) -> None:
    path = tmp_path / "t"
    message = task(writer_of(path), 1)
    with pytest.raises(CommitConflictError, match="left no message"):
        writer_of(path).commit([message, None], 0)
    LanceTable.create(path, pa.table({"other": [1], "id": pa.array([1], pa.int64())}))
    with pytest.raises(CommitConflictError, match="columns of the table changed"):
        writer_of(path).commit([message], 0)
    nameless = replace(task(writer_of(path), 1), query_id=None)
    with pytest.raises(InvalidArgumentError, match="queryId"):
        writer_of(path).commit([nameless], 0)
    with pytest.raises(InvalidArgumentError, match="ifExists"):
        LanceDataSource({"path": str(path), "ifexists": "error"}).streamWriter(SCHEMA, False)
