"""What files with thousands of columns cost: calls of Python per column, requests of far files."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from weakref import ref

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from call_counts import count_calls
from stores import CountingStore
from values import seeded

import lance_arrow
from lance_arrow import LanceFormat, LanceTable
from lance_arrow.container.schema_facts import known_schemas

FEW, MANY = 200, 2000
ROWS = 20
THREE = ["c1", "c100", "c199"]
"""In files of all widths."""


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "2.3"])
def wide(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Path]:
    """Files of so many columns; zone maps of 2.0 would be named in the descriptor, one by one."""
    folder = tmp_path_factory.mktemp("wide")
    rng = seeded("wide")
    for width in (FEW, MANY):
        table = pa.table({f"c{number}": rng.standard_normal(ROWS) for number in range(width)})
        zones = {"rows_per_zone": None} if request.param == "2.0" else {}
        lance_arrow.write_table(table, folder / f"{width}.lance", file_version=request.param, **zones)
    return lambda width: folder / f"{width}.lance"


def calls_of(done: Callable[[Path], object], path: Path) -> int:
    """Calls of Python functions, in this thread."""
    return count_calls(lambda: done(path), of_c=False)


def three_of(path: Path) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        return file.read(columns=THREE)


def all_of(path: Path) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        return file.read()


def one_of(path: Path) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        return file.take([7], columns=THREE)


@pytest.mark.cover(2)
@pytest.mark.parametrize("done", [three_of, one_of])
@pytest.mark.parametrize("is_known", [True, False])
def test_three_columns_cost_the_same_in_every_width(
    wide: Callable[[int], Path], done: Callable[[Path], pa.Table], is_known: bool
) -> None:
    counts = []
    for width in (FEW, MANY):
        done(wide(width))
        if not is_known:
            known_schemas.clear()
        counts.append(calls_of(done, wide(width)))
    # The tables of the wider file lie before its tail: a read of them, and one of columns, not one call more a column.
    assert counts[1] - counts[0] <= 230, counts


@pytest.mark.parametrize("is_known", [True, False])
def test_all_columns_cost_few_calls_each(wide: Callable[[int], Path], is_known: bool) -> None:
    counts = []
    for width in (FEW, MANY):
        assert all_of(wide(width)).num_columns == width
        if not is_known:
            known_schemas.clear()
        counts.append(calls_of(all_of, wide(width)))
    per_column = (counts[1] - counts[0]) / (MANY - FEW)
    with lance_arrow.LanceFile(wide(FEW)) as file:
        is_legacy = file.version == "2.0"
    # 73 before, 79 of a new schema, and 127 in 2.0, whose pages are still made one by one.
    assert per_column <= (75 if is_legacy else 10), per_column


def arrow_dataset(path: Path) -> pads.Dataset:
    return pads.dataset(path, format=LanceFormat())


@pytest.mark.cover(2)
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("door", [lance_arrow.dataset, arrow_dataset])
def test_datasets_make_few_calls_a_column(
    wide: Callable[[int], Path], door: Callable[[Path], pads.Dataset], *, is_known: bool
) -> None:
    with lance_arrow.LanceFile(wide(FEW)) as file:
        is_legacy = file.version == "2.0"
    for columns, most in ((THREE, 0.1), (None, 75 if is_legacy else 10)):

        def read(path: Path, columns: list[str] | None = columns) -> pa.Table:
            # Without threads, the scan is planned and read where calls are counted.
            return door(path).scanner(columns=columns, use_threads=False).to_table()

        counts = []
        for width in (FEW, MANY):
            assert read(wide(width)).num_columns == (width if columns is None else 3)
            if not is_known:
                known_schemas.clear()
            counts.append(calls_of(read, wide(width)))
        # One more read of the wider file: its tables lie before its tail.
        assert (counts[1] - counts[0] - 200) / (MANY - FEW) <= most, counts


def test_forgotten_schemas_leave_no_garbage(wide: Callable[[int], Path]) -> None:
    """What is derived from a schema refers to it; thousands of columns must not wait for a search of all objects."""
    known_schemas.clear()
    gc.collect()
    all_of(wide(FEW))
    known = [ref(facts) for facts in known_schemas._held.values()]
    gc.disable()
    try:
        known_schemas.clear()
        assert [one() for one in known] == [None]
    finally:
        gc.enable()


def test_three_columns_of_a_dataset_cost_the_same_in_every_width(wide: Callable[[int], Path]) -> None:
    """Arrow's scanner sees the schema of what a scan mentions: it would make a column for each other one."""
    field = pads.field
    for path in (wide(FEW), wide(MANY)):
        dataset = lance_arrow.dataset(path)
        for columns, filter in ((THREE, None), (THREE, field("c7") < 0), ({"twice": field("c1") * 2}, field("c9") > 0)):
            scanner = dataset.scanner(columns, filter=filter)
            assert len(scanner.dataset_schema) <= 4
            expected = pads.dataset(path, format=LanceFormat()).to_table(columns, filter=filter)
            assert scanner.to_table().equals(expected)
            assert dataset.to_table(columns, filter=filter).equals(expected)
        assert len(dataset.scanner().dataset_schema) == len(dataset.schema)
        assert dataset.count_rows(field("c7") < 0) == dataset.to_table(filter=field("c7") < 0).num_rows


def test_references_by_number_are_to_the_whole_schema(wide: Callable[[int], Path]) -> None:
    dataset = lance_arrow.dataset(wide(FEW))
    expected = dataset.to_table(["c5"])
    for number in (0, 5):
        by_number = dataset.to_table(["c5"], filter=pads.field(number) < 0)
        assert by_number.equals(dataset.to_table(["c5"], filter=pads.field(f"c{number}") < 0))
    assert dataset.to_table({"c5": pads.field(5)}, filter=pads.field("c3") < 9).equals(expected)


def test_three_columns_of_a_table_cost_the_same_in_every_width(tmp_path: Path) -> None:
    counts = []
    for width in (FEW, MANY):
        path = tmp_path / f"{width}.tables"
        LanceTable.create(path, pa.table({f"c{number}": np.arange(ROWS) for number in range(width)}))

        def done(path: Path) -> pa.Table:
            return LanceTable.open(path).to_table(columns=THREE)

        assert done(path).column_names == THREE
        counts.append(calls_of(done, path))
    # 147,000 before for the wider one. The end of the other one is known, and read once.
    assert counts[1] - counts[0] <= 320, counts


def test_a_far_file_opens_in_few_requests(wide: Callable[[int], Path]) -> None:
    """The end, then tables, checksums and descriptor in one wave; the metadata of the columns come in another."""
    content = wide(MANY).read_bytes()
    store = CountingStore({"/wide.lance": content})
    file = lance_arrow.LanceFile("/wide.lance", filesystem=store)
    opened = len(store.waves), sum(map(len, store.waves))
    assert opened[0] <= 2
    assert opened[1] <= 3
    # Neither pages nor metadata of columns.
    assert store.bytes_fetched < len(content) / 2
    table = file.read(columns=THREE)
    assert table.equals(three_of(wide(MANY)))
    assert len(store.waves) <= opened[0] + 2
    assert sum(map(len, store.waves)) <= opened[1] + 6
    file.close()


def test_metadata_of_columns_are_read_when_asked_for(wide: Callable[[int], Path]) -> None:
    with lance_arrow.LanceFile(wide(MANY)) as file:
        assert len(file._file._columns) == 0
        file.read(columns=THREE)
        assert sorted(file._file._columns) == [int(name[1:]) for name in THREE]
        assert np.array_equal(file._file._table.place(0)[:1], [file._file.footer.first_column_position])
