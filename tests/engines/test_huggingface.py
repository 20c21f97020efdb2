"""Hugging Face datasets hold the same rows, from its cache and as a stream; other files are another dataset."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceTable, write_table
from lance_arrow.integrations.huggingface import load

ROWS = 3000
TABLE = pa.table(
    {
        "id": range(ROWS),
        "text": [f"text {one}" if one % 9 else None for one in range(ROWS)],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(range(ROWS * 4), pa.float32()), 4),
        "tags": [[f"t{one % 3}"] * (one % 4) for one in range(ROWS)],
    }
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "files").mkdir()
    for number in range(3):
        write_table(TABLE.slice(number * 1000, 1000), tmp_path / "files" / f"{number}.lance", rows_per_zone=100)
    return tmp_path / "files"


def test_all_rows(folder: Path, tmp_path: Path) -> None:
    found = load(folder, cache_dir=tmp_path / "cache")
    assert found.num_rows == ROWS
    assert found[:]["text"] == TABLE["text"].to_pylist()
    assert found[7] == TABLE.slice(7, 1).to_pylist()[0]
    assert found[2999]["vector"] == TABLE["vector"][2999].as_py()


def test_columns_and_filter(folder: Path, tmp_path: Path) -> None:
    found = load(folder, columns=["text"], filter="id < 1010 AND id > 995", cache_dir=tmp_path / "cache")
    assert found[:] == {"text": TABLE["text"].to_pylist()[996:1010]}


def test_a_stream(folder: Path) -> None:
    found = load(folder, columns=["id"], filter="id >= 2998", streaming=True)
    assert [row["id"] for row in found] == [2998, 2999]
    assert load(folder, streaming=True).num_shards >= 1


def test_several_processes(folder: Path, tmp_path: Path) -> None:
    found = load(folder, columns=["id"], cache_dir=tmp_path / "cache", num_proc=2)
    assert sorted(found[:]["id"]) == list(range(ROWS))


def test_changed_files_are_read_again(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    assert load(folder, cache_dir=cache).num_rows == ROWS
    assert load(folder, columns=["id"], cache_dir=cache).column_names == ["id"]
    write_table(TABLE.slice(0, 10), folder / "3.lance")
    assert load(folder, cache_dir=cache).num_rows == ROWS + 10
    assert load(lance_arrow.dataset(folder / "3.lance"), cache_dir=cache).num_rows == 10
    assert os.listdir(cache)


def test_deleted_rows_are_not_found_in_the_cache(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", TABLE)
    for wanted in (ROWS, ROWS - 100, ROWS - 100):
        found = load(lance_arrow.dataset(tmp_path / "t"), columns=["id"], cache_dir=tmp_path / "cache")
        assert found.num_rows == wanted
        table.delete("id < 100")
    assert load(table.checkout(1).dataset(), columns=["id"], cache_dir=tmp_path / "cache").num_rows == ROWS
