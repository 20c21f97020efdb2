"""The change feed without a JVM: offsets over versions, what each version changed, and what is refused before."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import ChangesNotRecordedError, InvalidArgumentError
from lance_arrow.spark.change_feed import ChangeFeedReader
from lance_arrow.spark.source import LanceDataSource

Offset = dict[str, int]


def reader_of(path: Path, **options: str) -> ChangeFeedReader:
    given = {"path": str(path), "changes": "feed", **{name.lower(): value for name, value in options.items()}}
    source = pickle.loads(pickle.dumps(LanceDataSource(given)))
    made = source.streamReader(source.schema())
    assert isinstance(made, ChangeFeedReader)
    return made


def read(reader: ChangeFeedReader, start: Offset, end: Offset) -> list[dict[str, Any]]:
    """Read a batch as tasks do, from offsets as checkpoints keep them."""
    start, end = json.loads(json.dumps(start)), json.loads(json.dumps(end))
    sent = pickle.dumps(reader)
    partitions = [pickle.loads(pickle.dumps(one)) for one in reader.partitions(start, end)]
    batches = [batch for one in partitions for batch in pickle.loads(sent).read(one)]
    # Spark takes no other schema, not even one whose columns may be null.
    assert all(batch.schema.equals(reader._schema, check_metadata=True) for batch in batches)
    found = [row for batch in batches for row in batch.to_pylist()]
    return sorted(found, key=lambda row: (row["_change_version"], row["_change_type"], row["id"]))


def everything(reader: ChangeFeedReader) -> list[dict[str, Any]]:
    start = reader.initialOffset()
    return read(reader, start, reader.latestOffset(start))


def short(found: list[dict[str, Any]]) -> list[tuple[int, str, int]]:
    return [(row["_change_version"], row["_change_type"], row["id"]) for row in found]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """1: 1, 2, 3; 2: 4; 3: 2 updated; 4: 3 deleted; 5: compacted; 6: a column added."""
    rows = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "age": pa.array([36, 85, 41], pa.int32())})
    table = LanceTable.create(tmp_path / "t", rows, enable_stable_row_ids=True)
    table.append(pa.table({"id": pa.array([4], pa.int64()), "age": pa.array([20], pa.int32())}))
    table.update({"age": "age + 1"}, "id = 2")
    table.delete("id = 3")
    table.compact()
    return tmp_path / "t"


def test_each_version_says_what_it_changed(path: Path) -> None:
    found = everything(reader_of(path, startingVersion="1"))
    assert short(found) == [
        (1, "insert", 1), (1, "insert", 2), (1, "insert", 3), (2, "insert", 4), (3, "update", 2), (4, "delete", 3),
    ]  # fmt: skip
    ids = {row["id"]: row["_rowid"] for row in found}
    assert len(set(ids.values())) == 4
    assert [row["age"] for row in found] == [36, 85, 41, 20, 86, 41]
    assert all(row["_rowid"] == ids[row["id"]] for row in found)


def test_a_new_query_begins_with_all_rows_of_the_newest_version(path: Path) -> None:
    reader = reader_of(path)
    start = reader.initialOffset()
    end = reader.latestOffset(start)
    newest = LanceTable.open(path).version
    assert short(read(reader, start, end)) == [(newest, "insert", 1), (newest, "insert", 2), (newest, "insert", 4)]
    LanceTable.open(path).delete("id = 1")
    later = reader.latestOffset(end)
    assert short(read(reader, end, later)) == [(newest + 1, "delete", 1)]
    assert reader.latestOffset(later) == later
    assert reader.partitions(later, later) == []


def test_starting_versions(path: Path) -> None:
    assert short(everything(reader_of(path, startingVersion="3"))) == [(3, "update", 2), (4, "delete", 3)]
    latest = reader_of(path, startingVersion="latest")
    start = latest.initialOffset()
    assert read(latest, start, latest.latestOffset(start)) == []
    with pytest.raises(InvalidArgumentError, match="startingVersion is 99, the newest one is"):
        reader_of(path, startingVersion="99").initialOffset()


def test_the_available_now_is_what_there_was(path: Path) -> None:
    reader = reader_of(path)
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    LanceTable.open(path).delete("id = 1")
    assert len(read(reader, start, reader.latestOffset(start))) == 3


def test_columns_of_older_versions(path: Path) -> None:
    """Columns that came later are null, those that were renamed are the same."""
    table = LanceTable.open(path)
    table.alter_columns({"path": "age", "name": "years"})
    table.add_columns({"half": "years / 2"})
    found = everything(reader_of(path, startingVersion="1"))
    assert set(found[0]) == {"_change_type", "_change_version", "_rowid", "id", "years", "half"}
    assert [row["years"] for row in found if row["_change_version"] <= 4] == [36, 85, 41, 20, 86, 41]
    assert all(row["half"] is None for row in found if row["_change_version"] <= 4)
    assert [row["half"] for row in everything(reader_of(path))] == [18, 43, 10]
    only = everything(reader_of(path, startingVersion="1", columns="id"))
    assert set(only[0]) == {"_change_type", "_change_version", "_rowid", "id"}


def test_large_batches_are_cut(tmp_path: Path) -> None:
    values = np.arange(5000)
    table = LanceTable.create(tmp_path / "t", pa.table({"id": values}), enable_stable_row_ids=True)
    table.update({"id": "id + 10000"}, "id < 3000")
    for options in ({}, {"startingVersion": "2"}):
        reader = reader_of(tmp_path / "t", batchSize="1000", **options)
        start = reader.initialOffset()
        parts = reader.partitions(start, reader.latestOffset(start))
        sizes = [batch.num_rows for one in parts for batch in reader.read(one)]
        assert max(sizes) <= 1000
        assert sum(sizes) == (3000 if options else 5000)


def test_tables_without_stable_row_ids(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"id": [1, 2]}))
    table.append(pa.table({"id": [3]}))
    table.delete("id = 1")
    found = everything(reader_of(tmp_path / "t", startingVersion="1"))
    assert short(found) == [(1, "insert", 1), (1, "insert", 2), (2, "insert", 3), (3, "delete", 1)]
    assert "_rowid" not in found[0]
    table.update({"id": "id + 1"}, "id = 3")
    reader = reader_of(tmp_path / "t", startingVersion="1")
    start = reader.initialOffset()
    with pytest.raises(ChangesNotRecordedError) as caught:
        reader.partitions(start, reader.latestOffset(start))
    assert caught.value.version == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filter": "id > 1"}, "takes no filter"),
        ({"maxRowsPerTrigger": "5"}, "takes whole versions"),
        ({"splitRows": "5"}, "takes whole versions"),
        ({"version": "1"}, "give startingVersion instead"),
    ],
)
def test_refused_options(path: Path, options: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        reader_of(path, **options)


def test_batch_reads_and_other_checkpoints_are_refused(path: Path) -> None:
    source = LanceDataSource({"path": str(path), "changes": "feed"})
    with pytest.raises(InvalidArgumentError, match="is for streams"):
        source.reader(source.schema())
    reader = reader_of(path)
    with pytest.raises(InvalidArgumentError, match="not an offset of a change feed"):
        reader.latestOffset({"snapshot": 0, "version": 1, "index": 0})
