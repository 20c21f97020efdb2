"""Appends of some of the columns, by us and by the reference: each reads what the other left out as null."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from witness import Witness

from lance_arrow import LanceTable

pytestmark = pytest.mark.interop

STRUCT = pa.struct([("a", pa.int64()), ("b", pa.string())])
FIRST = pa.table({"id": [1], "x": ["one"], "nested": pa.array([{"a": 1, "b": "p"}], STRUCT)})
PARTS = (
    pa.table({"id": [2, 3]}),
    pa.table({"nested": pa.array([{"a": 4}], pa.struct([("a", pa.int64())])), "id": [4]}),
    pa.table({"x": ["five"]}),
)
EXPECTED = [
    {"id": 1, "x": "one", "nested": {"a": 1, "b": "p"}},
    {"id": 2, "x": None, "nested": None},
    {"id": 3, "x": None, "nested": None},
    {"id": 4, "x": None, "nested": {"a": 4, "b": None}},
    {"id": None, "x": "five", "nested": None},
]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_the_reference_reads_ours(tmp_path: Path, witness: Witness, version: str) -> None:
    path = tmp_path / "t"
    table = LanceTable.create(path, FIRST, file_version=version)
    for part in PARTS:
        table.append(part)
    assert table.to_table().to_pylist() == EXPECTED
    assert witness.read_directory(path).to_pylist() == EXPECTED
    # And goes on writing.
    witness.write_directory(FIRST, path, version, mode="append")
    assert LanceTable.open(path).to_table().to_pylist() == [*EXPECTED, *FIRST.to_pylist()]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_we_read_what_the_reference_appended(tmp_path: Path, witness: Witness, version: str) -> None:
    path = tmp_path / "t"
    witness.write_directory(FIRST, path, version)
    for part in PARTS:
        witness.write_directory(part, path, version, mode="append")
    table = LanceTable.open(path)
    assert table.to_table().to_pylist() == EXPECTED
    table.append(PARTS[0])
    table.compact()
    assert table.to_table().to_pylist() == [*EXPECTED, *EXPECTED[1:3]]
