"""Manifests, deletion files and row ids that lie: each is refused by every door, with the place."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyroaring
import pytest
from witness import Witness

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.cli.app import run
from lance_arrow.errors import (
    CorruptFileError,
    CorruptManifestError,
    InvalidArgumentError,
    LanceError,
    MissingFileError,
    UnsupportedError,
    UnsupportedFeatureFlagError,
)
from lance_arrow.proto.rowids_pb2 import RowIdSequence
from lance_arrow.proto.table_pb2 import DeletionFile, Manifest

pytestmark = pytest.mark.interop

ROWS = pa.table({"a": pa.array(range(60), pa.int64()), "b": [f"s{i}" for i in range(60)]})


@pytest.fixture(scope="module")
def made(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> dict[bool, Path]:
    """A table of three fragments with deleted rows, without and with stable row ids."""
    found = {}
    for stable in (False, True):
        path = tmp_path_factory.mktemp("tables") / "t.lance"
        witness.write_directory(ROWS, path, "2.2", max_rows_per_file=20, enable_stable_row_ids=stable)
        witness.change_table(path, {"do": "delete", "predicate": "a = 3 or a = 45"})
        found[stable] = path
    return found


@dataclass(frozen=True)
class Lie:
    """One thing changed in a good manifest.

    Parameters
    ----------
    name
        For the test's id.
    edit
        Changes the message.
    error
        What is raised, by opening the table or by reading it.
    stable
        Whether the table has stable row ids.
    """

    name: str
    edit: Callable[[Manifest], object]
    error: type[LanceError] = CorruptManifestError
    stable: bool = False


def first_file(message: Manifest, **values: object) -> None:
    for name, value in values.items():
        setattr(message.fragments[0].files[0], name, value)


def base(message: Manifest, path: str, *, ids: tuple[int, ...] = (0,), used: int | None = 0) -> None:
    for number in ids:
        message.base_paths.add(id=number, path=path, is_dataset_root=True)
    if used is not None:
        message.fragments[0].files[0].base_id = used


def row_ids(message: Manifest, fragment: int = 0, **segment: object) -> None:
    sequence = RowIdSequence()
    sequence.segments.add(**segment)
    message.fragments[fragment].inline_row_ids = sequence.SerializeToString()


def listed(first: int, start: int = 0) -> dict[str, object]:
    """Twenty ids in a list."""
    return {"u64_array": {"values": np.array([first, *range(start, start + 19)], "<u8").tobytes()}}


def without_files(message: Manifest) -> None:
    message.fragments[0].ClearField("files")
    message.fragments[0].physical_rows = 0


def absurd_bitmap(message: Manifest) -> None:
    row_ids(message, range_with_bitmap={"start": 0, "end": 1 << 60, "bitmap": b"x"})


LIES = [
    Lie("reader-flag", lambda m: setattr(m, "reader_feature_flags", 1 << 40), UnsupportedFeatureFlagError),
    Lie("fragment-tree-flag", lambda m: setattr(m, "reader_feature_flags", 4096), UnsupportedFeatureFlagError),
    Lie("overlay-flag", lambda m: setattr(m, "reader_feature_flags", 64), UnsupportedFeatureFlagError),
    Lie("mixed-flag-for-readers-only", lambda m: setattr(m, "reader_feature_flags", 256)),
    Lie("fragment-tree", lambda m: setattr(m, "fragment_tree", b"x"), UnsupportedError),
    Lie("other-version", lambda m: setattr(m, "version", 7)),
    Lie("path-climbs", lambda m: first_file(m, path="../../secret.lance")),
    Lie("path-climbs-inside", lambda m: first_file(m, path="a/../../../secret.lance")),
    Lie("path-absolute", lambda m: first_file(m, path="/etc/passwd")),
    Lie("path-url", lambda m: first_file(m, path="s3://bucket/secret.lance")),
    Lie("path-empty", lambda m: first_file(m, path="")),
    Lie("path-backslash", lambda m: first_file(m, path="..\\..\\secret.lance")),
    Lie("file-missing", lambda m: first_file(m, path="gone.lance"), MissingFileError),
    Lie("file-size", lambda m: first_file(m, file_size_bytes=12)),
    Lie("file-version", lambda m: first_file(m, file_major_version=9), UnsupportedError),
    Lie("columns-too-few", lambda m: m.fragments[0].files[0].column_indices.pop()),
    Lie("columns-outside", lambda m: m.fragments[0].files[0].column_indices.__setitem__(0, 1 << 30)),
    Lie("columns-negative", lambda m: m.fragments[0].files[0].column_indices.__setitem__(0, -5)),
    Lie("field-id-negative", lambda m: m.fragments[0].files[0].fields.__setitem__(0, -1)),
    Lie("columns-swapped", lambda m: m.fragments[0].files[0].fields.__setitem__(slice(None), [1, 0]), CorruptFileError),
    Lie("base-unknown", lambda m: base(m, "/elsewhere", ids=(), used=5)),
    Lie("base-twice", lambda m: base(m, "/elsewhere", ids=(0, 0))),
    Lie("base-climbs", lambda m: base(m, "../../..")),
    Lie("base-empty", lambda m: base(m, "")),
    Lie("base-elsewhere", lambda m: base(m, "https://example.invalid/t.lance"), UnsupportedError),
    Lie("base-outside", lambda m: base(m, "/no/such/folder"), UnsupportedError),
    Lie("base-relative", lambda m: base(m, "no/such/folder"), UnsupportedError),
    Lie("base-climbs-encoded", lambda m: base(m, "/a/%2e%2e/b")),
    Lie("base-long", lambda m: base(m, "/" + "a" * 100_000)),
    Lie("path-dot", lambda m: first_file(m, path=".")),
    Lie("path-folder", lambda m: first_file(m, path="sub/")),
    Lie("path-name-long", lambda m: first_file(m, path="a" * 300), MissingFileError),
    Lie("path-long", lambda m: first_file(m, path="a" * 100_000)),
    Lie("file-size-absurd", lambda m: first_file(m, file_size_bytes=1 << 63)),
    Lie("rows-more", lambda m: setattr(m.fragments[0], "physical_rows", 21)),
    Lie("rows-fewer", lambda m: setattr(m.fragments[0], "physical_rows", 19)),
    Lie("rows-absurd", lambda m: setattr(m.fragments[0], "physical_rows", 1 << 60)),
    Lie("fragment-id-absurd", lambda m: setattr(m.fragments[2], "id", 1 << 40)),
    Lie("rows-without-files", without_files),
    Lie("overlays", lambda m: m.fragments[0].overlays.add(), UnsupportedError),
    Lie("external-row-ids", lambda m: setattr(m.fragments[0].external_row_ids, "path", "x"), UnsupportedError),
    Lie("deletion-missing", lambda m: setattr(m.fragments[0].deletion_file, "id", 1), MissingFileError),
    Lie("deletion-count", lambda m: setattr(m.fragments[0].deletion_file, "num_deleted_rows", 2)),
    Lie("deletion-all", lambda m: setattr(m.fragments[0].deletion_file, "num_deleted_rows", 100)),
    Lie("deletion-type", lambda m: setattr(m.fragments[0].deletion_file, "file_type", 7), UnsupportedError),
    Lie("schema-id-twice", lambda m: setattr(m.fields[1], "id", 0)),
    Lie("schema-parent-later", lambda m: setattr(m.fields[0], "parent_id", 1)),
    Lie("schema-parent-itself", lambda m: setattr(m.fields[1], "parent_id", 1)),
    Lie("schema-name-twice", lambda m: setattr(m.fields[1], "name", "a")),
    Lie("schema-type", lambda m: setattr(m.fields[0], "logical_type", "decimal:128:99:2")),
    Lie("schema-type-unknown", lambda m: setattr(m.fields[0], "logical_type", "quaternion"), UnsupportedError),
    Lie("section-outside", lambda m: setattr(m, "transaction_section", 1 << 50)),
    Lie("index-outside", lambda m: setattr(m, "index_section", 1 << 62)),
    Lie("timestamp", lambda m: setattr(m.timestamp, "seconds", 1 << 60)),
    Lie("row-ids-missing", lambda m: m.fragments[0].ClearField("inline_row_ids"), stable=True),
    Lie("row-ids-fewer", lambda m: row_ids(m, range={"start": 0, "end": 19}), stable=True),
    Lie("row-ids-more", lambda m: row_ids(m, range={"start": 0, "end": 21}), stable=True),
    Lie("row-ids-absurd", lambda m: row_ids(m, range={"start": 0, "end": 1 << 60}), stable=True),
    Lie("row-ids-backwards", lambda m: row_ids(m, range={"start": 20, "end": 0}), stable=True),
    Lie("row-ids-bitmap", absurd_bitmap, stable=True),
    Lie("row-ids-formless", row_ids, stable=True),
    Lie("row-ids-of-the-future", lambda m: row_ids(m, range={"start": 50, "end": 70}), stable=True),
    Lie("row-ids-listed-of-the-future", lambda m: row_ids(m, array=listed(60)), stable=True),
    Lie("next-row-id-too-low", lambda m: setattr(m, "next_row_id", 19), stable=True),
    Lie("row-ids-garbage", lambda m: setattr(m.fragments[0], "inline_row_ids", b"\xff\xff"), stable=True),
]  # fmt: skip


def doors(path: Path) -> list[Callable[[], object]]:
    """Every way to the rows of a table, row ids among them where there are."""
    names = ["a", "b", "_rowid"]
    return [
        lambda: LanceTable.open(path).to_table(columns=names),
        lambda: LanceTable.open(path).take([0, 1], columns=names),
        lambda: lance_arrow.dataset(path).to_table(columns=names),
    ]


@pytest.mark.parametrize("lie", LIES, ids=[lie.name for lie in LIES])
def test_refused_by_every_door(made: dict[bool, Path], tmp_path: Path, lie: Lie) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(made[lie.stable], path)
    manifests.change(path, lie.edit)
    for door in doors(path):
        with pytest.raises(lie.error) as caught:
            door()
        assert str(tmp_path) in str(caught.value)


ID_LIES = [lie for lie in LIES if lie.name.startswith(("row-ids-", "next-row-id"))]


def spark_reader(path: Path) -> object:
    source = pytest.importorskip("lance_arrow.spark.source")
    return source.LanceDataSource({"path": str(path)}).schema()


@pytest.mark.share(2)
@pytest.mark.parametrize("lie", ID_LIES, ids=[lie.name for lie in ID_LIES])
def test_row_ids_are_refused_where_the_version_is_opened(
    made: dict[bool, Path], tmp_path: Path, lie: Lie, capfd: pytest.CaptureFixture[str]
) -> None:
    """The ids were not requested."""
    path = tmp_path / "t.lance"
    shutil.copytree(made[True], path)
    manifests.change(path, lie.edit)
    opening = [
        lambda: LanceTable.open(path),
        lambda: lance_arrow.dataset(path),
        lambda: pads.dataset(path, format=LanceFormat()),
        lambda: spark_reader(path),
    ]
    for door in opening:
        with pytest.raises(lie.error, match=manifests.newest(path).name):
            door()
    for command in (["schema"], ["head"], ["table", "log"], ["verify"]):
        assert run([*command, str(path)]) == 1
        written = capfd.readouterr()
        assert "fragment 0" in written.out + written.err


@pytest.mark.parametrize(
    ("edit", "row_id", "said"),
    [
        (
            lambda m: setattr(m, "next_row_id", 59),
            5,
            "a row has the id 59, the manifest says that new rows get ids from 59",
        ),
        (
            lambda m: row_ids(m, range={"start": 30, "end": 50}),
            35,
            "the row id 35 is of two rows, in the fragments 0 and 1",
        ),
        (lambda m: row_ids(m, 2, array=listed(25, 40)), 25, "the row id 25 is of two rows, in the fragments 1 and 2"),
        (lambda m: row_ids(m, array=listed(1)), 1, "the row id 1 is of two rows, in the fragments 0 and 0"),
    ],
)
def test_a_row_is_not_found_by_an_id_that_lies(
    made: dict[bool, Path], tmp_path: Path, edit: Callable[[Manifest], object], row_id: int, said: str
) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(made[True], path)
    manifests.change(path, edit)
    with pytest.raises(CorruptManifestError, match=said) as caught:
        LanceTable.open(path).take_row_ids([row_id])
    assert manifests.newest(path).name in str(caught.value)


def test_a_deleted_row_keeps_the_id_of_a_moved_one(made: dict[bool, Path], tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(made[True], path)
    # The row 3 of the first fragment is deleted.
    manifests.change(path, lambda m: row_ids(m, 1, array=listed(3, 20)))
    assert LanceTable.open(path).take_row_ids([3, 20])["a"].to_pylist() == [20, 21]


def test_the_good_tables_read(made: dict[bool, Path]) -> None:
    """What the lies were told about is fine by itself."""
    for path in made.values():
        for door in doors(path):
            door()
        assert LanceTable.open(path).count_rows() == 58


def test_a_base_path_that_is_the_table_itself(made: dict[bool, Path], tmp_path: Path) -> None:
    for spelt in ("{}", "{}/", "file://{}", "{}/."):
        path = tmp_path / f"{len(spelt)}" / "t.lance"
        shutil.copytree(made[False], path)
        manifests.change(path, lambda m, root=path, spelt=spelt: base(m, spelt.format(root)))
        with pytest.raises(CorruptManifestError, match="cycle"):
            LanceTable.open(path)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 19, 20, 60, -1, -16, -17])
def test_cut_short(made: dict[bool, Path], tmp_path: Path, size: int) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(made[False], path)
    manifest = manifests.newest(path)
    manifest.write_bytes(manifest.read_bytes()[:size])
    with pytest.raises(CorruptManifestError, match="manifest"):
        LanceTable.open(path)


def test_positions_that_lie(made: dict[bool, Path], tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    shutil.copytree(made[False], path)
    manifest = manifests.newest(path)
    content = manifest.read_bytes()
    place = manifests.FOOTER.unpack(content[-16:])[0]
    for position in (place + 1, place - 1, len(content), len(content) - 16, 1 << 63, (1 << 64) - 1):
        manifest.write_bytes(content[:-16] + struct.pack("<Q", position) + content[-8:])
        with pytest.raises(CorruptManifestError):
            LanceTable.open(path)
    for size in (0, 1, 1 << 31, (1 << 32) - 1):
        manifest.write_bytes(content[:place] + struct.pack("<I", size) + content[place + 4 :])
        with pytest.raises(CorruptManifestError):
            LanceTable.open(path)


def arrow_file(array: pa.Array, num_columns: int = 1) -> bytes:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch([array] * num_columns, names=[f"row_id{n or ''}" for n in range(num_columns)])
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


BAD_DELETIONS = {
    "beyond": (False, arrow_file(pa.array([20], pa.uint32()))),
    "negative": (False, arrow_file(pa.array([-1], pa.int32()))),
    "null": (False, arrow_file(pa.array([None], pa.uint32()))),
    "text": (False, arrow_file(pa.array(["3"]))),
    "two-columns": (False, arrow_file(pa.array([3], pa.uint32()), 2)),
    "no-arrow": (False, b"ARROW1 no more"),
    "empty": (False, b""),
    "more": (False, arrow_file(pa.array([3, 4], pa.uint32()))),
    "bitmap-beyond": (True, pyroaring.BitMap([4_000_000_000]).serialize()),
    "bitmap-none": (True, b""),
    "bitmap-garbage": (True, b"\x3a\x30\0\0\xff\xff\xff\xff" * 3),
    "bitmap-short": (True, pyroaring.BitMap([3]).serialize()[:-1]),
}


@pytest.mark.parametrize("name", BAD_DELETIONS)
def test_deletion_files_that_lie(made: dict[bool, Path], tmp_path: Path, name: str) -> None:
    is_bitmap, content = BAD_DELETIONS[name]
    path = tmp_path / "t.lance"
    shutil.copytree(made[False], path)
    if is_bitmap:
        kind = DeletionFile.BITMAP
        manifests.change(path, lambda m: setattr(m.fragments[0].deletion_file, "file_type", kind))
    meta = LanceTable.open(path).manifest.fragments[0].deletion
    assert meta is not None
    (path / "_deletions" / meta.name).write_bytes(content)
    for door in doors(path):
        with pytest.raises(CorruptManifestError) as caught:
            door()
        assert meta.name in str(caught.value)


def test_flipped_bits_never_crash(made: dict[bool, Path], tmp_path: Path) -> None:
    """Bits flipped anywhere in a manifest: right rows, other rows that the manifest now tells, or an error of ours."""
    path = tmp_path / "t.lance"
    shutil.copytree(made[True], path)
    manifest = manifests.newest(path)
    content = manifest.read_bytes()
    rng = np.random.default_rng(6)
    outcomes: dict[str, int] = {}
    for _ in range(300):
        damaged = bytearray(content)
        damaged[int(rng.integers(len(content)))] ^= 1 << int(rng.integers(8))
        manifest.write_bytes(damaged)
        try:
            LanceTable.open(path).to_table(columns=["_rowid"]).validate(full=True)
            LanceTable.open(path).to_table().validate(full=True)
            outcome = "read"
        except LanceError as error:
            outcome = type(error).__name__
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
    assert outcomes["CorruptManifestError"] > 50


def test_files_found_in_a_folder_are_all_there(made: dict[bool, Path], tmp_path: Path) -> None:
    """A dataset of found files never leaves out what it cannot find."""
    path = tmp_path / "t.lance"
    shutil.copytree(made[False], path)
    names = [fragment.files[0].path for fragment in LanceTable.open(path).manifest.fragments]
    (path / "data" / names[1]).rename(tmp_path / "kept")
    with pytest.raises(MissingFileError, match=names[1]):
        pads.dataset(str(path), format=LanceFormat())
    (tmp_path / "kept").rename(path / "data" / names[1])
    elsewhere = tmp_path / "other.lance"
    shutil.copytree(path, elsewhere)
    (elsewhere / "data" / names[0]).unlink()
    manifests.change(elsewhere, lambda m: base(m, str(path)))
    with pytest.raises(UnsupportedError, match=r"lance_arrow\.dataset"):
        pads.dataset(str(elsewhere), format=LanceFormat())
    assert lance_arrow.dataset(elsewhere).count_rows() == 58
    expected = LanceTable.open(path).to_table()
    assert lance_arrow.dataset(elsewhere).to_table().equals(expected)


@pytest.mark.parametrize(
    ("name", "value", "of"),
    [
        ("next_row_id", (1 << 64) - 1, "rows"),
        ("next_row_id", (1 << 64) - 60, "rows"),
        ("max_fragment_id", (1 << 32) - 1, "fragments"),
    ],
)
def test_a_write_says_that_no_ids_are_left(tmp_path: Path, name: str, value: int, of: str) -> None:
    LanceTable.create(tmp_path / "t.lance", ROWS, enable_stable_row_ids=True)
    manifests.change(tmp_path / "t.lance", lambda message: setattr(message, name, value))
    table = LanceTable.open(tmp_path / "t.lance")
    with pytest.raises(InvalidArgumentError, match=f"no ids are left for {of}: copy the table"):
        table.append(ROWS)
    with pytest.raises(InvalidArgumentError, match=f"no ids are left for {of}: copy the table"):
        table.overwrite(ROWS)
    assert LanceTable.open(tmp_path / "t.lance").to_table() == ROWS
