"""Batch writes without a JVM: tasks, retries, speculation, aborts and commits in the order Spark may do them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import types as st

from lance_arrow import LanceFile, LanceTable
from lance_arrow.errors import (
    CommitConflictError,
    InvalidArgumentError,
    ResourceLimitError,
    TableExistsError,
    UnsupportedError,
)
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.type_mapping import spark_schema
from lance_arrow.spark.write_plans import TaskMessage
from lance_arrow.spark.writer import LanceWriter


def rows(*ids: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(ids, pa.int64()), "s": [f"row {one}" for one in ids]})


def writer_of(
    path: Path, *, overwrite: bool = False, schema: st.StructType | None = None, **options: str
) -> LanceWriter:
    source = LanceDataSource({"path": str(path), **{name.lower(): value for name, value in options.items()}})
    made = source.writer(schema if schema is not None else spark_schema(rows(1).schema), overwrite)
    assert isinstance(made, LanceWriter)
    return pickle.loads(pickle.dumps(made))


def task(writer: LanceWriter, *batches: pa.RecordBatch) -> TaskMessage:
    """Run a task as an executor does."""
    return pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(writer)).write(iter(batches))))


def commit(writer: LanceWriter, messages: Sequence[TaskMessage | None]) -> None:
    pickle.loads(pickle.dumps(writer)).commit(messages)


def abort(writer: LanceWriter, messages: Sequence[TaskMessage | None]) -> None:
    pickle.loads(pickle.dumps(writer)).abort(messages)


def ids_of(path: Path) -> list[int]:
    return LanceTable.open(path).to_table()["id"].to_pylist()


def files_of(path: Path) -> set[str]:
    folder = path / "data"
    return {one.name for one in folder.iterdir()} if folder.exists() else set()


def named_by(path: Path) -> set[str]:
    return {file.path for one in LanceTable.open(path).manifest.fragments for file in one.files}


def test_append_makes_a_table_then_adds_to_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path, message="first")
    commit(writer, [task(writer, rows(1, 2)), task(writer), task(writer, rows(3), rows(4))])
    assert ids_of(path) == [1, 2, 3, 4]
    writer = writer_of(path)
    commit(writer, [task(writer, rows(5))])
    assert ids_of(path) == [1, 2, 3, 4, 5]
    assert [one.version for one in LanceTable.open(path).history()] == [2, 1]
    assert LanceTable.open(path).history()[1].message == "first"
    assert all(field.nullable for field in LanceTable.open(path).schema)


def test_overwrite_replaces_rows_and_schema_and_keeps_history(tmp_path: Path) -> None:
    path = tmp_path / "t"
    LanceTable.create(path, pa.table({"other": ["x"]}), file_version="2.1")
    writer = writer_of(path, overwrite=True)
    commit(writer, [task(writer, rows(7))])
    assert ids_of(path) == [7]
    assert LanceTable.open(path, version=1).to_table().to_pydict() == {"other": ["x"]}
    (name,) = named_by(path)
    with LanceFile(path / "data" / name) as file:
        assert file.version == "2.1"


def test_a_retried_task_counts_once(tmp_path: Path) -> None:
    """The first attempt wrote and died: Spark never got its message."""
    path = tmp_path / "t"
    writer = writer_of(path)
    lost = task(writer, rows(1, 2))
    commit(writer, [task(writer, rows(1, 2)), task(writer, rows(3))])
    assert ids_of(path) == [1, 2, 3]
    assert len(files_of(path)) == 3
    assert len(files_of(path) - named_by(path)) == len(lost.fragments) == 1


def test_a_task_that_fails_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path)

    def broken() -> object:
        yield rows(1)
        raise OSError("the shuffle is gone")

    with pytest.raises(OSError, match="shuffle"):
        writer.write(broken())
    assert files_of(path) == set()


def test_abort_removes_what_the_job_wrote_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "t"
    LanceTable.create(path, pa.table(rows(1)))
    other = writer_of(path)
    theirs = task(other, rows(2))
    writer = writer_of(path)
    lost = task(writer, rows(3))
    told = task(writer, rows(4))
    assert lost.fragments
    abort(writer, [None, told])
    assert len(files_of(path)) == 2
    commit(other, [theirs])
    assert ids_of(path) == [1, 2]


def test_no_commit_without_every_message(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path)
    with pytest.raises(CommitConflictError, match="1 of 2 tasks left no message"):
        commit(writer, [task(writer, rows(1)), None])
    assert not (path / "_versions").exists()


def test_if_exists(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path, ifExists="error")
    commit(writer, [task(writer, rows(1))])
    with pytest.raises(TableExistsError):
        writer_of(path, ifExists="error")
    ignoring = writer_of(path, ifExists="ignore")
    message = task(ignoring, rows(2))
    commit(ignoring, [message])
    abort(ignoring, [message])
    assert message.fragments == ()
    assert ids_of(path) == [1]
    with pytest.raises(InvalidArgumentError, match="ifExists"):
        writer_of(path, overwrite=True, ifExists="error")


def test_a_table_that_somebody_makes_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "t"
    failing, ignoring = writer_of(path, ifExists="error"), writer_of(path, ifExists="ignore")
    first, second = task(failing, rows(2)), task(ignoring, rows(3))
    LanceTable.create(path, pa.table(rows(1)))
    with pytest.raises(TableExistsError):
        commit(failing, [first])
    commit(ignoring, [second])
    assert ids_of(path) == [1]
    assert files_of(path) == named_by(path)


def test_commit_goes_on_after_appends_and_stops_after_an_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = LanceTable.create(path, pa.table(rows(1)))
    one, two = writer_of(path), writer_of(path)
    first, second = task(one, rows(2)), task(two, rows(3))
    table.append(pa.table(rows(10)))
    commit(one, [first])
    assert ids_of(path) == [1, 10, 2]
    LanceTable.open(path).overwrite(pa.table(rows(20)))
    with pytest.raises(CommitConflictError, match="overwrite"):
        commit(two, [second])
    abort(two, [second])
    assert ids_of(path) == [20]
    assert not any(name.startswith(second.job) for name in files_of(path))


def test_a_commit_in_doubt_keeps_its_files(tmp_path: Path) -> None:
    """The transaction's file is there, so the commit may have been done: abort must not touch the files."""
    path = tmp_path / "t"
    LanceTable.create(path, pa.table(rows(1)))
    writer = writer_of(path)
    message = task(writer, rows(2))
    (path / "_transactions").mkdir(exist_ok=True)
    (path / "_transactions" / f"1-{message.job}-0.txn").write_bytes(b"")
    abort(writer, [message])
    assert len(files_of(path)) == 2


