"""Small files read as one: the same pages as each file by itself, and no file that the ordinary reader refuses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import write_table
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.joined_files import JoinedFiles, SmallFiles
from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.io import BufferSource


def written(start: int, stop: int, version: str = "2.2", *, checksums: bool = True, page_bytes: int = 8 << 20) -> bytes:
    rows = range(start, stop)
    table = pa.table(
        {
            "id": pa.array(rows, pa.int64()),
            "s": pa.array([None if i % 3 == 0 else f"row {i}" for i in rows]),
            "l": pa.array([[i] * (i % 4) for i in rows], pa.list_(pa.int32())),
            "st": pa.array([{"x": i, "y": i % 2 == 0} if i % 5 else None for i in rows]),
        }
    )
    sink = pa.BufferOutputStream()
    write_table(table, sink, file_version=version, checksums=checksums, page_bytes=page_bytes)
    return sink.getvalue().to_pybytes()


def opened(files: Sequence[bytes], *, verify: str = "touched") -> SmallFiles:
    sizes = np.array([len(file) for file in files], np.int64)
    padded = -(-sizes // 64) * 64
    starts = np.cumsum(padded) - padded
    data = np.zeros(int(padded.sum()), np.uint8)
    for file, start in zip(files, starts.tolist(), strict=True):
        data[start : start + len(file)] = np.frombuffer(file, np.uint8)
    return SmallFiles.open(data, starts, sizes, np.ones(len(files), np.uint8), verify=verify)


def facts_of(page, shift: int) -> tuple:
    offsets = (page.buffer_offsets - shift).tolist()
    return page.num_rows, offsets, page.buffer_sizes.tolist(), page.message, page.description


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
@pytest.mark.parametrize("checksums", [True, False])
def test_pages_are_those_of_each_file(version: str, checksums: bool) -> None:
    files = [written(start, stop, version, checksums=checksums, page_bytes=400) for start, stop in ((0, 70), (70, 75))]
    files.append(written(75, 300, version, checksums=not checksums))
    small = opened(files)
    found, schema, numbers = _together(small)
    joined = JoinedFiles(small, found, schema, numbers)
    readers = [LanceFileReader(BufferSource(file)) for file in files]
    assert str(joined.version) == version
    assert joined.schema.equals(readers[0].schema, check_metadata=True)
    assert joined.num_rows == 300
    assert joined.row_starts.tolist() == [0, 70, 75, 300]
    columns = range(readers[0].footer.num_columns)
    for column, meta in zip(columns, joined.columns(columns), strict=True):
        alone = [reader.columns([column])[0] for reader in readers]
        pages = iter(meta.pages)
        for one, start in zip(alone, small.starts.tolist(), strict=True):
            for page in one.pages:
                assert facts_of(next(pages), start) == facts_of(page, 0)
        assert next(pages, None) is None
        assert meta.page_starts[-1] == 300
        assert {(d.message, d.value, count) for d, count in meta.wrappers} == {
            (one.message, one.description, len(one.buffer_sizes)) for one in alone
        }


def _together(small: SmallFiles) -> tuple:
    """Files with checksums and without are of two groups; one would do."""
    groups = small.schemas()
    ((version, schema),) = {group[:2] for group in groups}
    return version, schema, np.sort(np.concatenate([numbers for _, _, numbers in groups]))


def test_files_of_other_schemas_and_kinds_are_told_apart() -> None:
    other = pa.BufferOutputStream()
    write_table(pa.table({"id": [1]}), other)
    old = pa.BufferOutputStream()
    write_table(pa.table({"id": [1]}), old, file_version="2.0")
    files = [written(0, 5), other.getvalue().to_pybytes(), old.getvalue().to_pybytes(), b"no file", b"", written(5, 7)]
    small = opened(files)
    assert small.flags.tolist() == [1, 1, 0, 0, 0, 1]
    assert [numbers.tolist() for _, _, numbers in small.schemas()] == [[0, 5], [1]]
    assert small.num_rows[[0, 1, 5]].tolist() == [5, 1, 2]
    assert opened(files, verify="full").flags.tolist() == [0] * 6


@pytest.mark.parametrize("checksums", [True, False])
def test_what_is_joined_is_what_the_reader_takes(checksums: bool) -> None:
    """Flip bits of what describes a file: it is left alone, or the ordinary reader finds the same in it."""
    good = written(0, 40, checksums=checksums)
    footer = LanceFileReader(BufferSource(good)).footer
    random = np.random.default_rng(0)
    places = random.integers(footer.first_column_position, len(good), 600).tolist()
    joined_count = 0
    for place in [*places, *range(len(good) - 40, len(good))]:
        damaged = bytearray(good)
        damaged[place] ^= 1 << int(random.integers(8))
        files = [good, bytes(damaged), good]
        found = _pages(files, 1)
        if found is None:
            continue
        joined_count += 1
        reader = LanceFileReader(BufferSource(files[1]))
        assert reader.num_rows == found[0]
        columns = reader.columns(range(reader.footer.num_columns))
        assert [[facts_of(page, 0) for page in meta.pages] for meta in columns] == found[1]
    # Without checksums some flips say the same, or something else that is possible; with them none goes unseen.
    assert (joined_count == 0) == checksums


def _pages(files: Sequence[bytes], which: int) -> tuple[int, list] | None:
    """Rows and pages of one of several files, as they are read together; None where that one is left alone."""
    small = opened(files)
    if not small.flags[which]:
        return None
    for version, schema, numbers in small.schemas():
        if which not in numbers.tolist():
            continue
        try:
            joined = JoinedFiles(small, version, schema, numbers)
            columns = joined.columns(range(len(joined.leaves)))
        except LanceError:
            return None
        place = numbers.tolist().index(which)
        start, stop = joined.row_starts[place : place + 2].tolist()
        shift = int(small.starts[which])
        pages = [
            [facts_of(page, shift) for page in meta.pages if start <= page.first_row < stop and page.num_rows]
            for meta in columns
        ]
        return stop - start, pages
    raise AssertionError("a file that can be joined is in no group")


def test_rows_of_pages_must_add_up() -> None:
    files = [written(0, 40, checksums=False), written(40, 80, checksums=False)]
    reader = LanceFileReader(BufferSource(files[0]))
    place = reader.global_buffers.place(0)
    descriptor = files[0][place.start : place.stop]
    at = descriptor.rindex(b"\x10\x28")
    wrong = bytearray(files[0])
    wrong[place.start + at + 1] = 41
    small = opened([bytes(wrong), files[1]])
    ((version, schema, numbers),) = small.schemas()
    joined = JoinedFiles(small, version, schema, numbers)
    with pytest.raises(LanceError, match="differ from the rows of their file"):
        joined.columns([0])


def _varint(number: int) -> bytes:
    return bytes([number & 0x7F | 0x80, number >> 7])


def test_a_zone_map_in_another_file_is_refused() -> None:
    files = [written(0, 70, checksums=False), written(70, 3000, checksums=False)]
    (meta,) = LanceFileReader(BufferSource(files[0])).columns([0])
    (place,), (start, stop) = meta.buffer_offsets.tolist(), meta.byte_range
    behind = -(-len(files[0]) // 64) * 64
    assert place.bit_length() > 7
    assert behind.bit_length() <= 14
    # Inside the larger of the files it would be.
    assert behind + int(meta.buffer_sizes[0]) < len(files[1])
    message = files[0][start:stop]
    assert message.count(_varint(place)) == 1
    harmed = files[0][:start] + message.replace(_varint(place), _varint(behind)) + files[0][stop:]
    small = opened(files)
    joined = JoinedFiles(small, *_together(small))
    joined.columns([0])
    assert None not in joined.column_buffers(0)
    small = opened([harmed, files[1]])
    with pytest.raises(CorruptFileError, match="metadata of column 0"):
        JoinedFiles(small, *_together(small)).columns([0])
