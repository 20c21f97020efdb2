"""What the reference wrote as 2.3 we read equal: every cell of structure and values that it writes, and `take`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from same import assert_same, taken
from values import seeded
from witness import Witness

import lance_arrow

pytestmark = pytest.mark.interop

ROWS = 3000
SPARSE = {"lance-encoding:structural-encoding": "sparse"}
INTEGERS = pa.array([None if n % 7 == 0 else n for n in range(ROWS)], pa.int32())
TEXTS = pa.array([None if n % 5 == 0 else f"text {n}" for n in range(ROWS)])
LONG = pa.array([None if n % 5 == 0 else "b" * (300 + n % 50) + str(n) for n in range(300)])
LISTS = pa.array([None if n % 9 == 0 else list(range(n % 4)) for n in range(ROWS)], pa.list_(pa.int32()))
NULLS = np.arange(ROWS) % 4 == 1


def struct(*children: pa.Array) -> pa.Array:
    mask = pa.array(NULLS[: len(children[0])])
    return pa.StructArray.from_arrays(list(children), [f"c{n}" for n in range(len(children))], mask=mask)


def deep() -> pa.Array:
    item = pa.struct([("v", pa.list_(pa.int32())), ("w", pa.int64())])
    rows = [
        None if n % 9 == 0 else [None if k == 1 else {"v": [k] * k, "w": None if k == 2 else k} for k in range(n % 4)]
        for n in range(ROWS)
    ]
    return pa.array(rows, pa.list_(item))


def vectors(row: list[float | None], every: int = 4, count: int = 60) -> pa.Array:
    data_type = pa.list_(pa.float32(), len(row))
    return pa.array([None if n % every == 0 else row for n in range(count)], data_type)


CASES = {
    "integers": (INTEGERS, SPARSE),
    "texts": (TEXTS, SPARSE),
    "long_texts": (LONG, SPARSE),
    "lists": (LISTS, SPARSE),
    "structs": (struct(INTEGERS, TEXTS), SPARSE),
    "structs_of_long_texts": (struct(LONG), SPARSE),
    "structs_of_lists": (struct(LISTS), SPARSE),
    "deep": (deep(), None),
    "deep_sparse": (deep(), SPARSE),
    "three_lists": (
        pa.array(
            [None if n % 5 == 0 else [[[k] * j or None for j in range(k)] for k in range(n % 4)] for n in range(400)],
            pa.list_(pa.list_(pa.list_(pa.int16()))),
        ),
        SPARSE,
    ),
    "maps": (
        pa.array([[("k", n), ("x", None)][: n % 3] for n in range(ROWS)], pa.map_(pa.string(), pa.int32())),
        SPARSE,
    ),
    "words": (pa.array([f"w{n % 10}" if n % 6 else None for n in range(ROWS)]), SPARSE),
    "dictionary": (pa.array([f"w{n % 10}" if n % 6 else None for n in range(ROWS)]).dictionary_encode(), SPARSE),
    "booleans": (pa.array([None if n % 5 == 0 else n % 3 == 0 for n in range(ROWS)]), SPARSE),
    "vectors": (vectors([0.5] * 200), SPARSE),
    "vectors_of_nulls": (vectors([None] * 128), None),
    "repeated_vectors": (vectors([1.0, None, 2.0], count=ROWS), None),
    "scalar": (pa.array([7] * ROWS), None),
    "scalar_and_nulls": (pa.array([7 if n % 3 else None for n in range(ROWS)]), None),
    "lists_of_scalar": (pa.array([[5] * (n % 3) for n in range(ROWS)]), None),
    "lists_of_nulls": (pa.array([[None] * (n % 3) for n in range(ROWS)], pa.list_(pa.int32())), None),
    "all_null": (pa.nulls(ROWS, pa.string()), None),
    "empty_lists": (pa.array([[], None] * 20, pa.list_(pa.int32())), None),
    "runs": (pa.array(np.repeat(np.arange(4000), [1 + n % 5 for n in range(4000)]) * 999_983), None),
    "packed_runs": (
        pa.array(np.repeat(seeded("packed").integers(0, 1 << 40, 4000), [1 + n % 5 for n in range(4000)])),
        {"lance-encoding:rle-threshold": "1.0"},
    ),
    "empty_texts": (pa.array([""] * 50 + ["x"]), None),
    "one_size": (pa.array([f"{n:06d}" for n in range(ROWS)]), None),
    "compressed": (
        pa.array([f"common prefix {n}" if n % 3 else None for n in range(ROWS)]),
        {"lance-encoding:compression": "lz4", **SPARSE},
    ),
    "symbols": (
        pa.array([f"some text again {n}" if n % 3 else None for n in range(ROWS)]),
        {"lance-encoding:compression": "fsst", **SPARSE},
    ),
    "a_long_list": (pa.array([list(range(100_000)), None, [], *[[1]] * 5], pa.list_(pa.int64())), None),
}


@pytest.mark.parametrize("name", CASES)
def test_read_and_take_equal(witness: Witness, tmp_path: Path, name: str) -> None:
    array, metadata = CASES[name]
    expected = pa.table([array], schema=pa.schema([pa.field("x", array.type, metadata=metadata)]))
    path = witness.write(expected, tmp_path / "file.lance", "2.3")
    indices = seeded(name).integers(0, len(array), 50)
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected, file.read())
        assert_same(taken(expected, indices), file.take(indices))
        batches = list(file.to_batches(batch_size=97))
    assert_same(expected, pa.Table.from_batches(batches, expected.schema))


def test_values_within_nulls_mean_nothing_where_a_page_stores_none(witness: Witness, tmp_path: Path) -> None:
    """All values that count are null, those within null lists are not: the writer stores no values at all."""
    items = pa.StructArray.from_arrays([pa.array([None, 1.5, None, 2.5] * 20, pa.float32())], ["x"])
    lists = pa.FixedSizeListArray.from_arrays(items, 1, mask=pa.array([False, True] * 40))
    expected = pa.table({"a": lists})
    path = witness.write(expected, tmp_path / "nothing.lance", "2.3")
    pages = [page["encoding"] for column in witness.describe(path)["columns"] for page in column]
    assert any("none" in page.lower() for page in pages), pages
    with lance_arrow.LanceFile(path) as file:
        assert file.read().column("a").to_pylist() == [[{"x": None}], None] * 40
        assert file.take([3, 0, 2]).column("a").to_pylist() == [None, [{"x": None}], [{"x": None}]]