def test_a_driver_that_dies_before_the_commit_leaves_the_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    LanceTable.create(path, pa.table(rows(1)))
    task(writer_of(path), rows(2))
    assert ids_of(path) == [1]
    assert LanceTable.open(path).version == 1
    assert len(files_of(path) - named_by(path)) == 1


def test_rows_are_brought_into_the_types_of_the_table(tmp_path: Path) -> None:
    path = tmp_path / "t"
    words = pa.dictionary(pa.int8(), pa.string())
    types = pa.schema([("id", pa.uint8()), ("s", words), ("l", pa.list_(pa.float16(), 2)), ("z", pa.int8())])
    LanceTable.create(path, types.empty_table())
    schema = st.StructType([
        st.StructField("s", st.StringType()), st.StructField("id", st.LongType()),
        st.StructField("l", st.ArrayType(st.DoubleType())),
    ])  # fmt: skip
    writer = writer_of(path, schema=schema)
    good = pa.record_batch({"s": ["a", "b"], "id": [1, 255], "l": [[1.0, 2.0], None]})
    commit(writer, [task(writer, good)])
    assert LanceTable.open(path).to_table().to_pydict() == {
        "id": [1, 255], "s": ["a", "b"], "l": [[1.0, 2.0], None], "z": [None, None],
    }  # fmt: skip
    for name, bad in (("id", {"s": ["a"], "id": [256], "l": [None]}), ("l", {"s": ["a"], "id": [1], "l": [[1.0]]})):
        with pytest.raises(InvalidArgumentError, match="cannot be held exactly") as caught:
            task(writer, pa.record_batch(bad))
        assert caught.value.column == name


