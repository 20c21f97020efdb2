"""Fixed-size lists of 2.0 whose items, or lists, may be null: read by the engine alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from native_only import assert_read, without_layouts
from values import seeded
from witness import Witness

import lance_arrow

ROWS = 400
TYPES = {"floats": (pa.float32(), 16), "bytes": (pa.int8(), 3), "bits": (pa.bool_(), 5), "one": (pa.float64(), 1)}


def vectors(name: str, null_lists: float) -> pa.Table:
    """Lists of one length, of which a share is null, as are some of their items."""
    rng = seeded(name)
    items, size = TYPES[name]
    values = pa.array(rng.integers(0, 2, ROWS * size)).cast(items)
    values = pa.array(values.to_numpy(zero_copy_only=False), items, mask=rng.random(ROWS * size) < 0.3)
    mask = pa.array(rng.random(ROWS) < null_lists) if null_lists else None
    return pa.table({"v": pa.FixedSizeListArray.from_arrays(values, size, mask=mask)})


@pytest.mark.parametrize("null_lists", [0, 0.2])
@pytest.mark.parametrize("name", TYPES)
def test_rows_are_read_by_the_engine(name: str, null_lists: float, tmp_path: Path) -> None:
    table, path = vectors(name, null_lists), tmp_path / "ours.lance"
    lance_arrow.write_table(table, path, file_version="2.0")
    with without_layouts():
        assert_read(path, table, np.sort(seeded(name).choice(ROWS, 90, replace=False)))


@pytest.mark.interop
@pytest.mark.parametrize("null_lists", [0, 0.2])
@pytest.mark.parametrize("name", TYPES)
def test_rows_of_the_reference_are_read_by_the_engine(
    witness: Witness, name: str, null_lists: float, tmp_path: Path
) -> None:
    table = vectors(name, null_lists)
    path = witness.write(table, tmp_path / "theirs.lance", "2.0")
    with without_layouts():
        assert_read(path, table, np.arange(0, ROWS, 3))


def test_a_column_is_read_where_only_some_pages_have_nulls(tmp_path: Path) -> None:
    whole = pa.table({"v": pa.array([[one, one + 1] for one in range(ROWS)], pa.list_(pa.int64(), 2))})
    table = pa.concat_tables([whole, pa.table({"v": pa.array([[1, None], None] * ROWS, whole.schema.field("v").type)})])
    path = tmp_path / "mixed.lance"
    lance_arrow.write_table(table, path, file_version="2.0", page_bytes=4096)
    assert_read(path, table, np.arange(0, table.num_rows, 7))


def test_pages_whose_buffers_are_too_short_are_none_of_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "short.lance"
    lance_arrow.write_table(vectors("floats", 0.2), path, file_version="2.0")
    with lance_arrow.LanceFile(path) as file:
        (leaf,) = [leaf for root in file._rows.roots for leaf in root.leaves()]
        (meta,) = file._rows.metas([leaf])
        layout, facts = file._rows.bound(leaf.page_leaf, meta, 0), meta.pages[0].facts
    assert layout.native_page(facts) is not None
    assert len(facts.buffer_sizes) == 3
    for number, size in enumerate(facts.buffer_sizes):
        sizes = list(facts.buffer_sizes)
        # Bytes behind the last row are none of the page's values.
        sizes[number] = size // 2
        assert layout.native_page(replace(facts, buffer_sizes=tuple(sizes))) is None
