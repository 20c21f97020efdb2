"""Which filtered counts are handed to threads: those of many stored bytes, many rows, or long values."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable, Runtime
from lance_arrow.scan.filters import row_filter

NUM_ROWS = 300_000
MODES = pa.array(["AIR", "RAIL", "SHIP"])
CODES = np.random.default_rng(1).integers(0, 3, NUM_ROWS)
NUMBERS = np.random.default_rng(2).integers(0, 1 << 60, NUM_ROWS)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counts") / "t.lance"
    rows = {"mode": MODES.take(pa.array(CODES)), "one": ["one long text of all rows"] * NUM_ROWS}
    few = {"small": pa.array(CODES, pa.int8()), "large": NUMBERS}
    LanceTable.create(path, pa.table(rows | few))
    return path


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many windows were handed to threads by each count."""
    found: list[int] = []
    ahead = Runtime.ahead

    def watched(self: Runtime, function: Any, items: Iterable[Any], **named: Any) -> Any:
        if function.__qualname__.startswith("RowFilter.count"):
            items = list(items)
            found.append(len(items))
        return ahead(self, function, items, **named)

    monkeypatch.setattr(Runtime, "ahead", watched)
    return found


@pytest.mark.parametrize(
    ("filter", "wanted", "has_threads"),
    [
        (pc.field("mode") == "AIR", (CODES == 0).sum(), False),
        (pc.field("small") > 0, (CODES > 0).sum(), False),
        (pc.field("large") < 1 << 59, (NUMBERS < 1 << 59).sum(), True),
        (pc.match_substring_regex(pc.field("one"), "l.ng"), NUM_ROWS, True),
        (pc.match_substring_regex(pc.field("one"), "l.ng") & (pc.field("mode") == "AIR"), (CODES == 0).sum(), True),
        ((pc.field("mode") == "AIR") & (pc.field("small") == 0), (CODES == 0).sum(), False),
    ],
    ids=str,
)
def test_threads_are_for_much_work(
    path: Path, windows: list[int], filter: pc.Expression, wanted: int, has_threads: bool
) -> None:
    assert lance_arrow.dataset(path).count_rows(filter=filter) == wanted
    assert bool(windows) == has_threads


def test_many_rows_are_worth_threads(path: Path, windows: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_filter, "_ROWS_WORTH_THREADS", NUM_ROWS)
    # A filter that no other test counts by: what it counted would be known.
    assert lance_arrow.dataset(path).count_rows(filter=pc.field("small") > 1) == (CODES > 1).sum()
    (count,) = windows
    assert count >= 2
