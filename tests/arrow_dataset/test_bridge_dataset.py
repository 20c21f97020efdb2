"""The bridge under pyarrow.dataset: what users of any format do, done with the toy format."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from bridge_toys import ToyFormat, ToyHandler, toy_bytes, toy_format, write_toy
from fsspec.implementations.memory import MemoryFileSystem

NUM_ROWS = 100


def table(start: int = 0, stop: int = NUM_ROWS) -> pa.Table:
    """Rows [start, stop) of a table with a nested column."""
    ids = list(range(start, stop))
    return pa.table({"a": ids, "st": [{"x": i, "y": str(i)} for i in ids], "s": [f"s{i}" for i in ids]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three files, rows in order of file names."""
    for number, (start, stop) in enumerate([(0, 40), (40, 70), (70, NUM_ROWS)]):
        write_toy(tmp_path / f"{number}.toy", table(start, stop), rows_per_batch=9)
    return tmp_path


def test_a_path_a_folder_and_a_list_read_alike(folder: Path) -> None:
    paths = [str(folder / f"{number}.toy") for number in range(3)]
    assert pads.dataset(str(folder), format=toy_format()).to_table().equals(table())
    assert pads.dataset(paths, format=toy_format()).to_table().equals(table())
    assert pads.dataset(paths[1], format=toy_format()).to_table().equals(table(40, 70))


def test_the_dataset_is_arrows_own(folder: Path) -> None:
    dataset = pads.dataset(str(folder), format=toy_format())
    assert type(dataset) is pads.FileSystemDataset
    assert dataset.schema.equals(table().schema)
    assert [Path(path).name for path in dataset.files] == ["0.toy", "1.toy", "2.toy"]


@pytest.mark.parametrize("use_threads", [True, False])
def test_projection_and_filter_arrive_and_hold(folder: Path, use_threads: bool) -> None:
    file_format = toy_format()
    dataset = pads.dataset(str(folder), format=file_format)
    condition = (pc.field("a") >= 35) & (pc.field("a") < 45)
    result = dataset.to_table(columns=["s"], filter=condition, use_threads=use_threads)
    assert result.equals(table(35, 45).select(["s"]))
    for request in file_format.handler.log.requests:
        assert request.columns == ("a", "s")
        assert request.filter.equals(condition) or "a >= 35" in str(request.filter)
        assert request.use_threads is use_threads
        assert request.dataset_schema.equals(table().schema)


def test_nested_columns_are_asked_for_by_path(folder: Path) -> None:
    file_format = toy_format()
    dataset = pads.dataset(str(folder), format=file_format)
    result = dataset.to_table(columns=["st.y"])
    assert file_format.handler.log.requests[-1].columns == ("st.y",)
    assert result.column(0).to_pylist() == [str(i) for i in range(NUM_ROWS)]
    result = dataset.to_table(columns={"q": pc.field("st", "x") + pc.field("a")})
    assert file_format.handler.log.requests[-1].columns == ("st.x", "a")
    assert result.column("q").to_pylist() == [2 * i for i in range(NUM_ROWS)]


def test_paths_are_unique_named_and_escaped(tmp_path: Path) -> None:
    write_toy(tmp_path / "f", pa.table({"a.b": [1, 2], "c": [3, 4]}))
    file_format = toy_format()
    dataset = pads.dataset(str(tmp_path / "f"), format=file_format)
    twice = {"p": pc.field("c"), "q": pc.field("c"), "r": pc.field(1), "s": pc.field(("a.b",))}
    assert dataset.to_table(columns=twice, filter=pc.field("c") > 3).to_pylist() == [{"p": 4, "q": 4, "r": 4, "s": 2}]
    assert file_format.handler.log.requests[-1].columns == ("c", r"a\.b")


def test_absent_columns_are_mentioned_and_come_out_null(folder: Path) -> None:
    file_format = toy_format()
    wider = table().schema.append(pa.field("later", pa.int32()))
    dataset = pads.dataset(str(folder), format=file_format, schema=wider)
    result = dataset.to_table(columns=["later", "a", "__filename"])
    assert file_format.handler.log.num_inspected == 0
    assert file_format.handler.log.requests[-1].columns == ("later", "a", "__filename")
    assert result.column("later").null_count == NUM_ROWS
    assert result.column("__filename")[0].as_py().endswith("0.toy")


