"""Heads, samples, streams and frames of files, datasets and tables: the rows that `to_table` has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow as pa
import pyarrow.compute
import pytest

import lance_arrow
from lance_arrow.errors import InvalidArgumentError

NUM_ROWS = 5_000
DELETED = "id % 10 = 3"


@pytest.fixture(params=["file", "dataset of a file", "table", "dataset of a table"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, pa.Table]]:
    """A source, and all of its rows."""
    table = pa.table(
        {
            "id": range(NUM_ROWS),
            "text": [f"text {number % 7}" for number in range(NUM_ROWS)],
            "inner": [{"x": number * 0.5} for number in range(NUM_ROWS)],
        }
    )
    path = tmp_path / "rows.lance"
    if "table" not in request.param:
        lance_arrow.write_table(table, path)
        expected = table
        source = lance_arrow.LanceFile(path) if request.param == "file" else lance_arrow.dataset(path)
    else:
        made = lance_arrow.LanceTable.create(path, table, max_rows_per_file=1_700)
        made.delete(DELETED)
        expected = made.to_table()
        source = made if request.param == "table" else lance_arrow.dataset(path)
    yield source, expected
    if isinstance(source, lance_arrow.LanceFile):
        source.close()


def test_first_rows(rows: tuple[Any, pa.Table]) -> None:
    source, expected = rows
    assert source.head(4).equals(expected.slice(0, 4))
    assert source.head(0).equals(expected.slice(0, 0))
    assert source.head(2 * NUM_ROWS, ["id"]).equals(expected.select(["id"]))
    found = source.head(3, ["text", "id"], filter="id > 4000")
    assert found.equals(expected.filter(pa.compute.field("id") > 4000).select(["text", "id"]).slice(0, 3))
    assert source.head(3, ["id"], filter="id < 0").equals(expected.select(["id"]).slice(0, 0))


def test_samples(rows: tuple[Any, pa.Table]) -> None:
    source, expected = rows
    found = source.sample(50, ["id"], seed=3)
    ids = found["id"].to_pylist()
    assert len(set(ids)) == 50
    assert ids == sorted(ids)
    assert set(ids) <= set(expected["id"].to_pylist())
    assert source.sample(50, ["id"], seed=3).equals(found)
    assert not source.sample(50, ["id"], seed=4).equals(found)
    assert source.sample(2 * NUM_ROWS).equals(expected)
    with pytest.raises(InvalidArgumentError, match="at least 0"):
        source.sample(-1)


def test_streams_and_frames(rows: tuple[Any, pa.Table]) -> None:
    source, expected = rows
    assert len(source) == expected.num_rows
    reader = source.to_reader(["id", "text"], filter="id >= 1000")
    wanted = expected.filter(pa.compute.field("id") >= 1000).select(["id", "text"])
    assert reader.schema.equals(wanted.schema)
    assert reader.read_all().equals(wanted)
    assert source.to_reader().read_all().equals(expected)
    assert source.to_pandas(["id", "text"]).equals(expected.select(["id", "text"]).to_pandas())
    frame = source.to_pandas(["id"], types_mapper={pa.int64(): pandas.Int64Dtype()}.get)
    assert str(frame["id"].dtype) == "Int64"


def test_frames_of_polars(rows: tuple[Any, pa.Table]) -> None:
    source, expected = rows
    few = expected.filter(pa.compute.field("id") < 9).select(["id"])
    assert source.to_polars(["id"], filter="id < 9").equals(polars.from_arrow(few))
