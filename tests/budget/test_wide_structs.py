"""What a further field of a struct costs: calls of Python that grow with the fields, not with their square."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from call_counts import count_calls

import lance_arrow
from lance_arrow import LanceTable

# Metadata of files of few columns are kept for the next opening.
WIDTHS = (300, 600, 1200)
ROWS = 20


def struct_of(num_fields: int) -> pa.Array:
    fields = [pa.array(np.arange(ROWS) + number) for number in range(num_fields)]
    return pa.StructArray.from_arrays(fields, [f"f{number}" for number in range(num_fields)])


def lists_of(num_fields: int) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, *range(ROWS)], pa.int32()), struct_of(num_fields).slice(1))


def rows_of(make: Callable[[int], pa.Array], num_fields: int) -> pa.Table:
    return pa.table({"id": pa.array(range(ROWS)), "s": make(num_fields)})


def grows_evenly(done: Callable[[int], object]) -> None:
    """The second doubling of the fields costs about twice the calls of the first."""
    found = []
    for width in WIDTHS:
        done(width)
        found.append(count_calls(lambda width=width: done(width)))
    # Metadata that do not lie in the last bytes of a file are read apart, which is some hundred calls once.
    assert found[2] - found[1] <= 2.3 * (found[1] - found[0]) + 450, found


@pytest.mark.parametrize("make", [struct_of, lists_of])
def test_writing(tmp_path: Path, make: Callable[[int], pa.Array]) -> None:
    tables = {width: rows_of(make, width) for width in WIDTHS}
    grows_evenly(lambda width: lance_arrow.write_table(tables[width], tmp_path / "file.lance"))


def test_reading_all_and_every_field_by_name(tmp_path: Path) -> None:
    for width in WIDTHS:
        lance_arrow.write_table(rows_of(struct_of, width), tmp_path / f"{width}.lance")

    def all_of(width: int) -> pa.Table:
        with lance_arrow.LanceFile(tmp_path / f"{width}.lance") as file:
            return file.read()

    def named(width: int) -> pa.Table:
        with lance_arrow.LanceFile(tmp_path / f"{width}.lance") as file:
            return file.read(columns=[f"s.f{number}" for number in range(width)])

    grows_evenly(all_of)
    grows_evenly(named)
    assert named(WIDTHS[0]).columns == all_of(WIDTHS[0])["s"].flatten()


@pytest.mark.parametrize("make", [struct_of, lists_of])
def test_tables(tmp_path: Path, make: Callable[[int], pa.Array]) -> None:
    for width in WIDTHS:
        LanceTable.create(tmp_path / f"{width}.lance", rows_of(make, width), durability="rename")

    def all_of(width: int) -> pa.Table:
        return LanceTable.open(tmp_path / f"{width}.lance").to_table()

    def changed(width: int) -> None:
        table = LanceTable.open(tmp_path / f"{width}.lance")
        table.append(rows_of(make, width))
        table.add_columns({"more": pa.compute.scalar(1)})
        table.drop_columns(["more"])
        table.compact()

    def few(width: int) -> pa.Table:
        return LanceTable.open(tmp_path / f"{width}.lance").to_table(columns=["id"], filter="id > 3")

    grows_evenly(all_of)
    grows_evenly(few)
    grows_evenly(changed)
