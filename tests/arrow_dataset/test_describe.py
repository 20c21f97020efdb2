"""`describe`: every figure equals that of Arrow over the rows; columns are read only where zone maps do not tell."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceTable, errors
from lance_arrow.spi import ReadReport

COUNT = 300
NUMBERS = np.random.default_rng(5).permutation(COUNT).tolist()
ROWS = pa.table(
    {
        "id": pa.array(NUMBERS, pa.int32()),
        "x": pa.array([None if n % 7 == 0 else float("nan") if n % 11 == 0 else n / 4 for n in NUMBERS]),
        "half": pa.array([np.float16(n) for n in NUMBERS], pa.float16()),
        "short": [f"s{n:04}" for n in NUMBERS],
        "long": ["é" * 60 + str(n) for n in NUMBERS],
        "code": pa.array([f"c{n % 5}" for n in NUMBERS]).dictionary_encode(),
        "price": pa.array([Decimal(n) / 4 for n in NUMBERS], pa.decimal128(9, 2)),
        "at": [datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(hours=n) for n in NUMBERS],
        "flag": [n > 400 for n in NUMBERS],
        "nothing": pa.nulls(COUNT, pa.int64()),
        "list": [None if n % 3 == 0 else [n] for n in NUMBERS],
        "pair": [{"a": n, "b": "x"} for n in NUMBERS],
    }
)
TOLD = {"id", "short", "price", "at", "flag", "nothing", "code"}


def bounds(values: pa.ChunkedArray) -> tuple[Any, Any]:
    if pa.types.is_nested(values.type):
        return None, None
    if pa.types.is_floating(values.type):
        values = values.filter(pc.invert(pc.is_nan(values.cast(pa.float64()))))
    shown = values.drop_null().to_pylist()
    return (min(shown), max(shown)) if shown else (None, None)


def check(found: Any, rows: pa.Table) -> None:
    for name in rows.column_names:
        one, low_high = found[name], bounds(rows[name])
        assert (one.num_rows, one.null_count) == (rows.num_rows, rows[name].null_count), name
        assert tuple(None if b is None else b.as_py() for b in (one.minimum, one.maximum)) == low_high, name
        assert one.type == rows.schema.field(name).type


@pytest.mark.parametrize("rows_per_zone", [64, None])
def test_files(tmp_path: Path, rows_per_zone: int | None) -> None:
    for number in range(2):
        part = ROWS.slice(number * 150, 150)
        lance_arrow.write_table(part, tmp_path / f"{number}.lance", rows_per_zone=rows_per_zone)
    found = lance_arrow.dataset(tmp_path).describe()
    check(found, ROWS)
    unread = {one.name for one in found.columns if not one.was_read}
    assert unread == ((TOLD | {"x", "half"}) if rows_per_zone else set())


def test_tables_with_deleted_rows(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS, max_rows_per_file=100, rows_per_zone=64)
    check(table.describe(), ROWS)
    table.delete("id >= 150 AND id < 298")
    check(table.describe(), ROWS.filter((pc.field("id") < 150) | (pc.field("id") >= 298)))
    table.delete("id >= 0")
    assert table.describe(["id"])["id"].num_rows == 0
    assert table.describe(["id"])["id"].minimum is None


def test_nothing_is_read_that_zone_maps_tell(tmp_path: Path) -> None:
    table = LanceTable.create(tmp_path / "t", ROWS)
    with lance_arrow.receipts() as receipts:
        table.describe(["id", "short", "long"])
    read = ReadReport.total(receipts).decoded_rows
    assert set(read) == {"long"}
    with lance_arrow.receipts() as receipts:
        found = table.describe(read=False)
    assert not ReadReport.total(receipts).decoded_rows if len(receipts) else True
    assert (found["long"].minimum, found["long"].null_count, found["long"].was_read) == (None, 0, False)
    assert found["list"].null_count is None


def test_bytes_are_those_of_the_pages(tmp_path: Path) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "f.lance")
    found = lance_arrow.dataset(tmp_path / "f.lance").describe()
    total = sum(one.num_bytes for one in found.columns)
    assert 0 < total < (tmp_path / "f.lance").stat().st_size
    assert found["long"].num_bytes > found["flag"].num_bytes
    table = LanceTable.create(tmp_path / "t", ROWS)
    assert [one.num_bytes for one in table.describe().columns] == [one.num_bytes for one in found.columns]


def test_filtered_and_cut_datasets_are_read(tmp_path: Path) -> None:
    lance_arrow.write_table(ROWS, tmp_path / "f.lance")
    dataset = lance_arrow.dataset(tmp_path / "f.lance")
    kept = dataset.filter(pc.field("id") < 20)
    check(kept.describe(), ROWS.filter(pc.field("id") < 20))
    part = dataset.split(max_rows=100)[0]
    assert part.describe(["id"])["id"].num_bytes is None
    check(part.describe(), part.to_table())


def test_text_html_and_names(tmp_path: Path) -> None:
    table = LanceTable.create(
        tmp_path / "t", pa.table({"a": [1, 2000], "<b>": ["x\ny", None], "s": [{"c": 1}, {"c": 5}]})
    )
    found = table.describe()
    lines = str(found).splitlines()
    assert lines[0].split() == ["column", "type", "rows", "nulls", "minimum", "maximum", "bytes"]
    assert lines[1].split()[:6] == ["a", "int64", "2", "0", "1", "2000"]
    assert len(lines) == 4
    assert "&lt;b&gt;" in found._repr_html_()
    assert table.describe(["s.c"])["s.c"].maximum.as_py() == 5
    with pytest.raises(KeyError):
        found["missing"]
    with pytest.raises(errors.InvalidArgumentError, match="missing"):
        table.describe(["missing"])


def test_blobs_are_not_read(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}), ("n", pa.int8())])
    rows = pa.table({"b": [b"one" * 1000, None], "n": [1, 2]}, schema=schema)
    lance_arrow.write_table(rows, tmp_path / "f.lance")
    for door in (lance_arrow.dataset(tmp_path / "f.lance"), LanceTable.create(tmp_path / "t", rows)):
        with lance_arrow.receipts() as receipts:
            found = door.describe()
        assert (found["b"].null_count, found["b"].minimum, found["b"].was_read) == (None, None, False)
        assert found["n"].maximum.as_py() == 2
        assert not ReadReport.total(receipts).decoded_rows
