"""`pyarrow.dataset.write_dataset` with `LanceFormat`: partitions, files, behaviours, options, other formats."""

from __future__ import annotations

import pickle
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from lance_arrow import LanceFile, LanceFormat, LanceWriteOptions
from lance_arrow.errors import InvalidArgumentError, UnsupportedError

NUM_ROWS = 5_000
TABLE = pa.table(
    {
        "i": np.arange(NUM_ROWS),
        "part": [("north", "south", "east")[i % 3] for i in range(NUM_ROWS)],
        "l": pa.array([list(range(i % 4)) if i % 7 else None for i in range(NUM_ROWS)], pa.list_(pa.int16())),
    }
)


def written(folder: Path, **options: object) -> pads.Dataset:
    pads.write_dataset(TABLE, folder, format=LanceFormat(), **options)
    return pads.dataset(folder, format=LanceFormat(), partitioning=options.get("partitioning") and "hive")


def test_one_file(tmp_path: Path) -> None:
    dataset = written(tmp_path / "d")
    assert [Path(name).name for name in dataset.files] == ["part-0.lance"]
    assert dataset.to_table().equals(TABLE)


@pytest.mark.parametrize("flavor", ["hive", None])
def test_partitions(tmp_path: Path, flavor: str | None) -> None:
    partitioning = pads.partitioning(pa.schema([("part", pa.string())]), flavor=flavor)
    pads.write_dataset(TABLE, tmp_path / "d", format=LanceFormat(), partitioning=partitioning)
    dataset = pads.dataset(tmp_path / "d", format=LanceFormat(), partitioning=partitioning)
    assert len(dataset.files) == 3
    found = dataset.to_table(filter=pc.field("part") == "south", columns=["i", "l"]).sort_by("i")
    assert found.equals(TABLE.filter(pc.field("part") == "south").select(["i", "l"]))


def test_rows_per_file(tmp_path: Path) -> None:
    pads.write_dataset(
        TABLE,
        tmp_path / "d",
        format=LanceFormat(),
        max_rows_per_file=1200,
        max_rows_per_group=1200,
        preserve_order=True,
    )
    dataset = pads.dataset(tmp_path / "d", format=LanceFormat())
    assert len(dataset.files) == 5
    assert all(fragment.count_rows() <= 1200 for fragment in dataset.get_fragments())
    assert dataset.to_table().sort_by("i").equals(TABLE)


def test_existing_data(tmp_path: Path) -> None:
    written(tmp_path / "d")
    with pytest.raises(pa.ArrowInvalid):
        written(tmp_path / "d")
    assert written(tmp_path / "d", existing_data_behavior="overwrite_or_ignore").count_rows() == NUM_ROWS
    assert written(tmp_path / "d", existing_data_behavior="delete_matching").count_rows() == NUM_ROWS


def test_options_reach_the_files(tmp_path: Path) -> None:
    seen = []
    lance = LanceFormat()
    options = lance.make_write_options(file_version="2.1", page_bytes=1 << 12, on_file=seen.append)
    pads.write_dataset(TABLE, tmp_path / "d", format=lance, file_options=options)
    (path,) = (tmp_path / "d").iterdir()
    with LanceFile(path) as file:
        assert file.version == "2.1"
    ((found, size, num_rows),) = [(one.path, one.size, one.num_rows) for one in seen]
    assert (Path(found), size, num_rows) == (path, path.stat().st_size, NUM_ROWS)


def test_write_options_are_values() -> None:
    lance = LanceFormat()
    options = lance.make_write_options(preset="compact", column_options={"i": {"codec": "flat"}})
    assert options == lance.make_write_options(preset="compact", column_options={"i": {"codec": "flat"}})
    assert type(options) is LanceWriteOptions
    assert options != lance.make_write_options()
    assert options.format == lance
    assert pickle.loads(pickle.dumps(options)) == options
    assert "compact" in repr(options)
    with pytest.raises(InvalidArgumentError):
        lance.make_write_options(preset="none such")


def test_options_of_another_format_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError):
        pads.write_dataset(
            TABLE, tmp_path / "d", format=LanceFormat(), file_options=pads.ParquetFileFormat().make_write_options()
        )


def test_parquet_to_lance_and_back(tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "t.parquet")
    source = pads.dataset(tmp_path / "t.parquet")
    pads.write_dataset(source, tmp_path / "lance", format=LanceFormat())
    lance = pads.dataset(tmp_path / "lance", format=LanceFormat())
    assert lance.to_table().equals(TABLE)
    pads.write_dataset(lance, tmp_path / "parquet", format="parquet")
    assert pads.dataset(tmp_path / "parquet").to_table().equals(TABLE)


def test_lance_to_lance(tmp_path: Path) -> None:
    first = written(tmp_path / "a")
    scanner = first.scanner(filter=pc.field("i") < 100)
    pads.write_dataset(scanner, tmp_path / "b", format=LanceFormat())
    assert pads.dataset(tmp_path / "b", format=LanceFormat()).to_table().equals(TABLE.slice(0, 100))


def test_any_filesystem(tmp_path: Path) -> None:
    memory = fsspec.filesystem("memory")
    pads.write_dataset(TABLE, "/written/d", format=LanceFormat(), filesystem=memory)
    assert pads.dataset("/written/d", format=LanceFormat(), filesystem=memory).to_table().equals(TABLE)
    local = pyarrow.fs.SubTreeFileSystem(str(tmp_path), pyarrow.fs.LocalFileSystem())
    pads.write_dataset(TABLE, "d", format=LanceFormat(), filesystem=local)
    assert pads.dataset("d", format=LanceFormat(), filesystem=local).to_table().equals(TABLE)


def test_exceptions_come_through_as_they_are(tmp_path: Path) -> None:
    union = pa.UnionArray.from_dense(pa.array([0], pa.int8()), pa.array([0], pa.int32()), [pa.array([1])])
    with pytest.raises(UnsupportedError, match="struct") as caught:
        pads.write_dataset(pa.table({"u": union}), tmp_path / "d", format=LanceFormat())
    assert caught.value.column == "u"


def test_readers_and_generators(tmp_path: Path) -> None:
    pads.write_dataset(TABLE.to_reader(), tmp_path / "a", format=LanceFormat())
    assert pads.dataset(tmp_path / "a", format=LanceFormat()).to_table().equals(TABLE)
    pads.write_dataset(iter(TABLE.to_batches()), tmp_path / "b", format=LanceFormat(), schema=TABLE.schema)
    assert pads.dataset(tmp_path / "b", format=LanceFormat()).to_table().equals(TABLE)
