"""Files named by a pattern, and files whose columns differ, as one dataset."""

from __future__ import annotations

import pickle
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pytest

import lance_arrow
from lance_arrow import LanceTable, errors, write_table

EMPTY = "no file matches"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for year in (2025, 2026):
        (tmp_path / str(year)).mkdir()
        for month in range(3):
            write_table(pa.table({"m": [year * 10 + month]}), tmp_path / str(year) / f"{month}.lance")
    (tmp_path / "2026" / "notes.txt").write_text("no rows")
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("2025/*.lance", [20250, 20251, 20252]),
        ("*/1.lance", [20251, 20261]),
        ("**/*.lance", [20250, 20251, 20252, 20260, 20261, 20262]),
        ("202?/[02].lance", [20250, 20252, 20260, 20262]),
    ],
)
def test_patterns(folder: Path, pattern: str, expected: list[int]) -> None:
    arrow, memory = pafs.LocalFileSystem(), fsspec.filesystem("memory")
    memory.put(str(folder), "/patterns", recursive=True)
    for dataset in (
        lance_arrow.dataset(folder / pattern),
        lance_arrow.dataset(f"{folder}/{pattern}", filesystem=arrow),
        lance_arrow.dataset(f"/patterns/{pattern}", filesystem=memory),
        lance_arrow.dataset(f"memory://patterns/{pattern}"),
        lance_arrow.dataset([folder / pattern]),
    ):
        assert dataset.to_table()["m"].to_pylist() == expected
        assert pickle.loads(pickle.dumps(dataset)).count_rows() == len(expected)
    memory.rm("/patterns", recursive=True)


def test_patterns_among_files(folder: Path) -> None:
    dataset = lance_arrow.dataset([folder / "2026" / "2.lance", folder / "2025" / "[01].lance"])
    assert dataset.to_table()["m"].to_pylist() == [20262, 20250, 20251]


def test_a_pattern_that_matches_nothing_is_an_error(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=EMPTY):
        lance_arrow.dataset(folder / "2027" / "*.lance")
    with pytest.raises(FileNotFoundError, match=EMPTY):
        # Folders are no files.
        lance_arrow.dataset(folder / "202*")


def test_names_with_brackets_are_names_first(tmp_path: Path) -> None:
    for name, number in (("a[1].lance", 1), ("a1.lance", 2)):
        write_table(pa.table({"n": [number]}), tmp_path / name)
    assert lance_arrow.dataset(tmp_path / "a[1].lance").to_table()["n"].to_pylist() == [1]
    LanceTable.create(tmp_path / "t[0]", pa.table({"n": [3]}))
    assert lance_arrow.dataset(tmp_path / "t[0]").to_table()["n"].to_pylist() == [3]


@pytest.fixture
def differing(tmp_path: Path) -> Path:
    write_table(pa.table({"a": pa.array([1, 2], pa.int32()), "s": ["x", "y"]}), tmp_path / "0.lance")
    write_table(pa.table({"a": pa.array([3, 1 << 40]), "b": [1.5, None]}), tmp_path / "1.lance")
    write_table(
        pa.table({"s": pa.array(["z"], pa.large_string()), "b": pa.array([1], pa.int8())}), tmp_path / "2.lance"
    )
    return tmp_path


def test_schemas_are_unified_on_request(differing: Path) -> None:
    expected = pa.table(
        {
            "a": pa.array([1, 2, 3, 1 << 40, None]),
            "s": pa.array(["x", "y", None, None, "z"], pa.large_string()),
            "b": pa.array([None, None, 1.5, None, 1.0]),
        }
    )
    dataset = lance_arrow.dataset(differing, unify_schemas=True)
    assert dataset.to_table().equals(expected)
    assert lance_arrow.dataset(differing / "*.lance", unify_schemas=True).to_table().equals(expected)
    assert dataset.take([4, 0]).equals(expected.take([4, 0]))
    assert dataset.head(3).equals(expected.slice(0, 3))
    assert dataset.count_rows("a > 2") == 2
    assert dataset.to_table(filter=pc.field("b").is_null())["a"].to_pylist() == [1, 2, 1 << 40]
    assert dataset.to_table(["a"], order_by=[("a", "descending", "at_start")], limit=2)["a"].to_pylist() == [
        None,
        1 << 40,
    ]
    assert dataset.describe(["a"])["a"].maximum.as_py() == 1 << 40
    assert pickle.loads(pickle.dumps(dataset)).to_table().equals(expected)


def test_without_a_request_the_first_file_decides(differing: Path) -> None:
    assert lance_arrow.dataset(differing).schema.names == ["a", "s"]


def test_types_without_a_common_one_are_named(differing: Path) -> None:
    write_table(pa.table({"s": [1]}), differing / "3.lance")
    with pytest.raises(errors.InvalidArgumentError, match="no type holds both") as caught:
        lance_arrow.dataset(differing, unify_schemas=True)
    assert caught.value.column == "s"
    assert caught.value.path.endswith("3.lance")


def test_one_of_schema_and_unify_schemas(differing: Path) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="give one"):
        lance_arrow.dataset(differing, unify_schemas=True, schema=pa.schema({"a": "int64"}))


def test_partitions_stay(tmp_path: Path) -> None:
    for year, rows in ((2025, {"a": [1]}), (2026, {"a": [2], "b": ["x"]})):
        (tmp_path / f"year={year}").mkdir()
        write_table(pa.table(rows), tmp_path / f"year={year}" / "f.lance")
    dataset = lance_arrow.dataset(tmp_path, partitioning="hive", unify_schemas=True)
    assert dataset.to_table(["year", "a", "b"], filter="year = 2026").to_pylist() == [{"year": 2026, "a": 2, "b": "x"}]
    assert dataset.to_table(["year", "b"], order_by=[("year", "descending")], limit=1)["b"].to_pylist() == ["x"]
