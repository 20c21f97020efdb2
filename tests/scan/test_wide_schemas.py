"""Schemas of thousands of fields, flat and nested, by every door."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow import LanceFormat, LanceTable

WIDTH, ROWS = 10_000, 3


def flat() -> pa.Table:
    return pa.table({f"c{number}": np.arange(ROWS) + number for number in range(WIDTH)})


def one_struct() -> pa.Table:
    """Narrower: writing a struct takes longer than its fields by themselves."""
    fields = [np.arange(ROWS) + number for number in range(WIDTH // 20)]
    names = [f"c{number}" for number in range(WIDTH // 20)]
    return pa.table({"s": pa.StructArray.from_arrays(list(map(pa.array, fields)), names), "k": np.arange(ROWS)})


def many_structs() -> pa.Table:
    def struct(number: int) -> pa.Array:
        return pa.StructArray.from_arrays(
            [pa.array([number, None, 3]), pa.array(["a", f"b{number}", None])], ["n", "t"]
        )

    return pa.table({f"s{number}": struct(number) for number in range(WIDTH // 10)})


def many_lists() -> pa.Table:
    return pa.table({f"l{number}": pa.array([[number], [], None]) for number in range(WIDTH // 10)})


MAKERS = [flat, one_struct, many_structs, many_lists]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[pa.Table, Path]]:
    found = {}
    for make in MAKERS:
        table = make()
        path = tmp_path_factory.mktemp("wide") / f"{make.__name__}.lance"
        lance_arrow.write_table(table, path)
        found[make.__name__] = table, path
    return found


@pytest.mark.share(2)
@pytest.mark.parametrize("name", [make.__name__ for make in MAKERS])
def test_files(files: dict[str, tuple[pa.Table, Path]], name: str) -> None:
    table, path = files[name]
    with lance_arrow.LanceFile(path) as file:
        last = table.column_names[-1]
        assert file.read(columns=[last]).equals(table.select([last]))
        assert file.schema.equals(table.schema, check_metadata=True)
        assert file.read().equals(table)
        assert file.take([2, 0]).equals(table.take([2, 0]))


@pytest.mark.parametrize("name", [make.__name__ for make in MAKERS])
def test_datasets(files: dict[str, tuple[pa.Table, Path]], name: str) -> None:
    table, path = files[name]
    last = table.column_names[-1]
    for dataset in (lance_arrow.dataset(path), pads.dataset(str(path), format=LanceFormat())):
        assert dataset.schema.equals(table.schema)
        assert dataset.to_table(columns=[last]).equals(table.select([last]))
    assert lance_arrow.dataset(path).take([1], columns=[last]).equals(table.select([last]).take([1]))


def test_filters_by_zone_maps(files: dict[str, tuple[pa.Table, Path]]) -> None:
    table, path = files["flat"]
    nothing, some = pc.field("c9000") > 9_100, pc.field("c9000") > 9_001
    with lance_arrow.LanceFile(path) as file:
        assert file.zones("c9000").num_rows == 1
        assert file.read(columns=["c5"], filter=nothing).num_rows == 0
        assert file.read(columns=["c5"], filter=some).equals(table.select(["c5"]).slice(2))
        assert file.count_rows(some) == 1
    assert lance_arrow.dataset(path).to_table(columns=["c5"], filter=some).equals(table.select(["c5"]).slice(2))


def test_fields_of_one_wide_struct(files: dict[str, tuple[pa.Table, Path]]) -> None:
    table, path = files["one_struct"]
    with lance_arrow.LanceFile(path) as file:
        found = file.read(columns=["s.c1", "s.c499"])
    assert found["c499"].to_pylist() == [row["c499"] for row in table["s"].to_pylist()]


def test_a_table(tmp_path: Path) -> None:
    """Narrower: tables keep the fields of all columns in their manifests."""
    table = flat().select([f"c{number}" for number in range(WIDTH // 5)])
    LanceTable.create(tmp_path / "a.lance", table)
    opened = LanceTable.open(tmp_path / "a.lance")
    assert opened.schema.equals(table.schema)
    assert opened.to_table(columns=["c1999", "c3"]).equals(table.select(["c1999", "c3"]))
    assert opened.to_table(columns=["c3"], filter="c1000 > 1001").equals(table.select(["c3"]).slice(2))
    assert opened.take([1], columns=["c7"]).equals(table.select(["c7"]).take([1]))


def test_names_that_are_not_there(files: dict[str, tuple[pa.Table, Path]]) -> None:
    _, path = files["flat"]
    with (
        lance_arrow.LanceFile(path) as file,
        pytest.raises(lance_arrow.errors.InvalidArgumentError, match="did you mean"),
    ):
        file.read(columns=["c99999"])
