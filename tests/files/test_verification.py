"""`verify`: everything wrong with a file is listed, with its place; nothing is wrong with a sound one."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from checksummed import with_checksums
from craft import Craft
from witness import Witness

import lance_arrow
from lance_arrow.errors import CorruptFileError

pytestmark = pytest.mark.interop

ROWS = 3000
TABLE = pa.table(
    {
        "n": pa.array([i * i for i in range(ROWS)]),
        "s": pa.array([None if i % 5 == 0 else f"text {i}" for i in range(ROWS)]),
        "l": pa.array([[i] * (i % 3) for i in range(ROWS)]),
    }
)


@pytest.fixture(scope="module")
def plain(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("verifying") / "plain.lance"
    halves = [TABLE.slice(0, 1500), TABLE.slice(1500)]
    return witness.write(pa.concat_tables(halves), path, "2.2", slices=[(0, 1500), (1500, ROWS)]).read_bytes()


def damaged(data: bytes, *positions: int) -> bytes:
    changed = bytearray(data)
    for position in positions:
        changed[position] ^= 1
    return bytes(changed)


def page_starts(data: bytes, column: int) -> list[int]:
    with lance_arrow.LanceFile(data) as file:
        return [int(page.buffer_offsets[-1]) for page in file._file.columns([column])[0].pages]


def test_sound_files_are_in_order(plain, tmp_path):
    report = lance_arrow.verify(plain)
    assert (report.ok, report.has_checksums, report.errors, report.unchecked) == (True, False, [], [])
    assert (report.checked.blocks, report.checked.columns, report.checked.rows) == (0, 3, ROWS)
    data, _ = with_checksums(plain, 1024)
    path = tmp_path / "sums.lance"
    path.write_bytes(data)
    report = lance_arrow.verify(path)
    assert (report.ok, report.has_checksums, report.errors, report.path) == (True, True, [], str(path))
    with lance_arrow.LanceFile(data) as file:
        table = file._file.checks.table
        assert report.checked.blocks == len(table.crcs)
        assert report.checked.checked_bytes == int(table.sizes.sum())


def test_every_damaged_page_is_listed(plain):
    data, _ = with_checksums(plain, 1024)
    places = [(name, column) for column, name in enumerate(("n", "s", "l.item"))]
    positions = [start + 40 for _, column in places for start in page_starts(data, column)]
    report = lance_arrow.verify(damaged(data, *positions))
    pages = len(positions) // 3
    assert not report.ok
    assert {(one.column, one.page) for one in report.errors} == {(n, p) for n, _ in places for p in range(pages)}
    for finding, position in zip(sorted(report.errors, key=lambda one: one.byte_range), sorted(positions), strict=True):
        assert finding.byte_range[0] <= position < finding.byte_range[1]
        assert finding.type == "CorruptPageError"
        assert "checksum" in str(finding)


def test_neighbouring_blocks_are_one_finding(plain):
    data, _ = with_checksums(plain, 64)
    start = page_starts(data, 0)[0]
    report = lance_arrow.verify(damaged(data, start + 70, start + 130, start + 300))
    assert [one.byte_range for one in report.errors] == [(start + 64, start + 192), (start + 256, start + 320)]


def test_damaged_metadata_is_listed(plain):
    data, tail = with_checksums(plain)
    for block, message in (
        (tail.descriptor, "descriptor"),
        (tail.columns[1], "metadata of a column"),
        (tail.column_table, "table of columns"),
        (tail.buffer_table, "table of global buffers"),
        (tail.footer, "footer"),
    ):
        report = lance_arrow.verify(damaged(data, block.position + 1))
        assert not report.ok
        told = [one.byte_range for one in report.errors if message in one.message]
        assert (block.position, block.stop) in told, (message, report.errors)


def test_damaged_pages_are_listed_where_the_footer_is_damaged_too(plain):
    """The table is found without the footer; which column owns the bytes is not."""
    data, tail = with_checksums(plain, 64)
    start = page_starts(data, 0)[0]
    report = lance_arrow.verify(damaged(data, start + 70, tail.footer.stop - 1))
    assert any("footer" in one.message for one in report.errors)
    assert [(one.column, one.byte_range) for one in report.errors if "bytes of the file" in one.message] == [
        (None, (start + 64, start + 128))
    ]


def test_a_lost_table_is_listed(plain):
    data, tail = with_checksums(plain)
    report = lance_arrow.verify(damaged(data, tail.table.position))
    assert [one.message for one in report.errors] == [
        "the file was written with a table of checksums, which is missing"
    ]
    report = lance_arrow.verify(damaged(data, tail.table.position + 70))
    assert [one.message for one in report.errors] == ["the table of checksums contradicts its own checksum"]


def test_pages_that_contradict_themselves_are_listed_without_checksums(plain):
    start = page_starts(plain, 1)[-1]
    bad = bytearray(plain)
    bad[start : start + 64] = b"\xff" * 64
    report = lance_arrow.verify(bytes(bad))
    assert not report.has_checksums
    assert [(one.column, one.page) for one in report.errors] == [("s", len(page_starts(plain, 1)) - 1)]


def test_what_is_no_lance_file_raises(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("x" * 100)
    with pytest.raises(CorruptFileError, match="not a Lance file"):
        lance_arrow.verify(path)
    with pytest.raises(FileNotFoundError):
        lance_arrow.verify(Path(tmp_path) / "nothing")


def test_rows_without_end_are_not_read():
    craft = Craft()
    craft.num_rows = 2**62
    craft.columns[0].pages[0].length = 2**62
    report = lance_arrow.verify(craft.build())
    assert not report.checked.columns
    assert report.errors or report.unchecked
