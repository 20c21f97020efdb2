"""What this package does not read yet is refused by name, column by column; nothing gives other values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from same import assert_same
from values import seeded
from witness import Witness

import lance_arrow
from lance_arrow.errors import UnsupportedError

pytestmark = pytest.mark.interop

ROWS = 3000
PACKED = {"lance-encoding:packed": "true"}
BLOB_ITEM = pa.field("item", pa.large_binary(), metadata={"lance-encoding:blob": "true"})


def lists(item: pa.Array, data_type: pa.DataType) -> pa.Array:
    """Lists of 0 to 4 items, every ninth one null."""
    rng = seeded(str(data_type))
    sizes = rng.integers(0, 5, ROWS)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    items = item.take(pa.array(rng.integers(0, len(item), offsets[-1])))
    mask = pa.array(np.arange(ROWS) % 9 == 3)
    if pa.types.is_large_list(data_type):
        return pa.LargeListArray.from_arrays(offsets, items, type=data_type, mask=mask)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items, type=data_type, mask=mask)


def structs() -> pa.Array:
    numbers = pa.array(range(ROWS), pa.int32())
    return pa.StructArray.from_arrays([numbers, numbers.cast(pa.float64())], ["a", "b"])


INTEGERS = pa.array([*range(50), None], pa.int32())
TEXTS = pa.array(["", "a", "bc", "déf", None])
MAPS = pa.array([[(f"k{i}", i), ("x", None)][: i % 3] for i in range(ROWS)], pa.map_(pa.string(), pa.int32()))

CASES = {
    "list": ("2.1", lambda: lists(INTEGERS, pa.list_(pa.int32())), None),
    "list_2_2": ("2.2", lambda: lists(INTEGERS, pa.list_(pa.int32())), None),
    "large_list_of_strings": ("2.2", lambda: lists(TEXTS, pa.large_list(pa.string())), None),
    "list_of_lists": (
        "2.1",
        lambda: lists(lists(INTEGERS, pa.list_(pa.int32())), pa.list_(pa.list_(pa.int32()))),
        None,
    ),
    "list_of_structs": ("2.2", lambda: lists(structs(), pa.list_(structs().type)), None),
    "struct_with_list": (
        "2.1",
        lambda: pa.StructArray.from_arrays([lists(TEXTS, pa.list_(pa.string()))], ["items"]),
        None,
    ),
    "list_forced_zip": (
        "2.2",
        lambda: lists(INTEGERS, pa.list_(pa.int32())),
        {"lance-encoding:structural-encoding": "fullzip"},
    ),
    "map": ("2.2", lambda: MAPS, None),
    "list_of_fixed_size_lists_of_structs": (
        "2.2",
        # The writer aborts on other lists than full ones, and its reader on these too.
        lambda: pa.ListArray.from_arrays(
            pa.array(range(0, ROWS // 2 + 1, 2), pa.int32()), pa.FixedSizeListArray.from_arrays(structs(), 2)
        ),
        None,
    ),
    "packed_struct_of_bits": (
        "2.2",
        lambda: pa.StructArray.from_arrays([pa.array(range(ROWS)), pa.array([True, False] * (ROWS // 2))], ["a", "b"]),
        PACKED,
    ),
    "list_of_blobs": (
        "2.1",
        lambda: pa.array([[b"x"] * (i % 3) for i in range(ROWS)], pa.list_(BLOB_ITEM)),
        None,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_equal_or_refused(witness: Witness, tmp_path: Path, name: str) -> None:
    version, make, metadata = CASES[name]
    array = make()
    plain = pa.array(range(len(array)), pa.int64())
    fields = [pa.field("odd", array.type, metadata=metadata), pa.field("plain", pa.int64())]
    expected = pa.table([array, plain], schema=pa.schema(fields))
    path = witness.write(expected, tmp_path / "file.lance", version)
    dataset = pads.dataset(path, format=lance_arrow.LanceFormat())
    assert_same(expected.select(["plain"]), dataset.to_table(columns=["plain"]))
    with lance_arrow.LanceFile(path) as file:
        assert_same(expected.select(["plain"]), file.read(columns=["plain"]))
        for read in (lambda: file.read(columns=["odd"]), lambda: dataset.to_table(columns=["odd"])):
            try:
                actual = read()
            except UnsupportedError as error:
                assert "odd" in str(error), "the refusal must name the column"  # noqa: PT017
            else:
                assert_same(expected.select(["odd"]), actual)


def test_dictionaries_too_large_together_are_equal_or_refused(witness: Witness, tmp_path: Path) -> None:
    """Two pages of 100 items each need more than int8 indices: the reference cannot read its own file either."""
    indices = pa.array(np.arange(300) % 100, pa.int8())
    parts = [pa.DictionaryArray.from_arrays(indices, [f"{page}{i}" for i in range(100)]) for page in "ab"]
    expected = pa.table({"odd": pa.chunked_array(parts)})
    path = witness.write(expected, tmp_path / "file.lance", "2.2", data_cache_bytes=1)
    equal_or_refused(expected, path)


def equal_or_refused(expected: pa.Table, path: Path) -> None:
    """Read the file through each door."""

    def through_file() -> pa.Table:
        with lance_arrow.LanceFile(path) as file:
            return file.read()

    for read in (through_file, lambda: pads.dataset(path, format=lance_arrow.LanceFormat()).to_table()):
        try:
            actual = read()
        except UnsupportedError as error:
            assert str(path) in str(error), "the refusal must name the file"  # noqa: PT017
        else:
            assert_same(expected, actual)
