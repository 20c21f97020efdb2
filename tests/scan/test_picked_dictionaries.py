"""Rows of dictionary pages that a filter leaves, at any density: picked from decoded chunks, or reached run by run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same
from values import seeded

from lance_arrow import LanceFile, write_table

NUM_ROWS = 60_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("picked dictionaries")

    def some(values: list[object], type_: pa.DataType, nulls: float) -> pa.Array:
        return pa.array(values, type_).take(
            pa.array(rng.integers(0, len(values), NUM_ROWS), mask=rng.random(NUM_ROWS) < nulls)
        )

    words = [f"a word of some length, number {number}" for number in range(300)]
    return pa.table(
        {
            "number": rng.permutation(NUM_ROWS),
            "text": some(["", "AIR", "a text of more than twelve bytes"], pa.string(), 0.0),
            "text with nulls": some(["x", "y", ""], pa.string(), 0.3),
            "many": some(list(words), pa.string(), 0.1),
            "real": some([0.5, -1.25, 1e300], pa.float64(), 0.0),
            "real with nulls": some([0.5, -1.25, 1e300], pa.float64(), 0.2),
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("picked") / "f.lance"
    write_table(table, place, page_bytes=40_000)
    return place


def test_pages_are_dictionaries(path: Path) -> None:
    with LanceFile(path, strings="dictionary") as file:
        types = [file.schema.field(name).type for name in ("text", "text with nulls", "many")]
        assert all(map(pa.types.is_dictionary, types))


@pytest.mark.parametrize("share", [0.003, 0.04, 0.2, 0.5, 0.9, 0.97])
@pytest.mark.parametrize("form", ["plain", "dictionary"])
def test_the_rows_are_those_that_arrow_finds(path: Path, table: pa.Table, share: float, form: str) -> None:
    kept = pc.field("number") < int(share * NUM_ROWS)
    names = table.column_names[1:]
    expected = table.filter(kept).select(names)
    assert 0 < expected.num_rows < NUM_ROWS
    with LanceFile(path, strings=form) as file:  # type: ignore[arg-type]
        found = file.read(names, filter=kept)
        assert_same(expected, found.cast(expected.schema))
        # Long runs of rows, few of them missing, and some from the middle of a page.
        gaps = pc.field("number") >= int(share * 500)
        part = table.slice(1_111, 40_000)
        assert_same(
            part.filter(gaps).select(names),
            file.read(names, filter=gaps, rows=(1_111, 41_111)).cast(expected.schema),
        )


@pytest.mark.parametrize("form", ["plain", "dictionary", "view"])
@pytest.mark.parametrize("name", ["text", "text with nulls", "many"])
def test_wanted_columns_may_be_those_of_the_filter(path: Path, table: pa.Table, name: str, form: str) -> None:
    column = pc.field(name)
    with LanceFile(path, strings=form) as file:  # type: ignore[arg-type]
        for kept in (column > "a", column == table[name][7], column.is_null(), column.is_valid(), ~(column < "b")):
            found = file.read(filter=kept)
            assert_same(table.filter(kept), found.cast(table.schema))


def test_scattered_rows_are_taken(path: Path, table: pa.Table) -> None:
    rng = seeded("taken")
    indices = np.sort(rng.choice(NUM_ROWS, 9_000, replace=False))
    with LanceFile(path, strings="dictionary") as file:
        assert_same(table.take(pa.array(indices)), file.take(indices).cast(table.schema))
