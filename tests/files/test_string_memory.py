"""Strings read to memory whose size the first batch of them estimates, and items of dictionaries copied by one move."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from lance_arrow import LanceFile, LanceWriter

NUM_ROWS = 60_000


def _written(path: Path, values: pa.Array, **options: object) -> LanceFile:
    rows = pa.table({"text": values})
    with LanceWriter(path, rows.schema, column_options={"text": options}, rows_per_zone=None) as writer:
        writer.write(rows)
    return LanceFile(path)


def _texts(sizes: np.ndarray, seed: int) -> pa.Array:
    """Texts of such sizes, of words that repeat."""
    random = np.random.default_rng(seed)
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    words = np.frombuffer(b"the quick brown fox jumps over lazy dogs ", np.uint8)
    data = np.take(words, (np.arange(ends[-1]) + random.integers(0, len(words))) % len(words))
    return pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(ends), pa.py_buffer(data)).cast(pa.string())


_RISING = np.linspace(0, 400, NUM_ROWS).astype(np.int64)
_SHAPES = {
    "even": np.full(NUM_ROWS, 40),
    "rising": _RISING,  # more than the first ones tell
    "falling": _RISING[::-1],
    "late": np.where(np.arange(NUM_ROWS) < NUM_ROWS - 5, 8, 500_000),
    "empty": np.zeros(NUM_ROWS, np.int64),
}


@pytest.mark.cover(1)
@pytest.mark.parametrize("codec", ["variable", "fsst", "general", "dictionary"])
@pytest.mark.parametrize("shape", _SHAPES)
def test_texts_of_any_sizes_are_read_as_written(tmp_path: Path, shape: str, codec: str) -> None:
    values = _texts(_SHAPES[shape], 3)
    file = _written(tmp_path / "texts.lance", values, codec=codec)
    assert file.read()["text"].combine_chunks().equals(values)
    rows = np.arange(0, NUM_ROWS, 3)
    assert file.take(rows)["text"].combine_chunks().equals(values.take(rows))


def test_nulls_take_no_memory_of_texts(tmp_path: Path) -> None:
    values = _texts(_SHAPES["rising"], 4)
    valid = pa.array(np.arange(NUM_ROWS) % 5 != 0)
    values = pa.compute.if_else(valid, values, None)
    assert _written(tmp_path / "nulls.lance", values).read()["text"].combine_chunks().equals(values)


@pytest.mark.parametrize("is_nullable", [False, True])
@pytest.mark.parametrize("num_items", [1, 2, 255, 256, 257, 5_000])
def test_items_of_a_dictionary_around_the_size_of_a_move(tmp_path: Path, num_items: int, *, is_nullable: bool) -> None:
    sizes = [0, 1, 15, 16, 17, 40]
    items = [f"{item:04}" * 12 for item in range(num_items)]
    items = pa.array([text[: sizes[item % 6]] + (text[:4] if item >= 6 else "") for item, text in enumerate(items)])
    codes = np.random.default_rng(num_items).integers(0, num_items, NUM_ROWS)
    values = items.take(pa.array(codes))
    if is_nullable:
        values = pa.compute.if_else(pa.array(codes % 7 != 3), values, None)
    file = _written(tmp_path / "items.lance", values, codec="dictionary")
    assert file.read()["text"].combine_chunks().equals(values)
    # The last value of each ends where memory does.
    for count in (1, 2, 17, 1_000):
        assert file.take(np.arange(count))["text"].combine_chunks().equals(values.slice(0, count))
