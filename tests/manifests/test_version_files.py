"""Files that versions name: read natively from many manifests, and the same when each is read as a whole."""

from __future__ import annotations

from pathlib import Path

import manifests
import pyarrow as pa
import pytest

from lance_arrow import LanceTable
from lance_arrow.engine import NamedFiles
from lance_arrow.errors import CorruptManifestError, LanceError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests import version_files as room
from lance_arrow.manifests.version_files import version_files
from lance_arrow.manifests.versions import ManifestFile, list_manifests
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.settings import Limits


@pytest.fixture
def table(tmp_path: Path) -> LanceTable:
    made = LanceTable.create(tmp_path / "t.lance", pa.table({"a": range(10), "s": ["x"] * 10}), max_rows_per_file=4)
    made.append(pa.table({"a": [10, 11], "s": ["y", "z"]}))
    made.delete("a = 3")
    made.add_columns({"b": "a + 1"})
    made.delete("a = 9")
    return made


def changed(place: Path, message: Manifest) -> bytes:
    """The file of another message; the transaction in front of it stays."""
    content = place.read_bytes()
    return manifests.file_of(message, content[: manifests.FOOTER.unpack(content[-manifests.FOOTER.size :])[0]])


def read(table: LanceTable, one: ManifestFile, files: NamedFiles | None) -> object:
    root = Location(None, table.uri)
    data = memoryview((Path(table.uri) / "_versions" / str(one.name)).read_bytes())
    try:
        found = version_files(root, one, Limits(), data, files)
    except LanceError as error:
        return type(error), error.message
    return found.version, found.timestamp, found.manifest, found.names


def test_names_are_those_of_the_whole_manifest(table: LanceTable, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = list_manifests(Location(None, table.uri))
    whole = [read(table, one, None) for one in listed]
    monkeypatch.setattr(room, "manifest_from_bytes", None)
    files = NamedFiles()
    assert [read(table, one, files) for one in listed] == whole
    path = Path(table.uri)
    there = {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}
    assert set().union(*[names for *_, names in whole]) == there
    assert sum(name.startswith("_deletions/") for name in there) == 2


@pytest.mark.parametrize("kind", ["index", "base", "unknown", "unknown of a fragment", "unknown of the schema"])
def test_unusual_manifests_are_read_as_a_whole(table: LanceTable, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (*_, last) = list_manifests(Location(None, table.uri))
    place = Path(table.uri) / "_versions" / str(last.name)
    message = manifests.message_of(place)
    if kind == "index":
        table.create_zone_map("a")
        (*_, last) = list_manifests(Location(None, table.uri))
    elif kind == "base":
        message.base_paths.add(id=1, path="elsewhere")
        message.reader_feature_flags |= 16
        message.writer_feature_flags |= 16
        place.write_bytes(changed(place, message))
    elif kind == "unknown":
        message.MergeFromString(b"\xa2\x7d\x00")
        place.write_bytes(changed(place, message))
    else:
        held = message.fragments[0] if kind == "unknown of a fragment" else message.fields[0]
        held.MergeFromString(b"\xa2\x7d\x00")
        place.write_bytes(changed(place, message))
    expected = read(table, last, None)
    assert (expected[0] is UnsupportedError) is kind.startswith("unknown")
    assert read(table, last, NamedFiles()) == expected
    if kind == "unknown":
        assert "the manifest has the unknown field 2004" in str(expected)
    monkeypatch.setattr(room, "manifest_from_bytes", None)
    with pytest.raises(TypeError):
        read(table, last, NamedFiles())


def test_every_flipped_bit(table: LanceTable) -> None:
    (*_, last) = list_manifests(Location(None, table.uri))
    place = Path(table.uri) / "_versions" / str(last.name)
    # Without a checksum, which would tell of each.
    content = changed(place, manifests.message_of(place))
    files, kinds = NamedFiles(), set()
    for at in range(0, len(content)):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        place.write_bytes(damaged)
        expected = read(table, last, None)
        kinds.add(expected[0])
        assert read(table, last, files) == expected, at
    assert {CorruptManifestError, UnsupportedError, last.version} <= kinds
