"""Manifests that claim billions in a few bytes, and that lead elsewhere: refused within a bound on memory.

Each bomb runs in a process of its own that may not have more address space than `ROOM_BYTES` beside what it begins
with: a list of what the bytes claim would not fit.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import manifests
import pyarrow as pa
import pyarrow.compute as pc
import pyroaring
import pytest
from fsspec.implementations.local import LocalFileSystem

import lance_arrow
from lance_arrow import LanceFormat, LanceTable, Limits
from lance_arrow.errors import CorruptManifestError, LanceError, ResourceLimitError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import BasePathMeta
from lance_arrow.manifests.base_scope import check_followed
from lance_arrow.manifests.deletions import read_deletions
from lance_arrow.manifests.fragments import DeletionFileMeta
from lance_arrow.proto.table_pb2 import DeletionFile, IndexSection, Manifest
from lance_arrow.scan.fragments.table_zones import TableZones

ROOM_BYTES = 512 << 20
ROWS = pa.table({"a": pa.array(range(60), pa.int64())})


def bomb(num_containers: int) -> bytes:
    """A roaring bitmap of full run containers, each 65,536 values in 14 bytes."""
    cookie, keys = struct.pack("<HH", 12347, num_containers - 1), range(num_containers)
    content = bytearray(cookie + b"\xff" * -(-num_containers // 8))
    content += b"".join(struct.pack("<HH", key, 0xFFFF) for key in keys)
    run = struct.pack("<HHH", 1, 0, 0xFFFF)
    begins = len(content) + 4 * num_containers
    content += b"".join(struct.pack("<I", begins + len(run) * key) for key in keys)
    return bytes(content + run * num_containers)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "lake" / "t.lance"
    made = LanceTable.create(path, ROWS, max_rows_per_file=20)
    made.delete(pc.field("a") == 3)
    made.create_zone_map("a")
    return path


def change_indices(path: Path, bitmap: bytes, copies: int = 1) -> None:
    """Let every index of the newest version cover these fragments, and list each several times."""
    manifest = manifests.newest(path)
    content, message = manifest.read_bytes(), manifests.message_of(manifest)
    (size,) = manifests.SIZE.unpack_from(content, message.index_section)
    section = IndexSection.FromString(content[message.index_section + 4 :][:size])
    (index,) = section.indices
    index.fragment_bitmap = bitmap
    for number in range(1, copies):
        section.indices.add().CopyFrom(index)
        section.indices[-1].uuid.uuid = number.to_bytes(16, "big")
    data = section.SerializeToString()
    message.index_section = 0
    message.ClearField("transaction_section")
    manifest.write_bytes(manifests.file_of(message, manifests.SIZE.pack(len(data)) + data))


def put_deletions(path: Path, content: bytes, *, is_bitmap: bool = True) -> None:
    """Replace the deletion file of the first fragment."""

    def edit(message: Manifest) -> None:
        deletion = message.fragments[0].deletion_file
        deletion.file_type = DeletionFile.BITMAP if is_bitmap else DeletionFile.ARROW_ARRAY
        deletion.num_deleted_rows = 0

    manifests.change(path, edit)
    meta = LanceTable.open(path).manifest.fragments[0].deletion
    assert meta is not None
    (path / "_deletions" / meta.name).write_bytes(content)


def said_within(room_bytes: int, code: str, *args: object) -> str:
    """Run code that prints in a process with bounded address space; the tools it needs are there before the bound."""
    head = f"""
import resource, sys
import pyarrow.compute as pc, pyarrow.dataset, pyarrow as pa
import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import LanceError
pages = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (pages + {room_bytes},) * 2)
path = sys.argv[1]
"""
    done = subprocess.run(
        [sys.executable, "-c", head + code, *map(str, args)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.strip()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is bounded on Linux")
@pytest.mark.parametrize("num_containers", [500, 65_536])
def test_an_index_that_covers_billions_of_fragments(table: Path, num_containers: int) -> None:
    change_indices(table, bomb(num_containers))
    code = """
