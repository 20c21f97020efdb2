"""Formats, datasets and fragments travel; those of other formats travel as before."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import cloudpickle
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from bridge_toys import ToyFormat, read_all, toy_bytes, toy_format, write_toy
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


@pytest.fixture
def dataset(tmp_path: Path) -> pads.Dataset:
    """Two hive partitions."""
    for group in (1, 2):
        (tmp_path / f"g={group}").mkdir()
        write_toy(tmp_path / f"g={group}" / "f.toy", TABLE)
    return pads.dataset(str(tmp_path), format=toy_format(name="travelling"), partitioning="hive")


def travel(thing: object) -> object:
    """Pickle and come back."""
    return pickle.loads(pickle.dumps(thing))


def test_formats_travel() -> None:
    there = travel(toy_format(name="x"))
    assert type(there) is ToyFormat
    assert there == toy_format(name="x")
    assert copy.deepcopy(there) == there


def test_datasets_travel_with_schema_and_partitions(dataset: pads.Dataset) -> None:
    there = travel(dataset)
    assert type(there) is pads.FileSystemDataset
    assert there.schema.equals(dataset.schema)
    assert there.files == dataset.files
    assert there.to_table().equals(dataset.to_table())
    assert there.to_table(filter=pc.field("g") == 2).num_rows == 3
    expressions = [fragment.partition_expression for fragment in there.get_fragments()]
    assert [str(expression) for expression in expressions] == ["(g == 1)", "(g == 2)"]
    assert LanceDataset.from_dataset(there).format == toy_format(name="travelling")
    assert copy.copy(dataset).count_rows() == 6


def test_a_filter_travels_along(dataset: pads.Dataset) -> None:
    assert travel(dataset.filter(pc.field("a") > 2)).count_rows() == 2
    shown = LanceDataset.from_dataset(dataset).filter(pc.field("a") > 1)
    there = travel(shown)
    assert type(there) is LanceDataset
    assert there.count_rows() == 4
    assert there.format == shown.format


def test_unions_travel(dataset: pads.Dataset) -> None:
    assert travel(pads.dataset([dataset, dataset])).count_rows() == 12


def test_empty_and_buffer_datasets_travel() -> None:
    file_format = toy_format()
    empty = pads.FileSystemDataset([], TABLE.schema, file_format)
    assert travel(empty).to_table().equals(TABLE.slice(0, 0))
    fragment = file_format.make_fragment(toy_bytes(TABLE))
    assert travel(pads.FileSystemDataset([fragment], TABLE.schema, file_format)).to_table().equals(TABLE)


def test_fragments_travel_with_all_they_know(dataset: pads.Dataset) -> None:
    plain = list(dataset.get_fragments())[1]
    there = travel(plain)
    assert type(there) is LanceFileFragment
    assert there.path == dataset.files[1]
    assert str(there.partition_expression) == "(g == 2)"
    assert there.file_size == Path(there.path).stat().st_size
    assert there.format == toy_format(name="travelling")
    assert there.to_table().equals(TABLE)
    assert travel(there).to_table().equals(TABLE)


def test_a_known_schema_and_a_payload_travel() -> None:
    fragment = toy_format().make_fragment(toy_bytes(TABLE), payload=("zones", [1, 2]))
    unread = travel(fragment)
    assert unread.payload == ("zones", [1, 2])
    assert unread.physical_schema.equals(TABLE.schema)
    assert unread.format.handler.log.num_inspected == 1
    read = travel(unread)
    assert read.physical_schema.equals(TABLE.schema)
    assert read.format.handler.log.num_inspected == 0
    assert read.to_table().equals(TABLE)


def test_fsspec_filesystems_travel() -> None:
    memory = MemoryFileSystem()
    memory.pipe_file("/travel/f.toy", toy_bytes(TABLE).to_pybytes())
    dataset = pads.dataset("/travel", format=toy_format(), filesystem=memory)
    assert travel(dataset).to_table().equals(TABLE)
    assert travel(next(dataset.get_fragments())).to_table().equals(TABLE)


def test_other_formats_travel_as_before(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "f.parquet")
    dataset = pads.dataset(tmp_path / "f.parquet")
    there = travel(dataset)
    assert isinstance(there.format, pads.ParquetFileFormat)
    assert there.to_table().equals(TABLE)
    assert travel(next(dataset.get_fragments())).to_table().equals(TABLE)
    with pytest.raises(TypeError):
        pickle.dumps(next(pads.dataset(TABLE).get_fragments()))


def test_spawned_processes_read(dataset: pads.Dataset) -> None:
    things = [dataset, LanceDataset.from_dataset(dataset), *dataset.get_fragments()]
    # An executor reports a worker that cannot start; a Pool would start another one for ever.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(read_all, things))
    assert results == [read_all(thing) for thing in things]


def test_cloudpickle_too(dataset: pads.Dataset) -> None:
    for thing in (dataset, LanceDataset.from_dataset(dataset), next(dataset.get_fragments())):
        assert pickle.loads(cloudpickle.dumps(thing)).count_rows() == thing.count_rows()
    assert pickle.loads(cloudpickle.dumps(toy_format())) == toy_format()
