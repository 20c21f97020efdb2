"""`LanceFormat` over real files: what pyarrow's scanner gets and what it may not get wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from witness import Witness

from lance_arrow import LanceFile, LanceFormat
from lance_arrow import dataset as open_dataset
from lance_arrow.errors import InvalidArgumentError, TableNotFoundError

pytestmark = pytest.mark.interop

ROWS = 5000
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "grid": pa.array(
            [None if i % 7 == 0 else [[i, i + 1], [i + 2, i + 3]] for i in range(ROWS)],
            pa.list_(pa.list_(pa.int32(), 2), 2),
        ),
        "st": pa.array([None if i % 5 == 0 else {"a": i, "b": f"b{i}"} for i in range(ROWS)]),
        "text": pa.array([f"text {i % 100}" for i in range(ROWS)]),
    }
)


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return witness.write(TABLE, tmp_path_factory.mktemp("format") / "file.lance", "2.2")


def test_what_is_not_lance_can_be_excluded(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "good.lance")
    (tmp_path / "notes.txt").write_text("no Lance file, but long enough to hold a footer of forty bytes")
    (tmp_path / "short.txt").write_text("short")
    dataset = pads.dataset(str(tmp_path), format=LanceFormat(), exclude_invalid_files=True)
    assert [Path(file).name for file in dataset.files] == ["good.lance"]
    assert dataset.count_rows() == ROWS


def test_damage_is_no_reason_to_exclude(path: Path, tmp_path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-32:-24] = (2**63).to_bytes(8, "little")
    (tmp_path / "damaged.lance").write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged\.lance"):
        pads.dataset(str(tmp_path), format=LanceFormat(), exclude_invalid_files=True)


@pytest.mark.parametrize("batch_size", [7, 1000, 4999, 131072])
def test_filters_over_lists_in_fixed_size_lists(path: Path, batch_size: int) -> None:
    """pyarrow 26 filters slices of such lists wrongly, so its scanner must not be given slices."""
    dataset = pads.dataset(str(path), format=LanceFormat())
    wanted = pc.bit_wise_and(pc.field("id"), 3) == 1
    got = dataset.to_table(columns=["id", "grid"], filter=wanted, batch_size=batch_size)
    rows = {row["id"]: row["grid"] for row in TABLE.select(["id", "grid"]).to_pylist()}
    assert got.num_rows > 0
    assert all(rows[row["id"]] == row["grid"] for row in got.to_pylist())


@pytest.mark.parametrize("batch_size", [1, 100, 2048])
def test_batches_are_no_larger_than_wanted(path: Path, batch_size: int) -> None:
    dataset = pads.dataset(str(path), format=LanceFormat())
    batches = list(dataset.to_batches(columns=["id"], batch_size=batch_size))
    assert max(batch.num_rows for batch in batches) == batch_size
    assert pa.Table.from_batches(batches).column("id").equals(TABLE["id"])


def test_memory_comes_from_the_callers_pool(path: Path) -> None:
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pool.bytes_allocated()
    table = pads.dataset(str(path), format=LanceFormat()).to_table(memory_pool=pool, use_threads=False)
    assert pool.bytes_allocated() - before >= TABLE["id"].nbytes
    assert table.num_rows == ROWS
    del table


def test_nested_columns_are_projected(path: Path) -> None:
    dataset = pads.dataset(str(path), format=LanceFormat())
    got = dataset.to_table(columns=["st.b", "id"])
    assert got.column_names == ["b", "id"]
    assert got["b"].to_pylist() == [None if i % 5 == 0 else f"b{i}" for i in range(ROWS)]
    with LanceFile(path) as file:
        assert file.read(columns=["st.b", "id"]).equals(got)


def test_names_with_brackets_and_backslashes_are_read(witness: Witness, tmp_path: Path) -> None:
    """A name cut at its bracket would be a column that the file has not: read as null without a word."""
    rows = [{"x[0]": i, "y\\z": -i} for i in range(10)]
    table = pa.table({"size [mm]": pa.array(range(10)), "[a]": pa.array(range(10, 20)), "s[t]": pa.array(rows)})
    dataset = pads.dataset(str(witness.write(table, tmp_path / "names.lance", "2.1")), format=LanceFormat())
    assert dataset.to_table().equals(table)
    assert dataset.to_table(columns=["[a]"], filter=pc.field("size [mm]") > 7)["[a]"].to_pylist() == [18, 19]
    assert dataset.to_table(columns={"x": pc.field("s[t]", "x[0]")})["x"].to_pylist() == list(range(10))


@pytest.mark.parametrize("columns", ["id", [1], [None], 5])
def test_columns_are_lists_of_names(path: Path, columns: object) -> None:
    with LanceFile(path) as file, pytest.raises(InvalidArgumentError, match="columns"):
        file.read(columns)


def test_batch_sizes_are_positive_integers_of_any_size(path: Path) -> None:
    with LanceFile(path) as file:
        for wrong in (0, 1.5, -1, "9"):
            with pytest.raises(InvalidArgumentError, match="batch_size"):
                file.to_batches(["id"], batch_size=wrong)
        assert sum(batch.num_rows for batch in file.to_batches(["id"], batch_size=2**63)) == ROWS


@pytest.mark.parametrize("indices", [[], [1, 2], [3, 1], [1, 2, 2]])
def test_rows_without_columns_are_counted(path: Path, indices: list[int]) -> None:
    with LanceFile(path) as file:
        assert file.take(indices, []).num_rows == len(indices)


def test_versions_belong_to_tables(path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="not part of one"):
        pads.dataset(str(path), format=LanceFormat(version=1))
    with pytest.raises(InvalidArgumentError, match="one of version, tag and as_of"):
        LanceFormat(version=1, tag="x")
    with pytest.raises(TableNotFoundError, match="no table"):
        open_dataset(path, branch="b")


def test_formats_are_values() -> None:
    assert LanceFormat() == LanceFormat()
    assert LanceFormat(version=1) != LanceFormat(version=2)
    assert len({LanceFormat(), LanceFormat(), LanceFormat(version=1)}) == 2
    assert LanceFormat().default_extname == "lance"
    assert LanceFormat().default_fragment_scan_options is None


def test_schemas_of_files_evolve(witness: Witness, tmp_path: Path) -> None:
    witness.write(pa.table({"a": pa.array([1, 2], pa.int32())}), tmp_path / "1.lance", "2.1")
    witness.write(pa.table({"b": ["x"], "a": pa.array([3], pa.int64())}), tmp_path / "2.lance", "2.2")
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    got = pads.dataset(str(tmp_path), format=LanceFormat(), schema=schema).to_table().sort_by("a")
    assert got.to_pydict() == {"a": [1, 2, 3], "b": [None, None, "x"]}


def test_a_dataset_knows_its_format_and_filesystem(path: Path) -> None:
    dataset = open_dataset(path)
    assert dataset.format == LanceFormat()
    assert isinstance(dataset.filesystem, pa.fs.LocalFileSystem)
    assert [fragment.path for fragment in dataset.fragments] == [str(path)]
    assert dataset.to_table(filter=pc.field("id") == 17)["text"].to_pylist() == ["text 17"]
    listed = open_dataset([path, str(path)])
    assert listed.count_rows() == 2 * ROWS


def test_rows_can_be_taken_by_any_integers(path: Path) -> None:
    wanted = [4999, 0, 17, 17]
    expected = [TABLE["id"][i].as_py() for i in wanted]
    with LanceFile(path) as file:
        for indices in (
            wanted,
            np.array(wanted, np.uint16),
            pa.array(wanted),
            pa.chunked_array([wanted[:1], wanted[1:]]),
        ):
            assert file.take(indices, columns=["id"])["id"].to_pylist() == expected
        assert file.take([], columns=["id", "text"]).num_rows == 0
        for wrong in ([-1], [ROWS], [1.5], [[1]], [None], np.array([2**63], np.uint64)):
            with pytest.raises(InvalidArgumentError):
                file.take(wrong)
