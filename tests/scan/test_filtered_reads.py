"""Filters on one file: only what they and the projection name is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from witness import Witness

from lance_arrow import LanceFile, read_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

TABLE = pa.table(
    {
        "id": pa.array(range(3000)),
        "st": pa.array([None if i % 11 == 0 else {"a": i % 7, "b": f"b{i}"} for i in range(3000)]),
        "a[b]": pa.array([i % 5 for i in range(3000)], pa.int8()),
        "text": pa.array([f"t{i % 3}" for i in range(3000)]),
        "unread": pa.array([b"x" * 20] * 3000),
    }
)


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return witness.write(TABLE, tmp_path_factory.mktemp("filtered") / "file.lance", "2.2")


FILTERS = {
    "comparison": (pc.field("id") > 2990, {"id"}),
    "nested": (pc.field("st", "a") == 3, {"st.a"}),
    "dotted": (pc.field("a[b]") == 4, {"a[b]"}),
    "both": ((pc.field("text") == "t1") & (pc.field("id") < 50), {"text", "id"}),
    "nothing": (pc.field("id") < 0, {"id"}),
    "tuples": ([("text", "in", ["t1", "t2"]), ("id", "<=", 10)], {"text", "id"}),
}


@pytest.mark.parametrize("name", FILTERS)
def test_rows_and_columns(path: Path, receipts: list[ReadReport], name: str) -> None:
    wanted, mentioned = FILTERS[name]
    expression = (
        wanted if isinstance(wanted, pc.Expression) else (pc.field("text").isin(["t1", "t2"]) & (pc.field("id") <= 10))
    )
    expected = TABLE.filter(expression)
    with LanceFile(path) as file:
        assert file.count_rows(filter=wanted) == expected.num_rows
        assert set(receipts[-1].columns) == mentioned
        assert file.read(["id"], filter=wanted).equals(expected.select(["id"]))
        assert set(receipts[-1].columns) == mentioned | {"id"}
        assert file.read(filter=wanted).equals(expected)
    assert read_table(path, columns=["st.b", "id"], filters=wanted).column_names == ["b", "id"]


def test_a_filter_without_columns(path: Path) -> None:
    with LanceFile(path) as file:
        assert file.count_rows(filter=pc.scalar(True)) == 3000
        assert file.count_rows(filter=pc.scalar(False)) == 0


@pytest.mark.parametrize("wrong", [pc.field("zz") > 1, pc.field("id") == "text", [("zz", "=", 1)]])
def test_filters_that_do_not_fit_are_the_callers_mistake(path: Path, wrong: object) -> None:
    with LanceFile(path) as file, pytest.raises(InvalidArgumentError, match="does not fit"):
        file.count_rows(filter=wrong)