filter = pc.field("a") == 30
found = [lance_arrow.dataset(path).to_table(filter=filter).num_rows]
found += [LanceTable.open(path).to_table(filter=filter).num_rows, LanceTable.open(path).count_rows(filter)]
print(found)
"""
    assert said_within(ROOM_BYTES, code, table) == "[1, 1, 1]"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is bounded on Linux")
@pytest.mark.parametrize("door", ["LanceTable.open(path).to_table()", "lance_arrow.dataset(path).to_table()"])
def test_a_bitmap_that_deletes_billions_of_rows(table: Path, door: str) -> None:
    put_deletions(table, bomb(4000))
    code = f"""
try:
    {door}
except LanceError as error:
    print(type(error).__name__, error)
"""
    said = said_within(ROOM_BYTES, code, table)
    assert said.startswith("CorruptManifestError row 262143999 is deleted, the fragment has 20")
    assert ".bin" in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is bounded on Linux")
def test_an_arrow_file_that_deletes_billions_of_rows(table: Path) -> None:
    schema = pa.schema([pa.field("row_id", pa.uint32(), nullable=False)])
    sink = pa.BufferOutputStream()
    rows = pa.array([0], pa.uint32()).take(pa.array([0] * 1_000_000))
    batch = pa.record_batch([rows], schema=schema)
    with pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(batch)
    content = sink.getvalue().to_pybytes()
    put_deletions(table, content, is_bitmap=False)
    with pytest.raises(CorruptManifestError, match="1000000 rows are deleted, the fragment has 20"):
        LanceTable.open(table).to_table()
    # A count that fits, in front of a buffer that does not.
    small = content.replace((1_000_000).to_bytes(8, "little"), (10).to_bytes(8, "little"))
    assert small != content
    put_deletions(table, small, is_bitmap=False)
    with pytest.raises(CorruptManifestError, match="declares 4000000 bytes for 10 rows"):
        LanceTable.open(table).to_table()


def test_more_deleted_rows_than_may_be_listed(tmp_path: Path) -> None:
    """Where so many rows may be deleted, the limit decides, before they are listed."""
    (tmp_path / "d.bin").write_bytes(bomb(65_536))
    meta = DeletionFileMeta(name="d.bin", is_bitmap=True, read_version=1, id=1)
    place = Location(LocalFileSystem(), str(tmp_path / "d.bin"))
    with pytest.raises(ResourceLimitError) as caught:
        read_deletions(place, meta, 1 << 32, manifest_path="m", limits=Limits())
    assert caught.value.detail == "max_expanded_bytes"


def test_many_indices_of_one_column_are_not_all_opened(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are opened for a filter do not grow with the indices that a manifest lists."""
    change_indices(table, bytes(pyroaring.BitMap([0, 1, 2]).serialize()), copies=5000)
    asked = []
    zones_of = TableZones._zones
    monkeypatch.setattr(TableZones, "_zones", lambda self, *args: asked.append(1) or zones_of(self, *args))
    opened = LanceTable.open(table)
    for _ in range(2):
        assert opened.count_rows(pc.field("a") == 30) == 1
    assert len(asked) == 1024


def base(path: Path, where: str, *, is_root: bool = True, deletion: bool = False) -> None:
    """Let the first file of the newest version, or its deletion file, lie in a base path."""

    def edit(message: Manifest) -> None:
        message.base_paths.add(id=7, path=where, is_dataset_root=is_root)
        fragment = message.fragments[0]
        (fragment.deletion_file if deletion else fragment.files[0]).base_id = 7

    manifests.change(path, edit)


