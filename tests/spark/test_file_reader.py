"""Batch reads of files without a table, as Spark plans and reads them; and one by Spark itself."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as st

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, TableNotFoundError
from lance_arrow.spark.file_reader import FilesPartition
from lance_arrow.spark.source import LanceDataSource
from lance_arrow.spark.type_mapping import batch_schema

NUM_FILES, NUM_ROWS = 6, 20_000
TOTAL = NUM_FILES * NUM_ROWS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six files of 20,000 rows, `id` ascending."""
    made = tmp_path_factory.mktemp("files")
    numbers = np.arange(TOTAL)
    inner = pa.StructArray.from_arrays(
        [pa.array(numbers * 2), pa.array([f"n{one % 7}" for one in numbers])], ["x", "s"]
    )
    rows = pa.table({"id": numbers, "half": numbers / 2, "inner": inner})
    for number in range(NUM_FILES):
        part = rows.slice(number * NUM_ROWS, NUM_ROWS)
        lance_arrow.write_table(part, made / f"{number}.lance", rows_per_zone=1000)
    return made


def plan(path: object, schema: st.StructType | None = None, **options: str) -> tuple[list[FilesPartition], pa.Table]:
    """Do what Spark does: schema, reader and partitions on the driver, reads in tasks."""
    source = LanceDataSource({"path": str(path), **{name.lower(): value for name, value in options.items()}})
    schema = source.schema() if schema is None else schema
    reader = pickle.loads(pickle.dumps(source)).reader(schema)
    sent = pickle.dumps(reader)
    partitions = reader.partitions()
    batches = [b for one in partitions for b in pickle.loads(sent).read(pickle.loads(pickle.dumps(one)))]
    return partitions, pa.Table.from_batches(batches, batch_schema(schema))


@pytest.mark.parametrize("named", ["{}/0.lance", "{}", "{}/*.lance", "file://{}"])
def test_a_file_a_folder_a_pattern_and_a_url(named: str, folder: Path) -> None:
    partitions, found = plan(named.format(folder))
    count = NUM_ROWS if named.endswith("0.lance") else TOTAL
    assert len(partitions) == 1
    assert found["id"].to_pylist() == list(range(count))
    assert found["inner"].combine_chunks().field("x").to_pylist() == [2 * one for one in range(count)]


@pytest.mark.parametrize(
    ("options", "count"), [({"splitRows": "5000"}, 24), ({"splitRows": "40000"}, 3), ({"splitBytes": "100000000"}, 1)]
)
def test_splits_cover_every_row_once(options: dict[str, str], count: int, folder: Path) -> None:
    partitions, found = plan(folder, **options)
    assert len(partitions) == count
    assert found["id"].to_pylist() == list(range(TOTAL))


def test_large_files_are_cut_by_bytes(folder: Path) -> None:
    most = (folder / "0.lance").stat().st_size // 4
    partitions, found = plan(folder, splitBytes=str(most))
    assert 4 * NUM_FILES <= len(partitions) <= 6 * NUM_FILES
    assert found["id"].to_pylist() == list(range(TOTAL))


def test_columns_filter_and_batches(folder: Path) -> None:
    _, found = plan(folder, columns="inner.x, id", filter="id >= 39990 AND id < 40010 AND half != 19996", batchSize="3")
    assert found.column_names == ["x", "id"]
    assert found["id"].to_pylist() == [one for one in range(39990, 40010) if one != 39992]
    assert max(len(chunk) for chunk in found["id"].chunks) <= 3
    assert plan(folder, filter="id < 0")[1].num_rows == 0
    # A schema chooses columns.
    _, few = plan(folder, st.StructType([st.StructField("half", st.DoubleType())]), splitRows="50000")
    assert (few.column_names, pc.sum(few["half"]).as_py()) == (["half"], TOTAL * (TOTAL - 1) / 4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": "1"}, "option version is for tables"),
        ({"withRowId": "true"}, "option withRowId is for tables"),
        ({"columns": "other"}, "'other'"),
        ({"filter": "other = 1"}, "option filter does not fit the files"),
    ],
)
def test_what_files_cannot_do_is_refused(options: dict[str, str], message: str, folder: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        plan(folder, **options)
    unknown = st.StructType([st.StructField("other", st.LongType())])
    with pytest.raises(InvalidArgumentError, match="which the files have not"):
        plan(folder, unknown)


def test_what_is_wrong_with_a_path_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no file of this format, but more than sixty-four bytes of text for a reader")
    for path in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(TableNotFoundError):
            plan(path)
    for name in ("0.lance", "renamed"):
        (tmp_path / name).write_bytes((folder / "0.lance").read_bytes()[:-9])
        with pytest.raises(CorruptFileError, match=name):
            plan(tmp_path / name)


@pytest.mark.parametrize("path", ["", "t", "t/data", "t/data/*.lance"], ids=["above", "root", "data", "pattern"])
@pytest.mark.parametrize("are_versions_lost", [False, True])
def test_files_of_a_table_are_read_by_the_table(tmp_path: Path, path: str, *, are_versions_lost: bool) -> None:
    table = LanceTable.create(tmp_path / "t", pa.table({"id": range(20)}), max_rows_per_file=5)
    table.delete("id >= 3")
    if are_versions_lost:
        shutil.rmtree(tmp_path / "t" / "_versions")
    elif path == "t":
        assert plan(tmp_path / path)[1]["id"].to_pylist() == [0, 1, 2]
        return
    # Without manifests, deleted rows would be back.
    with pytest.raises((InvalidArgumentError, TableNotFoundError), match=r"(holds|belong to) (files of )?a table"):
        plan(tmp_path / path)


def test_files_behind_a_url(folder: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/spark-files", recursive=True)
    try:
        partitions, found = plan("memory://spark-files", splitRows="40000", filter="id >= 100000")
    finally:
        memory.rm("/spark-files", recursive=True)
    assert len(partitions) == 3
    assert found["id"].to_pylist() == list(range(100_000, TOTAL))


def test_spark_reads_a_folder(spark: SparkSession, folder: Path) -> None:
    frame = spark.read.format("lance").option("splitRows", "30000").load(str(folder))
    assert frame.count() == TOTAL
    assert frame.where("id % 50000 = 7").select("half").collect() == [(3.5,), (25003.5,), (50003.5,)]
