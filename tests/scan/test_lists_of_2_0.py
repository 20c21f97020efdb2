"""Lists of 2.0, which have columns of their own, by the engine: any nesting, near and far, and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from native_only import lists, reads, without_layouts
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile, write_table
from lance_arrow.errors import CorruptPageError

NUM_ROWS = 700


def _numbers(count: int, nulls: float) -> pa.Array:
    rng = seeded(f"numbers {count}")
    return pa.array(rng.integers(0, 1 << 40, count), mask=rng.random(count) < nulls)


def _table() -> pa.Table:
    numbers, words = _numbers(2000, 0.1), pa.array([None if n % 7 == 0 else f"w{n}" for n in range(2000)])
    pairs = pa.StructArray.from_arrays([numbers, words], ["n", "w"])
    return pa.table(
        {
            "numbers": lists(numbers, NUM_ROWS, "a"),
            "words": lists(words, NUM_ROWS, "b", is_large=True),
            "pairs": lists(pairs, NUM_ROWS, "c"),
            "nested": lists(lists(pairs, 1500, "d"), NUM_ROWS, "e"),
            "inside": pa.StructArray.from_arrays([lists(numbers, NUM_ROWS, "f"), _numbers(NUM_ROWS, 0.0)], ["l", "n"]),
            "none": pa.array([None, []] * (NUM_ROWS // 2), pa.list_(pa.int8())),
        }
    )


@pytest.mark.parametrize("page_bytes", [500, None], ids=["many pages", "one page"])
def test_lists_of_2_0(tmp_path: Path, page_bytes: int | None) -> None:
    table, path = _table(), tmp_path / "f.lance"
    options = {} if page_bytes is None else {"page_bytes": page_bytes}
    write_table(table, path, file_version="2.0", **options)
    rows = np.array([0, 1, 7, 200, 201, NUM_ROWS - 1])
    for found, taken in reads(path, rows):
        found.validate(full=True)
        assert found.to_pylist() == table.to_pylist()
        assert taken.to_pylist() == table.take(rows).to_pylist()
    with without_layouts(), LanceFile(path) as file:
        file.take(rows).validate(full=True)
        file.read(columns=["numbers", "inside", "none"]).validate(full=True)


def test_takes_of_lists_of_2_0_read_little(tmp_path: Path) -> None:
    path = tmp_path / "f.lance"
    write_table(_table().select(["pairs"]), path, file_version="2.0")
    store = CountingStore({"f.lance": path.read_bytes()})
    with LanceFile("f.lance", filesystem=store) as file:
        file.take([5])
        before = len(store.waves)
        file.take([300])
    # Ends of the lists, ends of the words beside the numbers, then the words.
    assert len(store.waves) - before <= 3


def test_damaged_ends_of_2_0_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.lance"
    table = pa.table({"l": pa.array([[1, 2], [3], [], [4, 5, 6]], pa.list_(pa.int32()))})
    write_table(table, path, file_version="2.0", checksums=False)
    content = path.read_bytes()
    ends = np.array([2, 3, 3, 6], "<u8").tobytes()
    assert content.count(ends) == 1
    for wrong in ([2, 1, 3, 6], [2, 3, 3, 5], [2, 3, 1 << 62, 6]):
        damaged = content.replace(ends, np.array(wrong, "<u8").tobytes())
        with LanceFile(damaged) as file, pytest.raises(CorruptPageError) as caught:
            file.read()
        assert caught.value.column == "l"
