"""Files of other formats are named by every reader, with what makes a Lance file of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.dataset as pads
import pyarrow.fs as arrow_fs
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

import lance_arrow
from lance_arrow.errors import CorruptFileError

TABLE = pa.table({"id": range(3000), "name": [f"é{row}, of many" for row in range(3000)]})


def write_stream(table: pa.Table, path: str) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write(table)


def write_json(table: pa.Table, path: str) -> None:
    Path(path).write_text("".join(f'{{"id": {row}}}\n' for row in range(len(table))))


WRITERS = {
    "a Parquet file": pq.write_table,
    "an Arrow IPC file": feather.write_feather,
    "an Arrow IPC stream": write_stream,
    "an ORC file": orc.write_table,
    "text, perhaps CSV": arrow_csv.write_csv,
    "text, perhaps JSON": write_json,
}
READERS = {
    "LanceFile": lance_arrow.LanceFile,
    "read_table": lance_arrow.read_table,
    "read_schema": lance_arrow.read_schema,
    "verify": lance_arrow.verify,
    "dataset": lance_arrow.dataset,
    "pyarrow": lambda path: pads.dataset(path, format=lance_arrow.LanceFormat()),
    "fragment": lambda path: lance_arrow.LanceFormat().make_fragment(path).to_table(),
}


@pytest.mark.parametrize("rows", [1, 3000])
@pytest.mark.parametrize("kind", WRITERS)
def test_each_kind(tmp_path: Path, kind: str, rows: int) -> None:
    path = str(tmp_path / "other.lance")
    WRITERS[kind](TABLE.slice(0, rows), path)
    with pytest.raises(CorruptFileError, match=f"^not a Lance file but {kind}: .*lance-arrow convert FILE") as raised:
        lance_arrow.LanceFile(path)
    assert raised.value.path == path


@pytest.mark.parametrize("reader", READERS)
def test_each_reader(tmp_path: Path, reader: str) -> None:
    path = str(tmp_path / "other.lance")
    pq.write_table(TABLE, path)
    with pytest.raises(CorruptFileError, match="not a Lance file but a Parquet file"):
        READERS[reader](path)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not a Lance file: it is empty"),
        (b"\x00\x01" * 40, "not a Lance file: it does not end with"),
        (b"\xff" * 200, "not a Lance file: it does not end with"),
        (b"some words without a comma\n" * 9, "not a Lance file but text: "),
        ("é".encode() * 5000, "not a Lance file but text: "),
        (b"   \n" * 30, "not a Lance file: it does not end with"),
    ],
)
def test_what_is_no_table_is_not_to_be_converted(content: bytes, said: str) -> None:
    with pytest.raises(CorruptFileError) as raised:
        lance_arrow.LanceFile(content)
    assert raised.value.message.startswith(said)
    assert "convert" not in raised.value.message


def folders(path: Path) -> dict[str, Callable[[], object]]:
    return {
        "local": lambda: lance_arrow.read_table(path),
        "fsspec": lambda: lance_arrow.read_table(
            str(path), filesystem=fsspec.filesystem("dir", path="/", fs=fsspec.filesystem("file"))
        ),
        "pyarrow": lambda: lance_arrow.read_table(
            path.name, filesystem=arrow_fs.SubTreeFileSystem(str(path.parent), arrow_fs.LocalFileSystem())
        ),
    }


@pytest.mark.parametrize("kind", ["local", "fsspec", "pyarrow"])
def test_a_folder_names_what_opens_it(tmp_path: Path, kind: str) -> None:
    lance_arrow.LanceTable.create(tmp_path / "t.lance", TABLE)
    with pytest.raises(IsADirectoryError, match=r"lance_arrow\.dataset opens tables"):
        folders(tmp_path / "t.lance")[kind]()
