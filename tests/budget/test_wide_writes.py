"""What a column of a wide file costs: calls of Python, and bytes beside its data."""

from __future__ import annotations

import io
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from call_counts import count_calls

from lance_arrow import LanceTable, LanceWriter, write_table

ROWS = 200
MOST_CALLS = 30
MOST_BYTES = 300


def doubles(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.normal(size=ROWS))


def with_nulls(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.2)


def integers(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 1 << 40, ROWS))


def times(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 1 << 50, ROWS)).cast(pa.timestamp("us"))


def flags(rng: np.random.Generator) -> pa.Array:
    return pa.array(rng.integers(0, 2, ROWS).astype(bool))


def nothing(rng: np.random.Generator) -> pa.Array:
    return pa.nulls(ROWS, pa.float64())


def runs(rng: np.random.Generator) -> pa.Array:
    return pa.array(np.sort(rng.integers(0, 5, ROWS)).astype(np.int32))


def strings(rng: np.random.Generator) -> pa.Array:
    return pa.array([f"value {number}" for number in rng.integers(0, 10**9, ROWS)])


def strings_with_nulls(rng: np.random.Generator) -> pa.Array:
    return pa.array(strings(rng).to_pylist(), mask=rng.random(ROWS) < 0.2)


def words(rng: np.random.Generator) -> pa.Array:
    return pa.array(["red", "green", "blue", "yellow"]).take(pa.array(rng.integers(0, 4, ROWS)))


def categories(rng: np.random.Generator) -> pa.Array:
    return pa.array([f"category {number:06}" for number in rng.integers(0, 60, ROWS)])


def bytes_(rng: np.random.Generator) -> pa.Array:
    return pa.array([rng.bytes(12) for _ in range(ROWS)])


def one_string(rng: np.random.Generator) -> pa.Array:
    return pa.array(["Europe/Oslo"] * ROWS)


def no_strings(rng: np.random.Generator) -> pa.Array:
    return pa.nulls(ROWS, pa.string())


def lists(rng: np.random.Generator) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 5, ROWS))]).astype(np.int32)
    return pa.ListArray.from_arrays(offsets, rng.normal(size=int(offsets[-1])), mask=pa.array(rng.random(ROWS) < 0.1))


def structs_in_lists(rng: np.random.Generator) -> pa.Array:
    return pa.array([[{"n": one, "t": f"text {one}"}] * int(one % 3) for one in rng.integers(0, 1000, ROWS)])


FIXED = (doubles, with_nulls, integers, times, flags, nothing, runs)
STRINGS = (strings, strings_with_nulls, words, categories, bytes_, one_string, no_strings)
KINDS = FIXED + STRINGS


