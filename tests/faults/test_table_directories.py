"""Table directories give the rows of one version by every door; a manifest from the future is refused first."""

from __future__ import annotations

import struct
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from witness import Witness

import lance_arrow
from lance_arrow.errors import LanceError, UnsupportedFeatureFlagError
from lance_arrow.proto import table_pb2

pytestmark = pytest.mark.interop

TAIL = struct.Struct("<QHH4s")


@pytest.fixture
def table(witness: Witness, tmp_path: Path) -> Path:
    path = tmp_path / "table.lance"
    witness.write_directory(pa.table({"a": [1, 2, 3]}), path, "2.1")
    witness.write_directory(pa.table({"a": [4, 5]}), path, "2.1", mode="overwrite")
    return path


def doors(path: Path) -> list:
    """Every way to name the directory or a file of it as a data set."""
    data_file = next((path / "data").glob("*.lance"))
    return [
        lambda: pads.dataset(str(path), format=lance_arrow.LanceFormat()),
        lambda: pads.dataset(str(path / "data"), format=lance_arrow.LanceFormat()),
        lambda: pads.dataset(str(data_file), format=lance_arrow.LanceFormat()).to_table(),
        lambda: pads.dataset(
            str(path), format=lance_arrow.LanceFormat(), schema=pa.schema([("a", pa.int64())])
        ).to_table(),
        lambda: lance_arrow.dataset(path),
        lambda: lance_arrow.dataset(str(path)),
    ]


def set_reader_flags(path: Path, flags: int) -> None:
    """Rewrite the newest manifest with other reader feature flags."""
    manifest_path = sorted((path / "_versions").glob("*.manifest"))[0]
    content = manifest_path.read_bytes()
    position, major, minor, magic = TAIL.unpack(content[-TAIL.size :])
    (size,) = struct.unpack_from("<I", content, position)
    manifest = table_pb2.Manifest.FromString(content[position + 4 : position + 4 + size])
    manifest.reader_feature_flags = flags
    changed = manifest.SerializeToString()
    tail = TAIL.pack(position, major, minor, magic)
    manifest_path.write_bytes(content[:position] + struct.pack("<I", len(changed)) + changed + tail)


def test_every_door_shows_the_current_version(table: Path) -> None:
    """The file of the version that was overwritten yields nothing, that of the current one its rows."""
    whole, data, one_file, with_schema, ours, spelt = doors(table)
    for door in (whole, data, ours, spelt):
        assert door().to_table().to_pydict() == {"a": [4, 5]}
    assert with_schema().to_pydict() == {"a": [4, 5]}
    rows = [
        pads.dataset(str(path), format=lance_arrow.LanceFormat()).to_table()["a"].to_pylist()
        for path in sorted((table / "data").glob("*.lance"))
    ]
    assert sorted(rows) == [[], [4, 5]]
    assert one_file()["a"].to_pylist() in rows
    assert pads.dataset(str(table), format=lance_arrow.LanceFormat(version=1)).to_table().to_pydict() == {
        "a": [1, 2, 3]
    }


def test_unknown_reader_flag_comes_first(table: Path) -> None:
    set_reader_flags(table, 1 << 40)
    for door in doors(table):
        with pytest.raises(UnsupportedFeatureFlagError) as caught:
            door()
        assert str(table) in str(caught.value)


def test_manifest_that_cannot_be_parsed(table: Path) -> None:
    for manifest in (table / "_versions").glob("*.manifest"):
        manifest.write_bytes(manifest.read_bytes()[:-3] + b"XYZ")
    for door in doors(table):
        with pytest.raises(LanceError):
            door()


def test_a_single_data_file_given_as_a_file_reads(table: Path) -> None:
    """`LanceFile` reads one file and says nothing of tables."""
    rows = {lance_arrow.LanceFile(path).num_rows for path in (table / "data").glob("*.lance")}
    assert rows == {2, 3}
