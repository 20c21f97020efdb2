"""Strings of many kinds, in several pages and in hive partitions: the reference reads what is written."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

ROWS = 12_000
WORDS = ["amber", "birch", "cedar", "delta", "größe", "☃"]


def strings(chance: random.Random) -> dict[str, pa.Array]:
    def each(make: object) -> list[object]:
        return [make(number) for number in range(ROWS)]  # type: ignore[operator]

    return {
        "few": pa.array(each(lambda _: chance.choice(WORDS))),
        "medium": pa.array(each(lambda _: f"user-{chance.randrange(900):08d}")),
        "distinct": pa.array(each(lambda number: f"order-{number * 7919 % ROWS:012d}")),
        "address": pa.array(
            each(lambda _: f"https://example.com/{chance.choice(WORDS)}?q={chance.randrange(1 << 30)}")
        ),
        "uuid": pa.array(each(lambda _: str(uuid.UUID(int=chance.getrandbits(128))))),
        "sentence": pa.array(each(lambda _: " ".join(chance.choices(WORDS, k=9)))),
        "empty": pa.array(each(lambda number: "" if number % 5 else f"text {number}")),
        "null": pa.array(each(lambda number: None if number % 7 else f"text {number}")),
        "all_null": pa.array([None] * ROWS, pa.string()),
        "binary": pa.array(each(lambda _: chance.randbytes(chance.randrange(20))), pa.binary()),
        "zeros": pa.array(each(lambda _: bytes(chance.randrange(30))), pa.large_binary()),
        "long": pa.array(each(lambda number: f"{number} " * (9000 if number % 999 == 0 else 3)), pa.large_string()),
    }


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_pages_with_tables_of_earlier_pages(witness: Witness, tmp_path: Path, version: str) -> None:
    table = pa.table(strings(random.Random(3)))
    lance_arrow.write_table(table, tmp_path / "t.lance", file_version=version, page_bytes=64 << 10)
    assert witness.read(tmp_path / "t.lance").equals(table)
    picks = [0, 1, 999, 4_000, ROWS - 1]
    assert witness.take(tmp_path / "t.lance", picks).equals(table.take(picks))


def test_files_of_partitions(witness: Witness, tmp_path: Path) -> None:
    table = pa.table(
        {"part": pa.array([number % 9 for number in range(ROWS)], pa.int32()), **strings(random.Random(4))}
    )
    hive = pads.partitioning(pa.schema([table.schema.field("part")]), flavor="hive")
    pads.write_dataset(table, tmp_path / "d", format=lance_arrow.LanceFormat(), partitioning=hive)
    for part in range(9):
        (path,) = (tmp_path / "d" / f"part={part}").iterdir()
        expected = table.take(list(range(part, ROWS, 9))).drop_columns("part")
        assert witness.read(path).equals(expected)