@pytest.mark.parametrize("use_threads", [True, False])
def test_no_columns_still_count(folder: Path, use_threads: bool) -> None:
    dataset = pads.dataset(str(folder), format=toy_format())
    assert dataset.to_table(columns=[], use_threads=use_threads).num_rows == NUM_ROWS
    assert dataset.to_table(columns=[], filter=pc.field("a") < 13, use_threads=use_threads).num_rows == 13


def test_count_rows_by_metadata_or_by_scan(folder: Path) -> None:
    file_format = toy_format()
    dataset = pads.dataset(str(folder), format=file_format)
    assert dataset.count_rows() == NUM_ROWS
    assert (file_format.handler.log.num_counted, file_format.handler.log.requests) == (3, [])
    assert dataset.count_rows(filter=pc.field("a") >= 60) == 40
    assert [request.columns for request in file_format.handler.log.requests] == [("a",)] * 3
    assert dataset.scanner(use_threads=False, filter=pc.field("a") < 1).count_rows() == 1


@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_batch_size_is_passed_and_kept(folder: Path, batch_size: int) -> None:
    file_format = toy_format()
    dataset = pads.dataset(str(folder), format=file_format)
    batches = list(dataset.to_batches(batch_size=batch_size))
    assert max(batch.num_rows for batch in batches) == min(batch_size, 9)
    assert pa.Table.from_batches(batches).equals(table())
    assert {request.batch_size for request in file_format.handler.log.requests} == {batch_size}


def test_head_take_sort_filter_join_union(folder: Path) -> None:
    dataset = pads.dataset(str(folder), format=toy_format())
    assert dataset.head(5).equals(table(0, 5))
    assert dataset.take(pa.array([99, 3, 3, 41])).column("a").to_pylist() == [99, 3, 3, 41]
    assert dataset.sort_by([("a", "descending")]).to_table().column("a").to_pylist() == list(range(NUM_ROWS))[::-1]
    filtered = dataset.filter(pc.field("a") > 90).filter(pc.field("a") < 93)
    assert filtered.to_table().equals(table(91, 93))
    right = pads.dataset(pa.table({"a": [5, 7], "z": ["p", "q"]}))
    left = pads.dataset(str(folder), format=toy_format(), schema=pa.schema({"a": pa.int64(), "s": pa.string()}))
    joined = left.join(right, "a", join_type="inner").to_table().sort_by("a")
    assert joined.to_pylist() == [{"a": 5, "s": "s5", "z": "p"}, {"a": 7, "s": "s7", "z": "q"}]
    union = pads.dataset([dataset, dataset])
    assert isinstance(union, pads.UnionDataset)
    assert union.count_rows() == 2 * NUM_ROWS
    assert union.to_table().num_rows == 2 * NUM_ROWS


def test_scanners_from_dataset_and_fragment(folder: Path) -> None:
    dataset = pads.dataset(str(folder), format=toy_format())
    assert pads.Scanner.from_dataset(dataset, columns=["a"]).to_table().equals(table().select(["a"]))
    fragments = list(dataset.get_fragments())
    assert pads.Scanner.from_fragment(fragments[1]).to_table().equals(table(40, 70))
    assert fragments[2].count_rows() == 30
    assert fragments[0].head(3).equals(table(0, 3))
    assert dataset.scanner().to_reader().read_all().equals(table())
    assert dataset.replace_schema(pa.schema({"s": pa.string()})).to_table().equals(table().select(["s"]))


def test_hive_partitions_prune_files(tmp_path: Path) -> None:
    for group in (1, 2):
        (tmp_path / f"g={group}").mkdir()
        write_toy(tmp_path / f"g={group}" / "f.toy", table(10 * group, 10 * group + 5))
    file_format = toy_format()
    dataset = pads.dataset(str(tmp_path), format=file_format, partitioning="hive")
    result = dataset.to_table(filter=pc.field("g") == 2, columns=["a", "g"])
    assert result.to_pydict() == {"a": [20, 21, 22, 23, 24], "g": [2] * 5}
    assert len(file_format.handler.log.requests) == 1
    assert len(list(dataset.get_fragments(filter=pc.field("g") == 1))) == 1


