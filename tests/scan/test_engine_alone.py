"""Columns that layouts in Python once read: the engine reads them alone, near and far."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from native_only import assert_read, without_layouts

import lance_arrow
from lance_arrow import LanceTable

ROWS = 3000
TAKEN = np.array([0, 1, 17, 900, 901, ROWS - 1])


def packed(type_: pa.DataType) -> pa.Schema:
    return pa.schema([pa.field("c", type_, metadata={"packed": "true"})])


@pytest.mark.parametrize("version", ["2.2", "2.3"])
@pytest.mark.parametrize(
    "type_",
    [
        pa.struct([("a", pa.int32()), ("s", pa.string())]),
        pa.struct([("s", pa.large_binary()), ("b", pa.binary()), ("x", pa.float64())]),
        pa.struct([("s", pa.string()), ("v", pa.list_(pa.int16(), 3))]),
    ],
    ids=str,
)
def test_packed_structs_with_fields_of_any_length(tmp_path: Path, version: str, type_: pa.StructType) -> None:
    def value(type_: pa.DataType, row: int) -> object:
        if pa.types.is_fixed_size_list(type_):
            return [row % 5, None if row % 7 == 3 else row % 3, 1]
        if pa.types.is_string(type_):
            return f"text {row}" * (row % 4)
        return b"bytes" * (row % 3) if type_ in (pa.binary(), pa.large_binary()) else row

    rows = [None if row % 13 == 4 else {one.name: value(one.type, row) for one in type_} for row in range(ROWS)]
    table = pa.table([pa.array(rows, type_)], schema=packed(type_))
    lance_arrow.write_table(table, tmp_path / "packed.lance", file_version=version, page_bytes=20_000)
    with without_layouts():
        assert_read(tmp_path / "packed.lance", table, TAKEN)


def test_packed_rows_beyond_32_bits_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    type_ = pa.struct([("a", pa.int32()), ("s", pa.string())])
    table = pa.table([pa.array([{"a": row, "s": "x" * 100} for row in range(ROWS)], type_)], schema=packed(type_))
    lance_arrow.write_table(table, tmp_path / "packed.lance", file_version="2.2")
    monkeypatch.setattr("lance_arrow.scan.read_plan._INT32_MAX", 10_000)
    with without_layouts(), lance_arrow.LanceFile(tmp_path / "packed.lance") as file:
        assert file.read().equals(table)


@pytest.mark.parametrize("version", ["2.1", "2.2", "2.3"])
def test_columns_of_one_value_in_many_small_files(tmp_path: Path, version: str) -> None:
    def part(number: int) -> pa.Table:
        nulls = pa.nulls(50, pa.int16())
        return pa.table({"k": pa.array([7] * 50, pa.int32()), "s": ["same"] * 50, "n": nulls, "v": [number] * 50})

    table = LanceTable.create(tmp_path / "t", part(0), file_version=version)
    for number in range(1, 12):
        table.append(part(number))
    expected = pa.concat_tables([part(number) for number in range(12)])
    with without_layouts():
        assert LanceTable.open(tmp_path / "t").to_table().equals(expected)
        assert lance_arrow.dataset(tmp_path / "t").to_table().equals(expected)
        assert table.take([599, 0, 300]).equals(expected.take([599, 0, 300]))


def test_no_rows_and_no_columns(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, 3], "s": pa.array(["x", "y", "x"]).dictionary_encode()})
    lance_arrow.write_table(table, tmp_path / "table.lance")
    with without_layouts(), lance_arrow.LanceFile(tmp_path / "table.lance") as file:
        assert file.take([]).equals(table.slice(0, 0))
        assert file.read(filter="a > 5").equals(table.slice(0, 0))
        assert file.read(columns=[]).num_rows == 3
