"""Fragments of the bridge and the dataset class that shows them."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from bridge_toys import ToyFormat, ToyHandler, toy_bytes, toy_format, write_toy
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.errors import InvalidArgumentError

TABLE = pa.table({"a": [1, 2, 3], "b": ["x", None, "z"]})


@pytest.fixture
def path(tmp_path: Path) -> str:
    """One file."""
    write_toy(tmp_path / "f.toy", TABLE)
    return str(tmp_path / "f.toy")


def test_make_fragment_of_a_path(path: str) -> None:
    file_format = toy_format()
    guarantee = pc.field("g") == 7
    local = pa.fs.LocalFileSystem()
    fragment = file_format.make_fragment(path, local, guarantee, file_size=Path(path).stat().st_size)
    assert isinstance(fragment, LanceFileFragment)
    assert isinstance(fragment, pads.FileFragment)
    assert (fragment.path, fragment.filesystem, fragment.buffer) == (path, local, None)
    assert fragment.partition_expression.equals(guarantee)
    assert fragment.format == file_format
    assert type(fragment.format) is ToyFormat
    assert fragment.file_size == Path(path).stat().st_size
    assert fragment.payload is None
    assert fragment.physical_schema.equals(TABLE.schema)
    assert fragment.to_table().equals(TABLE)
    assert fragment.count_rows() == 3
    assert fragment.take([2, 0]).column("a").to_pylist() == [3, 1]
    assert fragment.open().size() == Path(path).stat().st_size
    assert "type=lance" in repr(fragment)
    assert path in repr(fragment)


def test_make_fragment_of_a_buffer_or_an_open_file(path: str) -> None:
    file_format = toy_format()
    buffer = toy_bytes(TABLE)
    fragment = file_format.make_fragment(buffer)
    # pyarrow 22 shows an empty path.
    assert fragment.path in ("<Buffer>", "")
    assert fragment.filesystem is None
    assert fragment.buffer.equals(buffer)
    assert fragment.to_table(filter=pc.field("a") > 2).equals(TABLE.slice(2))
    place = file_format.handler.log.places[-1]
    assert (place.path, place.filesystem, place.size) == ("<Buffer>", None, buffer.size)
    with Path(path).open("rb") as file:
        assert file_format.make_fragment(file).to_table().equals(TABLE)


def test_make_fragment_resolves_filesystems(path: str) -> None:
    memory = MemoryFileSystem()
    memory.pipe_file("/fragment/f.toy", toy_bytes(TABLE).to_pybytes())
    assert toy_format().make_fragment("/fragment/f.toy", memory).to_table().equals(TABLE)
    assert toy_format().make_fragment(Path(path)).to_table().equals(TABLE)


def test_a_given_schema_spares_the_inspection() -> None:
    file_format = toy_format()
    fragment = file_format.make_fragment(toy_bytes(TABLE), physical_schema=TABLE.schema)
    assert fragment.physical_schema.equals(TABLE.schema)
    assert file_format.handler.log.num_inspected == 0


def test_the_payload_reaches_every_callback() -> None:
    file_format = toy_format()
    payload = {"zones": [1, 2]}
    fragment = file_format.make_fragment(toy_bytes(TABLE), payload=payload)
    assert fragment.payload is payload
    places = file_format.handler.log.places
    calls: list[Callable[[], object]] = [
        lambda: fragment.physical_schema,
        fragment.to_table,
        fragment.count_rows,
    ]
    for call in calls:
        places.clear()
        call()
        assert [place.payload is payload for place in places] == [True] * len(places) != []


def test_from_fragment_knows_its_own(path: str, tmp_path: Path) -> None:
    plain = next(pads.dataset(path, format=toy_format()).get_fragments())
    assert type(plain) is pads.Fragment
    assert LanceFileFragment.from_fragment(plain).path == path
    pq.write_table(TABLE, tmp_path / "f.parquet")
    with pytest.raises(InvalidArgumentError, match="not a fragment of Lance"):
        LanceFileFragment.from_fragment(next(pads.dataset(tmp_path / "f.parquet").get_fragments()))
    with pytest.raises(TypeError):
        LanceFileFragment.from_fragment(None)
    with pytest.raises(TypeError):
        LanceFileFragment()


def test_datasets_of_fragments_and_paths(path: str) -> None:
    file_format = toy_format()
    fragments = [file_format.make_fragment(path), file_format.make_fragment(path)]
    dataset = pads.FileSystemDataset(fragments, TABLE.schema, file_format, fragments[0].filesystem)
    assert dataset.count_rows() == 6
    dataset = pads.FileSystemDataset.from_paths(
        [path], TABLE.schema, file_format, pa.fs.LocalFileSystem(), partitions=[pc.field("g") == 1]
    )
    assert dataset.to_table().equals(TABLE)
    assert dataset.count_rows(filter=pc.field("a") > 1) == 2


def test_lance_dataset_knows_format_and_fragments(path: str) -> None:
    file_format = toy_format()
    dataset = LanceDataset.from_dataset(pads.dataset([path, path], format=file_format))
    assert isinstance(dataset, pads.FileSystemDataset)
    assert dataset.format == file_format
    assert [type(fragment) for fragment in dataset.fragments] == [LanceFileFragment] * 2
    assert [type(fragment) for fragment in dataset.get_fragments()] == [LanceFileFragment] * 2
    assert dataset.to_table().num_rows == 6
    assert dataset.files == [path, path]

    filtered = dataset.filter(pc.field("a") > 1)
    assert type(filtered) is LanceDataset
    assert filtered.format == file_format
    assert len(filtered.fragments) == 2
    assert filtered.count_rows() == 4
    narrow = filtered.replace_schema(TABLE.select(["a"]).schema)
    assert type(narrow) is LanceDataset
    assert narrow.to_table().column_names == ["a"]
    assert narrow.count_rows() == 4
    assert LanceDataset(dataset.fragments, TABLE.schema, file_format, dataset.filesystem).count_rows() == 6


def test_lance_dataset_refuses_other_formats(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "f.parquet")
    for other in (pads.dataset(tmp_path / "f.parquet"), pads.dataset(TABLE)):
        with pytest.raises(InvalidArgumentError, match="not a dataset of files of Lance"):
            LanceDataset.from_dataset(other)


def test_handlers_and_payloads_die_with_their_last_user(path: str) -> None:
    class Payload:
        pass

    handler, payload = ToyHandler(), Payload()
    watchers = [weakref.ref(handler), weakref.ref(payload)]
    file_format = ToyFormat(handler)
    fragment = file_format.make_fragment(path, payload=payload)
    fragment.to_table()
    dataset = pads.dataset(path, format=file_format)
    dataset.to_table()
    handler.log.places.clear()
    handler.log.requests.clear()
    del handler, payload, file_format
    gc.collect()
    assert all(watcher() is not None for watcher in watchers)
    del fragment, dataset
    # Threads of Arrow let go of a scan some moments after it ended.
    patience = time.monotonic() + 10
    while any(watcher() is not None for watcher in watchers) and time.monotonic() < patience:
        gc.collect()
        time.sleep(0.01)
    assert [watcher() for watcher in watchers] == [None, None]
