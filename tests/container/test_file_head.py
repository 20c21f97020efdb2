"""`read_file_head`: what it tells of a file, sound or damaged, is what `container` finds out step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from call_counts import count_calls

import lance_arrow
from lance_arrow.container import file_head, file_reader, metadata_bytes
from lance_arrow.container.file_head import FileHead
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.engine import read_file_head
from lance_arrow.errors import InternalError, LanceError, ResourceLimitError
from lance_arrow.io import BufferSource, Coalescing, RangeSource, open_source
from lance_arrow.settings import Limits

TABLE = pa.table(
    {
        "n": pa.array(range(40)),
        "s": pa.array([f"text {n}" if n % 3 else None for n in range(40)]),
        "l": pa.array([[n] * (n % 3) for n in range(40)]),
    },
    metadata={"of": "the schema"},
)


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "2.3"])
def content(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("heads") / "a.lance"
    lance_arrow.write_table(TABLE, path, file_version=request.param)
    return path.read_bytes()


def told(data: bytes, verify: str = "touched") -> tuple[Any, ...]:
    """What opening the file and the metadata of its columns tells, or how it fails."""
    return told_of(open_source(pa.py_buffer(data)), verify)


def told_of(source: RangeSource, verify: str) -> tuple[Any, ...]:
    try:
        with LanceFileReader(source, verify=verify) as file:
            places = [file.global_buffers.place(one) for one in range(len(file.global_buffers))]
            metas = file.columns(range(file.footer.num_columns))
            pages = [(meta.byte_range, meta.num_rows, len(meta.pages)) for meta in metas]
            checks = None if file.checks is None else (file.checks.table.crcs.tolist(), file.checks.blocks.num_pending)
            return (
                file.footer,
                file.schema,
                file.num_rows,
                file.promises_checksums,
                file.zone_maps,
                places,
                pages,
                checks,
            )
    except LanceError as error:
        return type(error), str(error)


def told_patiently(data: bytes, monkeypatch: pytest.MonkeyPatch, verify: str = "touched") -> tuple[Any, ...]:
    with monkeypatch.context() as patch:
        patch.setattr(file_reader.FileHead, "read", lambda *_: None)
        return told(data, verify)


@pytest.mark.parametrize("verify", ["touched", "off", "full"])
def test_sound_files(content: bytes, monkeypatch: pytest.MonkeyPatch, verify: str) -> None:
    found = told(content, verify)
    assert found[2] == 40
    assert found == told_patiently(content, monkeypatch, verify)


def test_zone_maps_of_2_0_are_left_to_python(content: bytes) -> None:
    head = read_file_head(memoryview(content), len(content), True, [], 1 << 30)
    # Its zone maps are named in the descriptor.
    assert (head is None) == (content[-8:-4] == b"\0\0\3\0")


def test_what_lies_before_the_tail_is_named(content: bytes) -> None:
    """The caller reads it, and gets what the whole file would have given."""
    whole = read_file_head(memoryview(content), len(content), True, [], 1 << 30)
    pieces: list[tuple[int, memoryview]] = []
    found = read_file_head(memoryview(content[-60:]), len(content), True, pieces, 1 << 30)
    for _ in range(3):
        if not isinstance(found, list):
            break
        assert all(0 <= start <= stop <= len(content) for start, stop in found)
        pieces += [(start, memoryview(content)[start:stop]) for start, stop in found]
        found = read_file_head(memoryview(content[-60:]), len(content), True, pieces, 1 << 30)
    assert (found is None) == (whole is None)
    if found is not None:
        # Blocks are compared by identity.
        assert (*found[:-2], found[-1]) == (*whole[:-2], whole[-1])
        assert (found[-2] is None) == (whole[-2] is None)


@pytest.mark.cover(1)
@pytest.mark.parametrize("verify", ["touched", "off"])
def test_every_flipped_bit_of_metadata(
    content: bytes, monkeypatch: pytest.MonkeyPatch, verify: str, whole_run: bool
) -> None:
    """One bit of each byte; every day, of each fourth one."""
    first = int.from_bytes(content[-40:-32], "little")
    places = [(at, at % 8) for at in range(min(first, len(content) - 1500), len(content), 1 if whole_run else 4)]
    for at, bit in places:
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        data = bytes(damaged)
        assert told(data, verify) == told_patiently(data, monkeypatch, verify), (at, bit)


def test_every_length(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    for size in range(0, 200):
        cut = content[-size:] if size else b""
        assert told(cut) == told_patiently(cut, monkeypatch), size


def test_a_tail_is_no_larger_than_its_file(content: bytes) -> None:
    with pytest.raises(InternalError, match="larger than its file"):
        read_file_head(memoryview(content), len(content) - 1, True, [], 1 << 30)


def test_a_file_of_a_known_schema_is_opened_in_few_calls(tmp_path: Path) -> None:
    """Of Python and C together; 347 before the native call, 150 since the end is read in one call."""
    paths = [tmp_path / f"{one}.lance" for one in range(3)]
    for one, path in enumerate(paths):
        lance_arrow.write_table(TABLE.slice(one), path)
    for _ in range(2):
        lance_arrow.LanceFile(paths[0]).close()
    for path in paths[1:]:
        calls = count_calls(lambda path=path: lance_arrow.LanceFile(str(path)).close())
        assert calls <= 160, calls


def short_end(data: bytes) -> BufferSource:
    """A file of whose end few bytes are read at once."""
    source = BufferSource(data)
    source.coalescing = Coalescing(max_gap_bytes=0, max_span_bytes=1 << 20, tail_bytes=80)
    return source


@pytest.mark.cover(1)
@pytest.mark.parametrize("verify", ["touched", "off"])
def test_every_flipped_byte_before_the_tail(
    content: bytes, monkeypatch: pytest.MonkeyPatch, verify: str, whole_run: bool
) -> None:
    """Tables, checksums and descriptor come in a second read; damage of them gives the same errors."""
    monkeypatch.setattr(file_head, "TAIL_BYTES", 80)
    monkeypatch.setattr(metadata_bytes, "TAIL_BYTES", 80)

    def opened(data: bytes) -> tuple[Any, ...]:
        return told_of(short_end(data), verify)

    whole = opened(content)
    assert whole[2] == 40
    first = int.from_bytes(content[-40:-32], "little")
    for at in range(min(first, len(content) - 1500), len(content), 3 if whole_run else 9):
        damaged = bytearray(content)
        damaged[at] ^= 1 << at % 8
        data = bytes(damaged)
        with monkeypatch.context() as patch:
            patch.setattr(file_reader.FileHead, "read", lambda *_: None)
            patiently = opened(data)
        assert opened(data) == patiently, at


def test_ranges_before_the_tail_are_limited(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read beyond the limit; the file is then opened step by step."""
    monkeypatch.setattr(file_head, "TAIL_BYTES", 80)
    monkeypatch.setattr(metadata_bytes, "TAIL_BYTES", 80)
    metadata = MetadataBytes(short_end(content), Limits(max_metadata_bytes=100))
    assert FileHead.read(metadata, True) is None
    with pytest.raises(ResourceLimitError, match="max_metadata_bytes"):
        LanceFileReader(short_end(content), Limits(max_metadata_bytes=100))
