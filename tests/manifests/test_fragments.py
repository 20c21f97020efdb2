"""`FragmentList`: what the native check tells of a manifest, sound or damaged, is what the checks in Python tell."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from call_counts import count_calls
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.engine import split_manifest
from lance_arrow.errors import CorruptManifestError, InternalError, LanceError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests import fragments as fragments_module
from lance_arrow.manifests import manifest as manifest_module
from lance_arrow.manifests.feature_flags import STABLE_ROW_IDS
from lance_arrow.manifests.fragments import (
    FragmentList,
    file_bytes,
    first_files,
    fragment_ids,
    part_of,
    physical_counts,
    row_counts,
)
from lance_arrow.manifests.manifest import FOOTER, MAGIC, SECTION_HEAD, ManifestMeta, manifest_from_bytes
from lance_arrow.proto.rowids_pb2 import RowIdSequence, U64Segment
from lance_arrow.proto.table_pb2 import DataFile, DataFragment, DeletionFile, Manifest

ROOT = Location(MemoryFileSystem(), "/t.lance")
PLACE = Location(MemoryFileSystem(), "/t.lance/_versions/3.manifest")


def data_file(path: str = "a.lance", **changes: Any) -> DataFile:
    facts: dict[str, Any] = {
        "fields": [0, 1],
        "column_indices": [0, 1],
        "file_major_version": 2,
        "file_minor_version": 1,
    }
    return DataFile(**{"path": path, "file_size_bytes": 700, **facts, **changes})


def row_ids(**segment: Any) -> bytes:
    """A sequence of one segment; sequences in a row are one of their segments."""
    return RowIdSequence(segments=[U64Segment(**segment)]).SerializeToString()


def sample() -> Manifest:
    """Fragments of every usual kind."""
    message = Manifest(version=3, reader_feature_flags=STABLE_ROW_IDS, next_row_id=1000)
    message.writer_version.library, message.writer_version.version = "lance_arrow", "1.0"
    message.fields.add(name="n", id=0, parent_id=-1, logical_type="int64", nullable=True)
    message.fields.add(name="s", id=1, parent_id=-1, logical_type="string", nullable=True)
    message.schema_metadata["of"] = b"the schema"
    message.base_paths.add(id=7, path="memory://other.lance", is_dataset_root=True)
    ids = {"inline_row_ids": row_ids(range={"end": 10})}
    message.fragments.add(id=0, physical_rows=10, files=[data_file()], **ids)
    deletion = DeletionFile(file_type=DeletionFile.BITMAP, read_version=2, id=5, num_deleted_rows=3)
    message.fragments.add(id=2, physical_rows=10, files=[data_file("b.lance")], deletion_file=deletion, **ids)
    files = [data_file("c.lance", fields=[0], column_indices=[0]), data_file("d.lance", fields=[1, -2])]
    unknown = DeletionFile(read_version=2, id=5)
    message.fragments.add(id=3, physical_rows=10, files=files, deletion_file=unknown, **ids)
    ids = {"inline_row_ids": row_ids(range_with_bitmap={"start": 20, "end": 30, "bitmap": b"\x31\x01"})}
    message.fragments.add(id=4, physical_rows=4, files=[data_file("sub folder/e.lance", base_id=7)], **ids)
    holes = {"u16_array": {"base": 40, "offsets": b"\x01\x00\x05\x00"}}
    ids = {"inline_row_ids": row_ids(range_with_holes={"start": 40, "end": 46, "holes": holes})}
    message.fragments.add(id=5, physical_rows=4, files=[data_file("f.lance", base_id=7, file_size_bytes=0)], **ids)
    listed = {"u32_array": {"base": 60, "offsets": b"".join(n.to_bytes(4, "little") for n in (5, 3, 3))}}
    one = {"u64_array": {"values": (999).to_bytes(8, "little")}}
    ids = {"inline_row_ids": row_ids(array=listed) + row_ids(sorted_array=one)}
    old = data_file("g.lance", file_major_version=0, file_minor_version=2, column_indices=[])
    message.fragments.add(id=6, physical_rows=4, files=[old], inline_created_at_versions=b"\x08\x01", **ids)
    message.fragments.add(id=7, physical_rows=4, **ids)
    return message


def file_of(body: bytes) -> bytes:
    return SECTION_HEAD.pack(len(body)) + body + FOOTER.pack(0, 0, 2, MAGIC)


def told(body: bytes) -> tuple[Any, ...]:
    """What a manifest tells, or how it is refused."""
    # Small ones are known by their bytes.
    manifest_module._known_manifest.cache_clear()
    try:
        meta = manifest_from_bytes(file_of(body), PLACE, ROOT, 3)
    except LanceError as error:
        return type(error), str(error)
    made = list(meta.fragments)
    counts = [-1 if one.num_rows is None else one.num_rows for one in made]
    assert row_counts(meta.fragments).tolist() == counts
    assert fragment_ids(meta.fragments).tolist() == [one.id for one in made]
    for fragment, path, size in zip(made, *first_files(meta.fragments, "/data/"), strict=True):
        if path is not None:
            file = fragment.files[0]
            assert file.base_id is None
            assert (path, size) == (f"/data/{file.path}", file.size_bytes or -1)
    return (
        meta.facts,
        made,
        meta.version,
        meta.config,
        meta.timestamp,
        meta.writer,
        meta.next_row_id,
        meta.message_bytes,
    )


def told_in_python(body: bytes, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, ...]:
    with monkeypatch.context() as patch:
        patch.setattr(manifest_module, "split_manifest", lambda _: None)
        return told(body)


def opened(message: Manifest) -> ManifestMeta:
    manifest_module._known_manifest.cache_clear()
    return manifest_from_bytes(file_of(message.SerializeToString()), PLACE, ROOT, 3)


def test_a_sound_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    body = sample().SerializeToString()
    found = told(body)
    assert len(found[1]) == 7
    assert found == told_in_python(body, monkeypatch)
    paths, sizes = first_files(opened(sample()).fragments, "/data/")
    assert paths == ["/data/a.lance", "/data/b.lance", "/data/c.lance", None, None, "/data/g.lance", None]
    assert [size for path, size in zip(paths, sizes, strict=True) if path is not None] == [700, 700, 700, -1]


WRONG_IDS = {
    "none": b"",
    "fewer": row_ids(range={"start": 5, "end": 9}),
    "more": row_ids(range={"start": 5, "end": 11}),
    "beyond the next": row_ids(range={"start": 996, "end": 1001}),
    "at 2^60": row_ids(range={"start": 1 << 60, "end": (1 << 60) + 5}),
    "at the end": row_ids(range={"start": (1 << 64) - 6, "end": (1 << 64) - 1}),
    "backwards": row_ids(range={"start": 5}),
    "backwards by 2^64 - 5": row_ids(range={"start": 5, "end": 0}),
    "holes twice": row_ids(range_with_holes={"end": 7, "holes": {"u16_array": {"offsets": b"\1\0\1\0"}}}),
    "holes outside": row_ids(range_with_holes={"end": 6, "holes": {"u16_array": {"offsets": b"\7\0"}}}),
    "cut holes": row_ids(range_with_holes={"end": 5, "holes": {"u16_array": {"offsets": b"\7"}}}),
    "bits too few": row_ids(range_with_bitmap={"end": 5, "bitmap": b"\x0f"}),
    "bits beyond": row_ids(range_with_bitmap={"end": 4, "bitmap": b"\x1f"}),
    "bytes too few": row_ids(range_with_bitmap={"end": 9, "bitmap": b"\x1f"}),
    "bit beyond the next": row_ids(range_with_bitmap={"start": 996, "end": 1001, "bitmap": b"\x1f"}),
    "not sorted": row_ids(sorted_array={"u16_array": {"offsets": b"\1\0\2\0\1\0\4\0\5\0"}}),
    "the greatest": row_ids(array={"u64_array": {"values": b"\xff" * 40}}),
    "beyond 64 bits": row_ids(array={"u16_array": {"base": (1 << 64) - 3, "offsets": b"\1\0\2\0\3\0\4\0\5\0"}}),
    "two of a kind": row_ids(range={"end": 4}) + row_ids(range={"end": 2}),
    "no form": row_ids(range={"end": 5}) + row_ids(),
    "garbage": b"\xff\xff",
}


@pytest.mark.parametrize("ids", WRONG_IDS.values(), ids=list(WRONG_IDS))
def test_wrong_row_ids(monkeypatch: pytest.MonkeyPatch, ids: bytes) -> None:
    message = sample()
    message.fragments.add(id=9, physical_rows=5, files=[data_file()], inline_row_ids=ids)
    refused = told(message.SerializeToString())
    assert refused[0] is CorruptManifestError
    assert "fragment 9: " in refused[1]
    assert refused[1].endswith("[file 'memory:///t.lance/_versions/3.manifest']")
    assert refused == told_in_python(message.SerializeToString(), monkeypatch)
    message.fragments[-1].inline_row_ids = FIVE
    assert len(told(message.SerializeToString())[1]) == 8
    # Without the flag, they are not read.
    message.reader_feature_flags = 0
    message.fragments[-1].inline_row_ids = ids
    assert len(told(message.SerializeToString())[1]) == 8


def test_row_ids_below_the_next_are_sound_wherever_they_begin() -> None:
    message = sample()
    ids = row_ids(range={"start": (1 << 64) - 6, "end": (1 << 64) - 1})
    message.fragments.add(id=9, physical_rows=5, files=[data_file()], inline_row_ids=ids)
    message.next_row_id = (1 << 64) - 1
    meta = opened(message)
    assert meta.fragments[7].row_ids == ids
    assert meta.fragments.is_plain[7], "native code has checked them"


def test_every_flipped_bit(monkeypatch: pytest.MonkeyPatch, whole_run: bool) -> None:
    """Every day, two bits of each byte."""
    body = sample().SerializeToString()
    for at in range(len(body)):
        for bit in range(8) if whole_run else (at % 8, (at + 3) % 8):
            damaged = bytearray(body)
            damaged[at] ^= 1 << bit
            assert told(bytes(damaged)) == told_in_python(bytes(damaged), monkeypatch), (at, bit)


def test_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    body = sample().SerializeToString()
    for size in range(len(body)):
        assert told(body[:size]) == told_in_python(body[:size], monkeypatch), size


def delimited(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


# A fragment's message, of which each is unusual in one way.
FIVE = row_ids(range={"start": 5, "end": 10})
PLAIN = DataFragment(id=9, physical_rows=5, files=[data_file()], inline_row_ids=FIVE).SerializeToString()
UNUSUAL = {
    "unknown field": PLAIN + b"\xa0\x06\x01",
    "unknown string": PLAIN + delimited(15, b"x"),
    "clustering": PLAIN + b"\x78\x03",
    "group": PLAIN + b"\xa3\x06\xa4\x06",
    "open group": PLAIN + b"\xa3\x06",
    "metadata": PLAIN + b"\x82\x01\x06\x0a\x01k\x12\x01v",
    "broken metadata": PLAIN + b"\x82\x01\x06\x0a\x01\xff\x12\x01v",
    "id twice": PLAIN + b"\x08\x0b",
    "long varint": PLAIN + b"\x20\x85\x80\x80\x80\x00",
    "varint of 11 bytes": PLAIN + b"\x20" + b"\x80" * 10 + b"\x01",
    "long tag": PLAIN + b"\xa0\x80\x80\x80\x00\x05",
    "tag of six bytes": PLAIN + b"\xa0\x80\x80\x80\x80\x00\x05",
    "field 0": PLAIN + b"\x00\x00",
    "rows in a string": PLAIN + delimited(4, b"\x05"),
    "id of 33 bits": PLAIN + b"\x08\x80\x80\x80\x80\x10",
    "rows of 34 bits": PLAIN + b"\x20\x80\x80\x80\x80\x20",
    "no rows": PLAIN + b"\x20\x00",
    "overlay": PLAIN + delimited(11, b""),
    "row ids elsewhere": PLAIN + delimited(6, b""),
    "opaque row ids": PLAIN + delimited(12, b"x"),
    "opaque versions": PLAIN + delimited(13, b"x"),
    "two deletions": PLAIN + delimited(3, b"\x20\x03") + delimited(3, b"\x20\x04"),
    "more deleted than there are": PLAIN + delimited(3, b"\x20\x06"),
    "deletions of an unknown type": PLAIN + delimited(3, b"\x08\x02"),
    "deletions of a negative type": PLAIN + delimited(3, b"\x08" + b"\xff" * 9 + b"\x01"),
    "deletions elsewhere": PLAIN + delimited(3, b"\x38\x07"),
    "deletions nowhere": PLAIN + delimited(3, b"\x38\x08"),
    "no file": DataFragment(id=9, physical_rows=5).SerializeToString(),
    "nothing": b"",
    "empty file": PLAIN + delimited(2, b""),
}
UNUSUAL_FILES = {
    "unpacked": b"\x10\x00\x10\x01\x18\x00\x18\x01",
    "unpacked negative": b"\x10" + b"\xfe" + b"\xff" * 8 + b"\x01" + b"\x18\x00",
    "negative in five bytes": b"\x12\x05\xfe\xff\xff\xff\x0f\x1a\x01\x00",
    "more fields": b"\x12\x02\x02\x03",
    "negative column": b"\x1a\x0a\xfe" + b"\xff" * 8 + b"\x01",
    "negative field": b"\x12\x0a\xfd" + b"\xff" * 8 + b"\x01",
    "packed and cut": b"\x12\x01\x80",
    "version 2.4": b"\x28\x04",
    "version of 33 bits": b"\x20\x82\x80\x80\x80\x10",
    "base of 33 bits": b"\x38\x87\x80\x80\x80\x10",
    "large": b"\x30" + b"\xff" * 9 + b"\x01",
    "unknown": b"\xf8\x01\x01",
    "no path": b"\x0a\x00",
    "twice a path": b"\x0a\x03b.c",
    "broken path": b"\x0a\x02\xff\xff",
    "path as a number": b"\x08\x01",
}
PATHS = [
    "..",
    ".",
    "a/..",
    "/a",
    "a/",
    "C:x",
    "s3://a",
    "a\0b",
    "\u00e9.lance",
    "a..b",
    "a b",
    "x" * 4096,
    "x" * 4097,
    "%2e%2e/a",
]


@pytest.mark.parametrize("with_row_ids", [False, True])
@pytest.mark.parametrize("with_writer", [False, True])
def test_unusual_fragments(monkeypatch: pytest.MonkeyPatch, with_row_ids: bool, with_writer: bool) -> None:
    message = sample()
    del message.fragments[:]
    if not with_row_ids:
        message.reader_feature_flags = 0
    if not with_writer:
        message.ClearField("writer_version")
    cases = dict(UNUSUAL)
    for name, content in UNUSUAL_FILES.items():
        file = data_file().SerializeToString() + content
        cases[f"file: {name}"] = DataFragment(id=9, physical_rows=5).SerializeToString() + delimited(2, file)
    for path in PATHS:
        cases[path[:20]] = DataFragment(id=9, physical_rows=5, files=[data_file(path)]).SerializeToString()
    rest = message.SerializeToString()
    outcomes = set()
    for name, one in cases.items():
        length = len(one) if len(one) < 128 else None
        size = bytes([len(one)]) if length is not None else bytes([len(one) & 127 | 128, len(one) >> 7])
        body = rest + b"\x12" + size + one
        assert told(body) == told_in_python(body, monkeypatch), name
        outcomes.add(told(body)[0] if isinstance(told(body)[0], type) else "read")
    assert outcomes == {"read", CorruptManifestError, UnsupportedError}


def test_the_first_wrong_fragment_is_named() -> None:
    message = sample()
    message.fragments[5].physical_rows = 1 << 33
    message.fragments[3].files[0].path = "../x"
    with pytest.raises(CorruptManifestError, match=r"\.\./x"):
        opened(message)


@pytest.mark.parametrize(
    "break_it",
    [
        lambda message: setattr(message.fragments[5000], "physical_rows", 1 << 33),
        lambda message: setattr(message.fragments[5000].files[0], "path", "../x"),
    ],
)
def test_large_manifests_are_checked_when_they_are_opened(break_it: Callable[[Manifest], None]) -> None:
    message = sample()
    for number in range(10, 6000):
        message.fragments.add(id=number, physical_rows=5, files=[data_file()], inline_row_ids=FIVE)
    assert len(opened(message).fragments) == 5997
    break_it(message)
    with pytest.raises(CorruptManifestError):
        opened(message)


def test_fragments_are_made_when_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    check = fragments_module.fragment_from_message
    monkeypatch.setattr(fragments_module, "fragment_from_message", lambda *a, **k: made.append(1) or check(*a, **k))
    message = sample()
    del message.fragments[3:]
    found = opened(message).fragments
    assert row_counts(found).tolist() == [10, 7, -1]
    assert not made
    assert found[1] is found[1]
    assert [one.id for one in found[1:]] == [2, 3]
    assert found[-1].id == 3
    assert len(made) == 2
    with pytest.raises(IndexError):
        found[3]


def test_parts_travel_without_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for those that the native code leaves to Python, here for a field that it does not know."""
    message = sample()
    message.fragments[4].MergeFromString(b"\xa0\x01\x05")
    found = opened(message).fragments
    numbers = np.array([1, 2, 2, 0, 4, 5])
    wanted = [found[number] for number in numbers.tolist()]
    made = []
    check = fragments_module.fragment_from_message
    monkeypatch.setattr(fragments_module, "fragment_from_message", lambda *a, **k: made.append(1) or check(*a, **k))
    part = part_of(found, numbers)
    again = pickle.loads(pickle.dumps(part))
    assert len(part) == len(again) == 6
    assert len(made) == 3, "the unknown one when it is cut out, packed, and found again"
    physical = [-1 if one.physical_rows is None else one.physical_rows for one in wanted]
    assert physical_counts(again).tolist() == physical_counts(wanted).tolist() == physical
    num_bytes = [sum(file.size_bytes or 0 for file in one.files) for one in wanted]
    assert file_bytes(again).tolist() == file_bytes(wanted).tolist() == num_bytes
    assert row_counts(again).tolist() == row_counts(wanted).tolist()
    assert list(again) == list(part) == wanted
    assert part_of(wanted, np.array([3, 0])) == (wanted[3], wanted[0])


