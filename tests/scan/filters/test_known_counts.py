"""Counts by what is known of files: the same as reading them again, and only of the bytes that are there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.errors import LanceError, MissingFileError
from lance_arrow.scan.filtered_reading import FilteredReading
from lance_arrow.scan.filters import known_counts
from lance_arrow.spi import ReadReport

# Bounds of zones exclude none of the middle words.
WORDS = ["AIR", "FOB", "MAIL", None, "SHIP"]
ROWS = 6000
CONDITIONS = [
    pc.field("s") == "MAIL",
    pc.field("s") != "MAIL",
    pc.field("s") == "PIPE",
    pc.field("s") == "ZEPPELIN",
    pc.field("s").isin(["AIR", "SHIP"]),
    pc.field("s").is_null(),
    pc.field("s").is_valid(),
    pc.starts_with(pc.field("s"), "S"),
    (pc.field("s") == "FOB") & (pc.field("n") < 100),
]


def rows(step: int = 7, words: list[str | None] = WORDS) -> pa.Table:
    texts = pa.array([words[row * step % len(words)] for row in range(ROWS)], pa.string())
    return pa.table({"s": texts, "n": range(ROWS)})


def plain(path: Path) -> LanceTable:
    return LanceTable.create(path, rows(), max_rows_per_file=2500, rows_per_zone=512)


def with_deletions(path: Path) -> LanceTable:
    plain(path).delete("n % 3 = 0 AND n < 3000")
    return LanceTable.open(path)


def with_files_side_by_side(path: Path) -> LanceTable:
    plain(path).drop_columns(["s"])
    LanceTable.open(path).add_columns(pa.table({"s": rows(11)["s"]}))
    return LanceTable.open(path)


def with_another_name(path: Path) -> LanceTable:
    table = plain(path)
    table.alter_columns({"path": "s", "name": "t"})
    LanceTable.open(path).add_columns({"s": "CASE WHEN n < 10 THEN 'MAIL' ELSE 'FOB' END"})
    return LanceTable.open(path)


def with_fragments_that_lack_it(path: Path) -> LanceTable:
    LanceTable.create(path, rows().select(["n"]))
    LanceTable.open(path).add_columns({"s": pa.scalar(None, pa.string())})
    LanceTable.open(path).append(rows(3))
    return LanceTable.open(path)


def with_an_index(path: Path) -> LanceTable:
    LanceTable.create(path, rows(), rows_per_zone=None, max_rows_per_file=2500).create_zone_map("s")
    return LanceTable.open(path)


def without_checksums(path: Path) -> LanceTable:
    return LanceTable.create(path, rows(), checksums=False)


def with_texts_that_are_no_dictionary(path: Path) -> LanceTable:
    return LanceTable.create(path, rows().set_column(0, "s", pa.array([f"text {one}" for one in range(ROWS)])))


@pytest.mark.share(2)
@pytest.mark.parametrize(
    "make",
    [
        plain,
        with_deletions,
        with_files_side_by_side,
        with_another_name,
        with_fragments_that_lack_it,
        with_an_index,
        without_checksums,
        with_texts_that_are_no_dictionary,
    ],
)
def test_counts_are_those_of_the_rows(tmp_path: Path, make: Callable[[Path], LanceTable]) -> None:
    path = tmp_path / "t.lance"
    held = lance_arrow.dataset(path) if make(path) else None
    content = LanceTable.open(path).to_table()
    assert held is not None
    for condition in CONDITIONS:
        expected = content.filter(condition).num_rows
        for _ in range(3):
            assert held.count_rows(filter=condition) == expected
            assert lance_arrow.dataset(path).count_rows(filter=condition) == expected
            assert lance_arrow.dataset(path, strings="view").count_rows(filter=condition) == expected
            assert LanceTable.open(path).count_rows(condition) == expected


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Readings that are made."""
    made: list[Any] = []
    begin = FilteredReading.__init__

    def noted(self: FilteredReading, *given: Any, **named: Any) -> None:
        made.append(self)
        begin(self, *given, **named)

    monkeypatch.setattr(FilteredReading, "__init__", noted)
    return made