def reads(path: Path, **options: bool) -> list[object]:
    """What every door says: how many rows there are, or the error."""
    found: list[object] = []
    for door in (
        lambda: LanceTable.open(path, **options).to_table(),
        lambda: LanceTable.open(path, **options).take([0]),
        lambda: LanceTable.open(path, **options).dataset().to_table(),
        lambda: lance_arrow.dataset(path, **options).to_table(),
        lambda: lance_arrow.dataset(path, **options).to_table(filter=pc.field("a") < 5),
    ):
        try:
            found.append(door().num_rows)
        except LanceError as error:
            found.append(error)
    return found


@pytest.mark.parametrize("spelt", ["{}", "file://{}", "{}/", "/.{}"])
@pytest.mark.parametrize("deletion", [False, True])
def test_bases_outside_are_refused_by_name(table: Path, tmp_path: Path, spelt: str, deletion: bool) -> None:
    outside = tmp_path / "elsewhere" / "s.lance"
    shutil.copytree(table, outside)
    where = spelt.format(outside)
    base(table, where, deletion=deletion)
    for error in reads(table):
        assert isinstance(error, UnsupportedError), error
        assert "allow_external_bases=True" in str(error)
        assert str(outside) in str(error)
    assert reads(table, allow_external_bases=True) == [59, 1, 59, 59, 4]


@pytest.mark.parametrize("spelt", ["{}/s.lance", "file://{}/s.lance", "{}/deeper/../s.lance", "{}//s.lance", "{}"])
def test_bases_beside_the_table_are_followed(table: Path, spelt: str) -> None:
    lake = table.parent
    shutil.copytree(table, lake / "s.lance")
    if spelt == "{}":
        shutil.copytree(table, lake, dirs_exist_ok=True)
    base(table, spelt.format(lake))
    if ".." in spelt:
        with pytest.raises(CorruptManifestError, match=r"contains '\.\.'"):
            LanceTable.open(table)
        return
    assert reads(table) == [59, 1, 59, 59, 4]


def test_prefixes_of_names_are_not_folders(table: Path) -> None:
    lake = table.parent
    shutil.copytree(table, lake.parent / "lake-of-another" / "s.lance")
    base(table, f"{lake}-of-another/s.lance")
    assert all(isinstance(one, UnsupportedError) for one in reads(table))


