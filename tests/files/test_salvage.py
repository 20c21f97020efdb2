"""Salvage of one file: rows that can be read are the original ones, and the report has the others with their places."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from witness import Witness

import lance_arrow
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError
from lance_arrow.files.salvaging.file_salvage import FileSalvage
from lance_arrow.files.salvaging.reports import SalvageReport
from lance_arrow.files.salvaging.row_runs import as_mask, gaps, shared, union
from lance_arrow.io.buffer_source import BufferSource

ROWS = 40_000
PAGE_BYTES = 100_000
BLOCK = 16 << 10


def rows() -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {"key": rng.integers(0, 1 << 62, ROWS), "text": [f"text {number}" for number in range(ROWS)]},
        schema=pa.schema([pa.field("key", pa.int64(), nullable=False), pa.field("text", pa.string())]),
    )


def written(path: Path, *, version: str = "2.2", checksums: bool = True) -> bytes:
    lance_arrow.write_table(rows(), path, file_version=version, checksums=checksums, page_bytes=PAGE_BYTES)
    return path.read_bytes()


def pages(content: bytes, column: int) -> list[tuple[int, tuple[int, int], tuple[int, int]]]:
    """Number, bytes of the values, and rows of each page."""
    with lance_arrow.LanceFile(content) as file:
        (meta,) = file._file.columns([column])
    found = []
    for page in meta.pages:
        start = int(page.buffer_offsets[-1])
        values = start, start + int(page.buffer_sizes[-1])
        found.append((page.number, values, (page.first_row, page.first_row + page.num_rows)))
    return found


def flipped(content: bytes, *positions: int) -> bytes:
    changed = bytearray(content)
    for position in positions:
        changed[position] ^= 0x55
    return bytes(changed)


def salvaged(content: bytes, **options) -> tuple[pa.Table, SalvageReport]:
    with FileSalvage(content, **options) as salvage:
        return salvage.read(), salvage.report


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(tmp_path_factory.mktemp("salvage") / "whole.lance")


def test_nothing_is_lost_of_a_sound_file(whole):
    table, report = salvaged(whole)
    assert table.equals(rows())
    assert (report.ok, report.is_proven, report.rows_saved, report.left_out) == (True, True, ROWS, [])


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_only_rows_of_a_damaged_block_become_null(version, tmp_path):
    content = written(tmp_path / "file.lance", version=version)
    number, (start, stop), (first, last) = pages(content, 1)[1]
    damaged = flipped(content, (start + stop) // 2)
    with lance_arrow.LanceFile(damaged) as file, pytest.raises(CorruptFileError):
        file.read()
    table, report = salvaged(damaged)
    assert report.lost
    assert {one.column for one in report.lost} == {"text"}
    assert {one.page for one in report.lost} == {number}
    for one in report.lost:
        assert one.byte_range[0] <= (start + stop) // 2 < one.byte_range[1]
        assert first <= one.rows[0] < one.rows[1] <= last
    lost = as_mask(union(one.rows for one in report.lost), (0, ROWS))
    assert table["key"].equals(rows()["key"])
    assert table["text"].filter(lost).null_count == lost.sum() == report.rows_with_nulls > 0
    assert table["text"].filter(~lost).equals(rows()["text"].filter(~lost))
    # Other blocks of the page are proven.
    assert lost.sum() < last - first


def test_rows_are_left_out_if_asked(whole):
    _, (start, _), _ = pages(whole, 1)[2]
    table, report = salvaged(flipped(whole, start), lost="skip")
    kept = ~as_mask(report.left_out, (0, ROWS))
    assert 0 < table.num_rows == report.rows_saved == kept.sum() < ROWS
    assert table.equals(rows().filter(kept))
    assert report.rows_with_nulls == 0


def test_rows_are_left_out_where_a_column_allows_no_nulls(whole):
    _, (start, _), _ = pages(whole, 0)[0]
    table, report = salvaged(flipped(whole, start))
    kept = ~as_mask(report.left_out, (0, ROWS))
    assert report.left_out == union(one.rows for one in report.lost)
    assert 0 < table.num_rows == kept.sum() < ROWS
    assert table.equals(rows().filter(kept))


def test_several_damaged_blocks_are_found(whole):
    _, (start, stop), _ = pages(whole, 0)[1]
    assert stop - start > 3 * BLOCK
    _, report = salvaged(flipped(whole, start + 10, stop - 10, pages(whole, 0)[3][1][0]))
    assert len(report.lost) == 3
    assert report.lost[0].rows[1] < report.lost[1].rows[0] < report.lost[2].rows[0]


def test_a_column_without_metadata_is_null_or_left_out(whole):
    with lance_arrow.LanceFile(whole) as file:
        metas = file._file.columns([0, 1])
    table, report = salvaged(flipped(whole, metas[1].byte_range[0] + 20))
    assert table["key"].equals(rows()["key"])
    assert table["text"].null_count == ROWS
    assert [one.rows for one in report.lost] == [(0, ROWS)]
    table, report = salvaged(flipped(whole, metas[1].byte_range[0] + 20), lost="skip")
    assert table.equals(rows().select(["key"]))
    assert report.columns_left_out == ["text"]
    table, report = salvaged(flipped(whole, metas[0].byte_range[0] + 20))
    assert table.equals(rows().select(["text"]))
    assert report.columns_left_out == ["key"]


def test_rows_of_which_nothing_is_left_are_left_out(tmp_path):
    path = tmp_path / "one.lance"
    lance_arrow.write_table(rows().select(["text"]), path, page_bytes=PAGE_BYTES)
    _, (start, _), _ = pages(path.read_bytes(), 0)[0]
    table, report = salvaged(flipped(path.read_bytes(), start))
    assert table["text"].null_count == 0
    assert report.left_out[0][0] == 0
    assert table.num_rows == ROWS - (report.left_out[0][1] - report.left_out[0][0])


def test_the_end_of_a_file_is_rebuilt(whole):
    with lance_arrow.LanceFile(whole) as file:
        footer = file._file.footer
    parts = {
        "the table of columns": footer.column_table_position + 3,
        "the table of global buffers": footer.buffer_table_position + 3,
        "the footer": len(whole) - 2,
    }
    for part, position in parts.items():
        table, report = salvaged(flipped(whole, position))
        assert table.equals(rows())
        assert (report.is_proven, report.repaired) == (True, [part])
    cut = whole[: footer.column_table_position]
    with pytest.raises(CorruptFileError):
        lance_arrow.LanceFile(cut)
    for damaged in (cut, cut + bytes(5000)):
        table, report = salvaged(damaged)
        assert table.equals(rows())
        assert report.repaired == [*parts, "the size of the file"]


def test_a_damaged_schema_is_refused(whole):
    with lance_arrow.LanceFile(whole) as file:
        place = file._file.global_buffers.place(0)
    for allow_unchecked in (False, True):
        with pytest.raises(CorruptFileError, match="descriptor contradicts its checksum"):
            FileSalvage(flipped(whole, place.start + 4), allow_unchecked=allow_unchecked)


def test_files_without_checksums_lose_whole_pages_and_are_not_proven(tmp_path):
    content = written(tmp_path / "plain.lance", checksums=False)
    with pytest.raises(InvalidArgumentError, match="no checksums"):
        FileSalvage(content)
    number, (start, _), page_rows = pages(content, 1)[1]
    damaged = bytearray(content)
    damaged[start : start + 4000] = b"\xff" * 4000
    table, report = salvaged(bytes(damaged), allow_unchecked=True)
    assert not report.is_proven
    assert [(one.page, one.rows) for one in report.lost] == [(number, page_rows)]
    lost = as_mask([page_rows], (0, ROWS))
    assert table["text"].filter(~lost).equals(rows()["text"].filter(~lost))
    assert table["text"].filter(lost).null_count == lost.sum()


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_the_end_of_a_file_without_checksums_is_guessed(version, tmp_path):
    content = written(tmp_path / "plain.lance", version=version, checksums=False)
    with lance_arrow.LanceFile(content) as file:
        footer = file._file.footer
    end = footer.column_table_position
    parts = {
        "the footer": content[:-40] + bytes(40),
        "the table of columns": content[:end] + bytes(16) + content[end + 16 :],
    }
    for part, damaged in parts.items():
        with pytest.raises((CorruptFileError, InvalidArgumentError)):
            FileSalvage(damaged)
        table, report = salvaged(damaged, allow_unchecked=True)
        assert table.equals(rows())
        assert (report.is_proven, report.repaired) == (False, [part])
    for lost in (content[:-41], content[:end] + bytes(len(content) - end), bytes(5000), bytes(90)):
        with pytest.raises(CorruptFileError, match="not a Lance file"):
            FileSalvage(lost, allow_unchecked=True)


@pytest.mark.interop
@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2", "2.3"])
def test_files_of_the_reference_are_salvaged_unproven(version, witness: Witness, tmp_path):
    table = pa.table({"n": list(range(5000)), "s": [f"text {number}" for number in range(5000)]})
    content = witness.write(table, tmp_path / "theirs.lance", version).read_bytes()
    with pytest.raises(InvalidArgumentError, match="no checksums"):
        FileSalvage(content)
    for damaged in (content, content[:-40] + bytes(40), content[:-20] + b"\xff" * 20):
        saved, report = salvaged(damaged, allow_unchecked=True)
        assert saved.equals(table)
        assert not report.is_proven
        assert report.repaired == ([] if damaged is content else ["the footer"])


def test_a_lost_table_of_checksums_proves_nothing(whole):
    damaged = bytearray(whole)
    start = whole.rfind(b"LANCECRC")
    damaged[start : start + 100] = bytes(100)
    with pytest.raises(CorruptFileError, match="checksums"):
        FileSalvage(bytes(damaged))
    table, report = salvaged(bytes(damaged), allow_unchecked=True)
    assert table.equals(rows())
    assert not report.is_proven


def test_other_files_are_refused(tmp_path):
    with pytest.raises(CorruptFileError, match="not a Lance file"):
        FileSalvage(b"PAR1" * 100)
    with pytest.raises(InvalidArgumentError, match="expected 'null' or 'skip'"):
        FileSalvage(b"", lost="zero")
    with pytest.raises(FileNotFoundError):
        FileSalvage(tmp_path / "absent.lance")


def test_structs_of_2_0_lose_their_rows(tmp_path):
    path = tmp_path / "structs.lance"
    table = pa.table({"s": [{"a": number} for number in range(ROWS)], "b": list(range(ROWS))})
    lance_arrow.write_table(table, path, file_version="2.0", page_bytes=PAGE_BYTES)
    _, (start, _), _ = pages(path.read_bytes(), 1)[0]
    saved, report = salvaged(flipped(path.read_bytes(), start))
    assert report.left_out == union(one.rows for one in report.lost) != []
    assert saved.equals(table.filter(~as_mask(report.left_out, (0, ROWS))))


class Disk(BufferSource):
    """A file on a disk that cannot read some bytes."""

    def __init__(self, content: bytes, start: int, stop: int, error: int) -> None:
        super().__init__(content)
        self._bad = start, stop, error

    def read_arena(self, starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, last, error = self._bad
        if ((starts < last) & (stops > first)).any():
            raise OSError(error, os.strerror(error))
        return super().read_arena(starts, stops)

    def positional(self) -> None:
        return None


def test_rows_on_sectors_that_the_disk_cannot_read_are_lost(whole):
    _, (start, stop), _ = pages(whole, 1)[1]
    middle = (start + stop) // 2
    table, report = salvaged(Disk(whole, middle, middle + 512, errno.EIO))
    lost = as_mask([one.rows for one in report.lost], (0, ROWS))
    assert {one.type for one in report.lost} == {"TruncatedReadError"}
    assert 0 < lost.sum() < ROWS // 4
    assert table["text"].filter(~lost).equals(rows()["text"].filter(~lost))
    with pytest.raises(PermissionError):
        FileSalvage(Disk(whole, middle, middle + 512, errno.EACCES))


def test_runs_of_rows():
    assert union([(5, 7), (0, 2), (2, 3), (6, 9), (4, 4)]) == [(0, 3), (5, 9)]
    assert gaps([(0, 3), (5, 9)], (1, 12)) == [(3, 5), (9, 12)]
    assert gaps([(0, 3)], (1, 3)) == []
    assert shared([(0, 3), (5, 9)], [(2, 6), (8, 20)]) == [(2, 3), (5, 6), (8, 9)]
    assert as_mask([(0, 3), (5, 9)], (2, 7)).tolist() == [True, False, False, True, True]


def test_reads_go_on_after_damage(whole):
    _, (start, _), _ = pages(whole, 1)[2]
    damaged = flipped(whole, start)
    with lance_arrow.LanceFile(damaged) as file:
        with pytest.raises(CorruptFileError):
            file.read()
        table = file.read(on_corruption="null")
        lost = as_mask([one.rows for one in file.lost], (0, ROWS))
        assert table["key"].equals(rows()["key"])
        assert table["text"].filter(lost).null_count == lost.sum() > 0
        assert table["text"].filter(~lost).equals(rows()["text"].filter(~lost))
        skipped = file.read(["text", "key"], on_corruption="skip")
        assert skipped.equals(rows().filter(~lost).select(["text", "key"]))
        batches = list(file.to_batches(batch_size=700, on_corruption="skip"))
        assert pa.Table.from_batches(batches).equals(rows().filter(~lost))
        assert max(batch.num_rows for batch in batches) == 700
        first = int(np.flatnonzero(lost)[0])
        part = file.read(rows=[(0, 5), (first - 3, first + 3)], on_corruption="skip")
        assert part["key"].equals(pa.concat_tables([rows().slice(0, 5), rows().slice(first - 3, 3)])["key"])
        assert {one.column for one in file.lost} == {"text"}
        assert file.read(["key"], on_corruption="null").equals(rows().select(["key"]))
        assert file.lost == ()


def test_what_reads_after_damage_refuse(whole):
    with lance_arrow.LanceFile(whole) as file:
        with pytest.raises(InvalidArgumentError, match="did you mean 'skip'"):
            file.read(on_corruption="skipp")
        with pytest.raises(InvalidArgumentError, match="filter what on_corruption returns"):
            file.read(filter="key > 3", on_corruption="null")
        with pytest.raises(InvalidArgumentError, match="keyy"):
            file.read(["keyy"], on_corruption="null")


def test_parts_of_columns_are_read_after_damage(tmp_path):
    path = tmp_path / "nested.lance"
    table = pa.table({"s": [{"a": number, "b": str(number)} for number in range(ROWS)]})
    lance_arrow.write_table(table, path, page_bytes=PAGE_BYTES)
    _, (start, _), _ = pages(path.read_bytes(), 1)[0]
    with lance_arrow.LanceFile(flipped(path.read_bytes(), start)) as file:
        assert file.read(["s.a"], on_corruption="null")["a"].to_pylist() == list(range(ROWS))
        assert file.lost == ()
        found = file.read(["s.a", "s.b"], on_corruption="null")
        assert found["a"].null_count == 0 < found["b"].null_count
        assert [one.column for one in file.lost] == ["s.b"]


@pytest.mark.parametrize("version", ["2.0", "2.2"])
def test_a_damaged_blob_is_lost_alone(version, tmp_path):
    field = pa.field("image", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    values = [bytes([number]) * 40_000 for number in range(1, 21)]
    table = pa.table([values, list(range(20))], schema=pa.schema([field, pa.field("n", pa.int64())]))
    path = tmp_path / "blobs.lance"
    lance_arrow.write_table(table, path, file_version=version)
    content = path.read_bytes()
    place = content.index(values[7]) + 20_000
    saved, report = salvaged(flipped(content, place))
    assert saved["n"].equals(table["n"])
    assert saved["image"].to_pylist() == [None if number == 7 else value for number, value in enumerate(values)]
    assert [one.rows for one in report.lost] == [(7, 8)]
    target = tmp_path / "saved.lance"
    path.write_bytes(flipped(content, place))
    assert lance_arrow.salvage(path, target).rows_saved == 20
    assert lance_arrow.read_table(target)["image"].to_pylist() == saved["image"].to_pylist()


def test_rows_that_cannot_be_read_together_are_not_lost(tmp_path):
    path = tmp_path / "codes.lance"
    schema = pa.schema([pa.field("code", pa.dictionary(pa.int8(), pa.string()))])
    with lance_arrow.LanceWriter(path, schema, page_bytes=64) as writer:
        for first in range(0, 300, 100):
            items = pa.array([f"item {number}" for number in range(first, first + 100)])
            codes = pa.array(range(100), pa.int8())
            writer.write(pa.record_batch([pa.DictionaryArray.from_arrays(codes, items)], schema=schema))
    with lance_arrow.LanceFile(path) as file, pytest.raises(UnsupportedError):
        file.read()
    with FileSalvage(path) as found:
        assert (found.report.lost, found.report.rows_saved) == ([], 300)
        values = [value for table in found.tables() for value in table["code"].to_pylist()]
    assert values == [f"item {number}" for number in range(300)]