def test_a_file_that_is_known_is_not_looked_at_again(tmp_path: Path, readings: list[Any]) -> None:
    path = tmp_path / "t.lance"
    plain(path)
    for condition in CONDITIONS[:3]:
        first = lance_arrow.dataset(path).count_rows(filter=condition)
        assert readings
        readings.clear()
        assert lance_arrow.dataset(path).count_rows(filter=condition) == first
        assert LanceTable.open(path).count_rows(condition) == first
        assert not readings


def test_versions_and_copies_share_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    plain(path)
    condition = CONDITIONS[0]
    assert lance_arrow.dataset(path).count_rows(filter=condition) == ROWS // 5
    LanceTable.open(path).delete("n < 1000")
    assert lance_arrow.dataset(path).count_rows(filter=condition) == ROWS // 5 - 200
    assert lance_arrow.dataset(path, version=1).count_rows(filter=condition) == ROWS // 5
    LanceTable.open(path).append(rows())
    assert lance_arrow.dataset(path).count_rows(filter=condition) == 2 * (ROWS // 5) - 200


def test_other_bytes_in_the_same_place(tmp_path: Path) -> None:
    path, other = tmp_path / "t.lance", tmp_path / "o.lance"
    LanceTable.create(path, rows())
    LanceTable.create(other, rows(words=["MAIL", "FOB", "MAIL", None, "SHIP"]))
    condition = CONDITIONS[0]
    held = lance_arrow.dataset(path)
    for _ in range(2):
        assert held.count_rows(filter=condition) == ROWS // 5
    (place,), (source,) = (path / "data").iterdir(), (other / "data").iterdir()
    assert place.stat().st_size == source.stat().st_size
    status = place.stat()
    shutil.copyfile(source, place)
    os.utime(place, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert lance_arrow.dataset(path).count_rows(filter=condition) == 2 * (ROWS // 5)
    place.unlink()
    for dataset in (held, lance_arrow.dataset(path)):
        with pytest.raises(MissingFileError):
            dataset.count_rows(filter=condition)


def test_damage_is_found_as_in_a_file_that_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows(), rows_per_zone=None)
    (place,) = (path / "data").iterdir()
    sound = place.read_bytes()

    def asked(table: Path) -> object:
        try:
            return lance_arrow.dataset(table).count_rows(filter=CONDITIONS[0])
        except LanceError as error:
            return type(error)

    assert [asked(path), asked(path)] == [ROWS // 5] * 2
    answers = []
    for number, at in enumerate(range(0, len(sound), 193)):
        damaged = bytearray(sound)
        damaged[at] ^= 0xFF
        place.write_bytes(damaged)
        unknown = tmp_path / f"{number}.lance"
        shutil.copytree(path, unknown)
        answers.append(asked(path))
        assert answers[-1] == asked(unknown), at
        place.write_bytes(sound)
        assert asked(path) == ROWS // 5
    assert ROWS // 5 in answers
    assert len([one for one in answers if one != ROWS // 5]) > 5


def test_few_counts_of_a_file_are_known(tmp_path: Path, readings: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.lance"
    LanceTable.create(path, rows())
    for number in range(20):
        lance_arrow.dataset(path).count_rows(filter=pc.field("s") == f"M{number}")
    readings.clear()
    lance_arrow.dataset(path).count_rows(filter=pc.field("s") == "M19")
    assert not readings
    lance_arrow.dataset(path).count_rows(filter=pc.field("s") == "M0")
    assert readings
    monkeypatch.setattr(known_counts, "_MOST_PAGE_BYTES", 10)
    for _ in range(2):
        readings.clear()
        assert lance_arrow.dataset(path).count_rows(filter=pc.field("s") == "FOB") == ROWS // 5
        assert readings


def test_reports_are_complete(tmp_path: Path, receipts: list[ReadReport]) -> None:
    path = tmp_path / "t.lance"
    plain(path)
    for _ in range(3):
        receipts.clear()
        assert lance_arrow.dataset(path).count_rows(filter=CONDITIONS[0]) == ROWS // 5
        (report,) = receipts
        assert report.rows == ROWS // 5
        assert report.zones_total > 0
