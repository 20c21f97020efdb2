"""Lists of 2.0, which have columns of their own, by the engine: any nesting, near and far, and damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from native_only import assert_read, lists, without_layouts
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
    assert_read(path, table, rows)
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


@pytest.mark.parametrize("num_rows", [4, 40_000], ids=["read at once", "large"])
def test_damaged_ends_of_2_0_are_refused(tmp_path: Path, num_rows: int) -> None:
    path = tmp_path / "f.lance"
    lengths = np.arange(num_rows) % 4
    ends = np.cumsum(lengths)
    table = pa.table({"l": pa.ListArray.from_arrays(np.append(0, ends).astype(np.int32), np.arange(ends[-1]))})
    write_table(table, path, file_version="2.0", checksums=False)
    content, stored = path.read_bytes(), ends.astype("<u8").tobytes()
    assert content.count(stored) == 1
    # The last list is never among the rows that are taken.
    rows = list(range(0, num_rows - 1, 2))
    ways = (lambda file: file.read(), lambda file: list(file.to_batches(batch_size=2)), lambda file: file.take(rows))
    for place, wrong in ((1, 1 << 62), (-1, int(ends[-1]) - 1), (-1, 1 << 62), (2, 0)):
        damaged = ends.astype("<u8")
        damaged[place] = wrong
        store = CountingStore({"f.lance": content.replace(stored, damaged.tobytes())})
        path.write_bytes(store.files["f.lance"])
        for source, filesystem in ((path, None), ("f.lance", store)):
            for read in ways:
                with LanceFile(source, filesystem=filesystem) as file, pytest.raises(CorruptPageError) as caught:
                    read(file)
                error = caught.value
                assert (error.column, error.page) == ("l", 0)
                assert str(error.path).endswith(str(source))
                assert error.byte_range is not None
