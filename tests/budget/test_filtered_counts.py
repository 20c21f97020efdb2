"""What a count by a filter costs where fragments are read by themselves: calls of Python and C, for each of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from call_counts import count_calls

import lance_arrow
from lance_arrow import LanceTable
from lance_arrow.integrations.polars import _Frames

# No group has so many rows.
FRAGMENT_ROWS = 300_000
AIR = pc.field("s") == "AIR"
FEW = pc.field("n") < 5


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Tables of one fragment and of four."""
    order = np.random.default_rng(1).permutation(FRAGMENT_ROWS)
    rows = pa.table({"s": pa.array(["AIR", "MAIL", "RAIL", "SHIP"]).take(pa.array(order % 4)), "n": order % 100})
    made = []
    for count in (1, 4):
        made.append(tmp_path_factory.mktemp("counts") / "t.lance")
        LanceTable.create(made[-1], rows)
        for _ in range(count - 1):
            LanceTable.open(made[-1]).append(rows)
    return made


def with_dataset(path: Path, filter: pc.Expression) -> Callable[[], int]:
    dataset = lance_arrow.dataset(path)
    return lambda: dataset.count_rows(filter=filter)


def with_table(path: Path, filter: pc.Expression) -> Callable[[], int]:
    table = LanceTable.open(path)
    return lambda: table.count_rows(filter)


def with_new_dataset(path: Path, filter: pc.Expression) -> Callable[[], int]:
    return lambda: lance_arrow.dataset(path).count_rows(filter=filter)


def with_new_frames(path: Path, filter: pc.Expression) -> Callable[[], int]:
    predicate = pl.col("s") == "AIR" if filter is AIR else pl.col("n") < 5

    # Polars calls it from a thread of its own.
    def count() -> int:
        frames = _Frames.of(path, categoricals=False)
        return sum(frame.height for frame in frames(["_rows", "s", "n"], predicate, None, None))

    return count


@pytest.mark.parametrize(
    ("way", "filter", "first", "further"),
    [
        # 940 for each fragment before, 1,500 where it was opened.
        (with_dataset, AIR, 290, 110),
        (with_table, AIR, 280, 110),
        (with_new_dataset, AIR, 710, 260),
        (with_new_frames, AIR, 1090, 260),
        (with_dataset, FEW, 260, 115),
        (with_new_dataset, FEW, 1650, 1280),
    ],
)
def test_further_fragments_take_few_calls(
    tables: list[Path],
    way: Callable[[Path, pc.Expression], Callable[[], int]],
    filter: pc.Expression,
    first: int,
    further: int,
) -> None:
    calls = []
    for path, count in zip(tables, (1, 4), strict=True):
        asked = way(path, filter)
        expected = count * FRAGMENT_ROWS * (25 if filter is AIR else 5) // 100
        assert [asked() for _ in range(3)] == [expected] * 3
        calls.append(count_calls(asked))
    one, many = calls
    assert one <= first
    assert (many - one) / 3 <= further


def test_a_file_that_is_open_takes_few_calls(tables: list[Path]) -> None:
    (path,) = (tables[0] / "data").iterdir()
    with lance_arrow.LanceFile(path) as file:
        assert [file.count_rows(AIR) for _ in range(3)] == [FRAGMENT_ROWS // 4] * 3
        # 941 before.
        assert count_calls(lambda: file.count_rows(AIR)) <= 145