def test_what_does_not_fit_is_refused_before_any_task(tmp_path: Path) -> None:
    path = tmp_path / "t"
    LanceTable.create(path, pa.table({"id": pa.array([1], pa.int64())}))
    with pytest.raises(InvalidArgumentError, match="no column 's'"):
        writer_of(path)
    with pytest.raises(UnsupportedError, match="no way from type"):
        writer_of(path, schema=st.StructType([st.StructField("id", st.ArrayType(st.LongType()))]))
    with pytest.raises(UnsupportedError, match="cannot be stored"):
        writer_of(tmp_path / "new", schema=st.StructType([st.StructField("v", st.VariantType())]))
    with pytest.raises(InvalidArgumentError, match="clusterBy and partitionBy name 'x'"):
        writer_of(tmp_path / "new", clusterBy="x")
    with pytest.raises(InvalidArgumentError, match=r"files are of version 2\.2, not 2\.1"):
        writer_of(path, schema=st.StructType([st.StructField("id", st.LongType())]), fileVersion="2.1")
    assert not (tmp_path / "new").exists()


def test_clustered_files_are_sorted_and_bounded(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path, clusterBy="id", maxRowsPerFile="100", rowsPerZone="10")
    shuffled = [one * 7919 % 250 for one in range(250)]
    commit(writer, [task(writer, rows(*shuffled[:30]), rows(*shuffled[30:]))])
    found = ids_of(path)
    assert sorted(found) == list(range(250))
    parts = [found[:100], found[100:200], found[200:]]
    assert parts == [sorted(part) for part in parts]
    assert len(named_by(path)) == 3


def test_partitioned_files_hold_one_value_each(tmp_path: Path) -> None:
    path = tmp_path / "t"
    schema = st.StructType([st.StructField("k", st.StringType()), st.StructField("v", st.LongType())])
    writer = writer_of(path, schema=schema, partitionBy="k", clusterBy="v")
    batch = pa.record_batch({"k": ["b", "a", None, "b", "a"], "v": [5, 4, 3, 2, 1]})
    commit(writer, [task(writer, batch)])
    table = LanceTable.open(path)
    assert table.to_table().to_pydict() == {"k": ["a", "a", "b", "b", None], "v": [1, 4, 2, 5, 3]}
    contents = []
    for name in named_by(path):
        with LanceFile(path / "data" / name) as file:
            contents.append(set(file.read()["k"].to_pylist()))
    assert sorted(contents, key=str) == sorted([{"a"}, {"b"}, {None}], key=str)
    many = pa.record_batch({"k": [str(one) for one in range(2000)], "v": list(range(2000))})
    with pytest.raises(ResourceLimitError, match="repartition the data frame by these columns first"):
        task(writer, many)


def test_zone_maps_of_clustered_rows_are_selective(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path, clusterBy="id", rowsPerZone="100")
    commit(writer, [task(writer, rows(*[one * 7919 % 1000 for one in range(1000)]))])
    plan = LanceTable.open(path).dataset().explain(filter=pc.field("id") == 5)
    assert plan is not None
    source = LanceDataSource({"path": str(path), "filter": "id = 5"})
    (partition,) = source.reader(source.schema()).partitions()
    assert [(piece.starts, piece.stops) for piece in partition.pieces] == [((0,), (100,))]