def wide(make: Callable[[np.random.Generator], pa.Array], num_columns: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table({f"c{number}": make(rng) for number in range(num_columns)})


@pytest.mark.share(2)
@pytest.mark.parametrize("make", [*KINDS, lists, structs_in_lists])
def test_each_further_column_of_a_file(tmp_path: Path, make: Callable[[np.random.Generator], pa.Array]) -> None:
    found = []
    for num_columns in (100, 500):
        table = wide(make, num_columns)
        write_table(table, tmp_path / "first.lance")
        found.append(count_calls(lambda table=table: write_table(table, tmp_path / "file.lance")))
    # The plan of the schema is kept; the rest is a few calls for all columns.
    assert (found[1] - found[0]) / 400 <= MOST_CALLS


@pytest.mark.parametrize("make", [doubles, with_nulls, flags, lists])
def test_each_further_page_of_a_column(make: Callable[[np.random.Generator], pa.Array]) -> None:
    found = []
    for num_columns in (50, 250):
        table = wide(make, num_columns)
        with LanceWriter(io.BytesIO(), table.schema, page_bytes=200) as writer:
            writer.write(table)
        # Without what closing costs: it describes each column that has several zones, or none.
        with LanceWriter(io.BytesIO(), table.schema, page_bytes=200) as writer:
            found.append(count_calls(lambda writer=writer, table=table: writer.write(table)))
    # A hundred before: each page was encoded by Python.
    assert (found[1] - found[0]) / 200 <= MOST_CALLS, found


@pytest.mark.share(3)
@pytest.mark.parametrize("make", KINDS)
def test_each_further_column_of_a_new_schema(tmp_path: Path, make: Callable[[np.random.Generator], pa.Array]) -> None:
    write_table(wide(make, 10), tmp_path / "first.lance")
    found = []
    for num_columns in (100, 500):
        columns = wide(make, num_columns)
        # No other test has columns of these names.
        table = columns.rename_columns([f"{make.__name__} {number} of {num_columns}" for number in range(num_columns)])
        found.append(count_calls(lambda table=table: write_table(table, tmp_path / "file.lance"), of_c=False))
    # 101 before: planning looked at each column by itself.
    assert (found[1] - found[0]) / 400 <= MOST_CALLS, found


def test_each_further_column_does_not_cost_more_in_wider_files(tmp_path: Path) -> None:
    found = []
    for num_columns in (500, 1000, 2000):
        table = wide(doubles, num_columns)
        write_table(table, tmp_path / "first.lance")
        found.append(count_calls(lambda table=table: write_table(table, tmp_path / "file.lance")))
    assert (found[2] - found[1]) / 1000 <= MOST_CALLS
    # The schema of wide tables is planned once, too.
    assert found[2] - found[1] <= 2.5 * (found[1] - found[0])


@pytest.mark.parametrize("make", [doubles, strings, categories])
def test_each_further_column_of_an_append(tmp_path: Path, make: Callable[[np.random.Generator], pa.Array]) -> None:
    found = []
    for num_columns in (100, 500):
        rows = wide(make, num_columns)
        table = LanceTable.create(tmp_path / f"{num_columns}.lance", rows, durability="rename")
        table.append(rows)
        found.append(count_calls(lambda table=table, rows=rows: table.append(rows)))
    assert (found[1] - found[0]) / 400 <= MOST_CALLS


def tail_of(path: Path) -> dict[str, int]:
    """Return the bytes of the parts of a file."""
    data = path.read_bytes()
    _, column_table, buffer_table, num_buffers, num_columns = struct.unpack("<QQQII", data[-40:-8])
    columns = [struct.unpack_from("<QQ", data, column_table + 16 * number) for number in range(num_columns)]
    buffers = [struct.unpack_from("<QQ", data, buffer_table + 16 * number) for number in range(num_buffers)]
    return {
        "file": len(data),
        "metadata": sum(size for _, size in columns),
        "table of columns": 16 * num_columns,
        "schema": buffers[0][1],
        "checksums": buffers[-1][1],
    }


def test_a_hundred_doubles_cost_few_bytes_more(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    found = []
    for num_columns in (100, 600):
        table = pa.table({f"column{number:04}": rng.normal(size=100) for number in range(num_columns)})
        write_table(table, tmp_path / "file.lance")
        found.append(tail_of(tmp_path / "file.lance"))
    cost = {part: (found[1][part] - found[0][part]) / 500 for part in found[0]}
    values = 800
    assert cost["file"] - values <= MOST_BYTES
    # Page and column descriptions, with the places of buffers.
    assert 120 <= cost["metadata"] <= 145
    assert cost["table of columns"] == 16
    # Name, type and number of the field.
    assert cost["schema"] <= 42
    # One entry for the chunks, a block of them, and the metadata; a block of zone maps is shared.
    assert 32 <= cost["checksums"] <= 33
    rest = cost["file"] - values - sum(size for part, size in cost.items() if part != "file")
    # A zone map of 28 bytes, the header of the chunk, and their padding; the table of chunks is shared.
    assert rest == pytest.approx(32 + 8 + 24, abs=1)