def test_invalid_files_are_left_out_on_request_only(folder: Path) -> None:
    (folder / "4.txt").write_bytes(b"no toy at all")
    dataset = pads.dataset(str(folder), format=toy_format(), exclude_invalid_files=True)
    assert len(dataset.files) == 3
    kept = pads.dataset(str(folder), format=toy_format())
    with pytest.raises(pa.ArrowInvalid):
        kept.to_table()


def test_fsspec_filesystems_come_out_bare_with_sizes_from_listings() -> None:
    filesystem = MemoryFileSystem()
    filesystem.pipe_file("/bridge/f.toy", toy_bytes(table()).to_pybytes())
    file_format = toy_format()
    dataset = pads.dataset("/bridge", format=file_format, filesystem=filesystem)
    assert dataset.to_table().equals(table())
    place = file_format.handler.log.places[-1]
    assert place.filesystem is filesystem
    assert place.size == filesystem.size("/bridge/f.toy")
    pads.dataset("fsspec+memory:///bridge", format=file_format).to_table()
    place = file_format.handler.log.places[-1]
    assert isinstance(place.filesystem, MemoryFileSystem)
    assert place.filesystem.exists(place.path)


def test_local_filesystems_stay_pyarrows(folder: Path) -> None:
    file_format = toy_format()
    pads.dataset(str(folder), format=file_format).to_table()
    place = file_format.handler.log.places[-1]
    assert isinstance(place.filesystem, pa.fs.LocalFileSystem)
    assert place.size == Path(place.path).stat().st_size
    inside = pa.fs.SubTreeFileSystem(str(folder), pa.fs.LocalFileSystem())
    assert pads.dataset("0.toy", format=file_format, filesystem=inside).to_table().equals(table(0, 40))
    place = file_format.handler.log.places[-1]
    assert Path(place.path) == folder / "0.toy"


def test_formats_compare_and_hash_by_class_and_handler() -> None:
    class OtherFormat(ToyFormat):
        pass

    one = toy_format(name="x")
    assert one == toy_format(name="x")
    assert hash(one) == hash(toy_format(name="x"))
    assert one != toy_format(name="y")
    assert one != OtherFormat(one.handler)
    assert one != "x"
    assert one != pads.IpcFileFormat()
    assert (one.type_name, one.default_extname, one.default_fragment_scan_options) == ("lance", "lance", None)
    assert repr(one) == "ToyFormat(ToyHandler(name='x'))"


def test_files_are_written_through_the_handler(tmp_path: Path) -> None:
    handler = ToyHandler()
    one = ToyFormat(handler)
    options = one.write_options({"for": "the handler"})
    pads.write_dataset(table(), tmp_path / "out", format=one, file_options=options, basename_template="{i}.toy")
    assert handler.log.written == [({"for": "the handler"}, str(tmp_path / "out" / "0.toy"))]
    assert pads.dataset(tmp_path / "out", format=one).to_table().equals(table())


def test_an_exception_of_a_writer_arrives_as_it_is(tmp_path: Path) -> None:
    class Refusing(ToyHandler):
        def make_writer(self, *_: object) -> None:
            raise KeyError("not this one")

    with pytest.raises(KeyError, match="not this one"):
        pads.write_dataset(table(), tmp_path / "out", format=ToyFormat(Refusing()), basename_template="{i}.toy")


def test_inspect_takes_paths_buffers_and_open_files(folder: Path) -> None:
    file_format = toy_format()
    path = folder / "0.toy"
    local = pa.fs.LocalFileSystem()
    assert file_format.inspect(str(path), local).equals(table().schema)
    assert file_format.inspect(path).equals(table().schema)
    assert file_format.inspect(path.as_uri()).equals(table().schema)
    assert file_format.inspect(toy_bytes(table())).equals(table().schema)
    with path.open("rb") as file:
        assert file_format.inspect(file).equals(table().schema)
    memory = MemoryFileSystem()
    memory.pipe_file("/inspect/f.toy", path.read_bytes())
    assert file_format.inspect("/inspect/f.toy", memory).equals(table().schema)
    assert file_format.handler.log.places[-1].filesystem is memory
