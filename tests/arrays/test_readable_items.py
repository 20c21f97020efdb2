"""What old releases of the reference want of lists: pages that agree on what may be null or empty. Rows stay."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from file_leaves import file_leaves

import lance_arrow
from lance_arrow.arrays.readable_items import with_readable_items
from lance_arrow.arrays.shred import shred
from lance_arrow.spi import EncodeOptions
from lance_arrow.spi.encoders import PageContent
from lance_arrow.spi.layouts import LayerKind

VALID, NULLABLE = LayerKind.ALL_VALID_ITEM, LayerKind.NULLABLE_ITEM
ZIPPED = EncodeOptions(preferred_layout="full_zip")


def page(array: pa.Array) -> PageContent:
    (leaf,) = file_leaves(array.type)
    return shred(leaf, [array])


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([[1, 2], None, [], [3]], ZIPPED, NULLABLE),
        ([[1, 2], None, [], [3]], EncodeOptions(), VALID),
        ([[1, 2], [3]], ZIPPED, NULLABLE),
        ([[7, 7], [7]], ZIPPED, VALID),
        ([["x" * 300, "y"], []], EncodeOptions(), NULLABLE),
        ([["x" * 200, "y"], []], EncodeOptions(), VALID),
    ],
)
def test_items_of_zipped_pages_may_be_null(values: list[object], options: EncodeOptions, expected: LayerKind) -> None:
    before = page(pa.array(values))
    after = with_readable_items(before, options)
    assert before.levels.layers[0] is VALID
    assert after.levels.layers == (expected, *before.levels.layers[1:])
    if expected is NULLABLE:
        told = [0] * before.levels.num_entries if before.levels.def_ is None else before.levels.def_.tolist()
        assert after.levels.def_.tolist() == [level + 1 if level else 0 for level in told]


def test_rows_are_no_items() -> None:
    assert with_readable_items(found := page(pa.array(["x" * 300])), ZIPPED) is found


def test_lists_in_lists_have_a_level_for_empty_ones() -> None:
    nested = page(pa.array([[[1], [2, 3]], [[4]]]))
    assert nested.levels.layers == (VALID, LayerKind.EMPTYABLE_LIST, LayerKind.EMPTYABLE_LIST)
    assert page(pa.array([[1], [2, 3]])).levels.layers == (VALID, LayerKind.ALL_VALID_LIST)


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_rows_are_what_they_were(tmp_path: Path, version: str) -> None:
    metadata = {"lance-encoding:structural-encoding": "fullzip"}
    rows = pa.table(
        [[[1, 2], None, [], [3]] * 40, [[[1]], [[2], [3, 4]], [[5]], [[6]]] * 40],
        schema=pa.schema(
            [
                pa.field("a", pa.list_(pa.int64()), metadata=metadata),
                pa.field("b", pa.list_(pa.list_(pa.int64())), metadata=metadata),
            ]
        ),
    )
    lance_arrow.write_table(rows, tmp_path / "f.lance", file_version=version)
    assert lance_arrow.read_table(tmp_path / "f.lance").equals(rows)