def test_places_outside_of_the_manifest_are_refused() -> None:
    body = sample().SerializeToString()
    split = split_manifest(body)
    assert split is not None
    for place in ([-1, 5], [0, -1], [0, len(body) + 1], [len(body), 1], [1 << 62, 1 << 62]):
        with pytest.raises(InternalError, match="outside the manifest"):
            FragmentList(
                body,
                np.array([place], np.int64),
                lambda: [],
                path="m",
                trusts_counts=True,
                next_row_id=None,
                base_ids=(),
            )


def test_opening_costs_no_call_for_each_fragment() -> None:
    """Calls of Python and C for 100 and for 3,000 fragments."""

    def calls(num_fragments: int) -> int:
        message = sample()
        for number in range(10, 10 + num_fragments):
            message.fragments.add(id=number, physical_rows=5, files=[data_file()], inline_row_ids=FIVE)
        del message.fragments[3:7]
        content = file_of(message.SerializeToString())
        manifest_from_bytes(content, PLACE, ROOT, 3)

        manifest_module._known_manifest.cache_clear()

        def opened() -> None:
            found = manifest_from_bytes(content, PLACE, ROOT, 3).fragments
            assert int(row_counts(found).clip(0).sum()) == 17 + 5 * num_fragments

        return count_calls(opened)

    # A manifest above 64 KiB takes a second read.
    assert calls(3000) <= calls(100) + 20 < 250