def test_stable_row_ids_and_file_options(tmp_path: Path) -> None:
    path = tmp_path / "t"
    writer = writer_of(path, stableRowIds="true", fileVersion="2.1", checksums="false", rowsPerZone="0")
    commit(writer, [task(writer, rows(1))])
    assert LanceTable.open(path).manifest.facts.has_stable_row_ids
    (name,) = named_by(path)
    with LanceFile(path / "data" / name) as file:
        assert file.version == "2.1"


def test_logs_name_table_version_and_task(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="lance_arrow.spark")
    place = tmp_path / "t"
    writer = writer_of(place)
    message = writer.write(iter([rows(1, 2, 3)]))
    writer.commit([message])
    source = LanceDataSource({"path": str(tmp_path / "t"), "filter": "id > 100"})
    source.reader(spark_schema(rows(1).schema)).partitions()
    (file,) = (tmp_path / "t" / "data").glob("*.lance")
    assert [record.getMessage() for record in caplog.records] == [
        f"table {place}, job {message.job}, task 0: wrote 3 rows, 1 files, {file.stat().st_size} bytes",
        f"table {place}, job {message.job}: version 1 has 1 new fragments",
        f"table {place} version 1: 0 partitions of 1 fragments; 0 of 3 rows left by zone maps",
    ]


def test_an_append_of_some_of_the_columns(tmp_path: Path) -> None:
    path = tmp_path / "t"
    struct = pa.struct([("a", pa.int64()), ("b", pa.string())])
    first = pa.table({"id": [1], "s": ["x"], "n": pa.array([{"a": 1, "b": "y"}], struct)})
    LanceTable.create(path, first)
    part = pa.record_batch({"n": pa.array([{"a": 2}, None], pa.struct([("a", pa.int64())])), "id": [2, 3]})
    writer = writer_of(path, schema=spark_schema(part.schema))
    commit(writer, [task(writer, part)])
    assert LanceTable.open(path).to_table().to_pylist() == [
        *first.to_pylist(),
        {"id": 2, "s": None, "n": {"a": 2, "b": None}},
        {"id": 3, "s": None, "n": None},
    ]
    other = pa.schema([("n", pa.struct([("a", pa.int64()), ("bb", pa.string())]))])
    with pytest.raises(InvalidArgumentError, match=r"the struct has no field 'bb'; .*did you mean 'b'"):
        writer_of(path, schema=spark_schema(other))


def test_an_append_names_all_columns_that_may_not_be_null(tmp_path: Path) -> None:
    path = tmp_path / "t"
    firm = pa.schema([("id", pa.int64()), *(pa.field(name, pa.int64(), nullable=False) for name in "xy")])
    LanceTable.create(path, pa.table({"id": [1], "x": [2], "y": [3]}, schema=firm))
    with pytest.raises(InvalidArgumentError, match=r"columns \['x', 'y'\] are not given, but may not be null"):
        writer_of(path, schema=spark_schema(pa.schema([("id", pa.int64())])))


def test_an_append_names_all_fields_of_structs_that_may_not_be_null(tmp_path: Path) -> None:
    path = tmp_path / "t"
    firm = pa.struct([("a", pa.int64()), *(pa.field(name, pa.int64(), nullable=False) for name in "xy")])
    first = {"id": [1], "n": [{"a": 1, "x": 2, "y": 3}], "m": [[{"a": 1, "x": 2, "y": 3}]]}
    LanceTable.create(path, pa.table(first, schema=pa.schema([("id", pa.int64()), ("n", firm), ("m", pa.list_(firm))])))
    given = pa.struct([("a", pa.int32()), pa.field("x", pa.int64(), nullable=False)])
    part = pa.schema([("id", pa.int64()), ("n", given), ("m", pa.list_(given))])
    with pytest.raises(InvalidArgumentError, match=r"columns \['n.y', 'm.y'\] are not given, but may not be null"):
        writer_of(path, schema=spark_schema(part))