def test_no_base_is_relative_to_the_process(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(table, table.parent / "s.lance")
    monkeypatch.chdir(table.parent)
    for number, where in enumerate(("s.lance", "./s.lance", "file://s.lance", "~/s.lance", "file:s.lance")):
        path = table.parent / f"t{number}.lance"
        shutil.copytree(table, path)
        base(path, where)
        for options in ({}, {"allow_external_bases": True}):
            assert all(isinstance(one, UnsupportedError) for one in reads(path, **options)), where


def test_one_folder_by_two_names(table: Path, tmp_path: Path) -> None:
    """A link above the table leads to the same folder; one that is in the folder is followed like a file there."""
    shutil.copytree(table, table.parent / "s.lance")
    (tmp_path / "alias").symlink_to(table.parent)
    base(table, str(tmp_path / "alias" / "s.lance"))
    assert reads(table) == [59, 1, 59, 59, 4]


def test_bases_of_a_store(table: Path) -> None:
    """Stores of objects: the bucket's prefix is the folder, and a table that is a whole bucket has no neighbours."""
    facts = LanceTable.open(table).manifest.facts

    def follows(root: str, path: str, branch: str | None = None) -> bool:
        try:
            check_followed(root, branch, BasePathMeta(1, path, True), ("s3", "s3a"), allow_external=False)
        except UnsupportedError:
            return False
        return True

    assert facts.branch is None
    assert follows("bucket/lake/t.lance", "s3://bucket/lake/s.lance")
    assert follows("bucket/lake/t.lance", "bucket/lake/deep/s.lance")
    assert follows("bucket/t.lance", "s3://bucket/s.lance")
    assert follows("bucket/lake/t.lance/tree/a/b", "s3://bucket/lake/t.lance", "a/b")
    assert not follows("bucket/lake/t.lance/tree/a/b", "s3://bucket/other/t.lance", "a/b")
    assert not follows("bucket/lake/t.lance", "s3://bucket/lake-other/s.lance")
    assert not follows("bucket/lake/t.lance", "s3://other/lake/s.lance")
    assert not follows("bucket", "s3://other")
    assert not follows("https://host/t.lance", "https://other/s.lance")
    assert follows("https://host/lake/t.lance", "https://host/lake/s.lance")
    assert not follows("https://host/lake/t.lance", "http://host/lake/s.lance")


def test_clones_and_branches_of_ours(table: Path, tmp_path: Path) -> None:
    made = LanceTable.open(table)
    made.shallow_clone(table.parent / "near.lance")
    assert reads(table.parent / "near.lance") == [59, 1, 59, 59, 4]
    made.branches.create("feat/x")
    assert LanceTable.open(table, branch="feat/x").to_table().num_rows == 59
    assert lance_arrow.dataset(table, branch="feat/x").to_table().num_rows == 59
    branch = LanceTable.open(table.parent / "near.lance")
    branch.branches.create("y")
    assert LanceTable.open(table.parent / "near.lance", branch="y").to_table().num_rows == 59
    far = made.shallow_clone(tmp_path / "far" / "c.lance")
    assert far.to_table().num_rows == 59
    assert all(isinstance(one, UnsupportedError) for one in reads(tmp_path / "far" / "c.lance"))
    assert reads(tmp_path / "far" / "c.lance", allow_external_bases=True) == [59, 1, 59, 59, 4]


def test_formats_say_whether_they_follow() -> None:
    plain, allowed = LanceFormat(), LanceFormat(allow_external_bases=True)
    assert (plain.allow_external_bases, allowed.allow_external_bases) == (False, True)
    assert plain != allowed
    assert "allow_external_bases=True" in repr(allowed)
    with pytest.raises(LanceError, match="allow_external_bases"):
        LanceFormat(allow_external_bases="yes")  # type: ignore[arg-type]


def test_no_bytes_of_other_files_are_shown(table: Path) -> None:
    """A file that is no Lance file is refused without its content, even where it was allowed to be opened."""
    secret = b"Kq7:hunter2:Zw9xVb3#Yt5" * 4
    name = LanceTable.open(table).manifest.fragments[0].files[0].path
    (table / "data" / name).write_bytes(secret)
    manifests.change(table, lambda m: setattr(m.fragments[0].files[0], "file_size_bytes", 0))
    pieces = [secret[at : at + 4].decode() for at in range(len(secret) - 3)]
    for error in reads(table):
        assert isinstance(error, LanceError)
        assert not [piece for piece in pieces if piece in str(error).replace(str(table), "")], str(error)
    manifest = manifests.newest(table)
    manifest.write_bytes(manifest.read_bytes()[:-4] + b"XY9!")
    with pytest.raises(CorruptManifestError) as caught:
        LanceTable.open(table)
    assert "XY9!" not in str(caught.value)


def test_rows_that_no_file_proves(table: Path) -> None:
    """A fragment without files is all null, and as long as the manifest says: looked at up to a limit."""

    def edit(message: Manifest) -> None:
        del message.fragments[1:]
        message.fragments[0].ClearField("files")
        message.fragments[0].ClearField("deletion_file")
        message.fragments[0].physical_rows = 1 << 32

    manifests.change(table, edit)
    never = pc.field("a") == 3
    opened, dataset = LanceTable.open(table), lance_arrow.dataset(table)
    assert (opened.count_rows(), dataset.count_rows()) == (1 << 32, 1 << 32)
    assert opened.take([(1 << 32) - 1])["a"].to_pylist() == dataset.head(1)["a"].to_pylist() == [None]
    for door in (
        opened.to_table,
        dataset.to_table,
        lambda: opened.count_rows(never),
        lambda: dataset.count_rows(filter=never),
        lambda: dataset.to_table(filter=never),
    ):
        with pytest.raises(ResourceLimitError) as caught:
            door()
        assert caught.value.detail == "max_expanded_bytes"
