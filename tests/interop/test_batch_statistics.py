"""Files of 0.1 that the reference wrote are pruned by their statistics, and no row is lost by it."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import golden
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from filter_cases import filter_case
from same import assert_same
from witness import Witness

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, LanceFragmentScanOptions, LanceTable
from lance_arrow.spi import ReadReport

pytestmark = pytest.mark.interop

F = pc.field
NUM_ROWS = 5000
GROUP = 500
FILES = [path for path, version in golden.files().items() if version == "0.1"]


def data_file(table: Path) -> Path:
    (path,) = (table / "data").glob("*.lance")
    return path


@pytest.fixture(scope="module")
def table(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    n = np.arange(NUM_ROWS)
    rows = pa.table(
        {
            "n": n,
            "x": n / 7,
            "s": [f"word {one:05}" for one in n],
            "gap": pa.array([None if one == 1234 else one for one in n.tolist()]),
            "st": pa.StructArray.from_arrays(
                [pa.array(n // 2), pa.array(n >= 2500)], ["a", "b"], mask=pa.array(n == 9)
            ),
        }
    )
    return witness.write_directory(
        rows, tmp_path_factory.mktemp("legacy") / "table.lance", "legacy", max_rows_per_group=GROUP
    )


@pytest.fixture(scope="module")
def path(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data file by itself: in its folder it would be part of the table."""
    alone = tmp_path_factory.mktemp("alone") / "file.lance"
    alone.write_bytes(data_file(table).read_bytes())
    return alone


FILTERS = {
    "n-first": (F("n") < 700, 8),
    "n-none": (F("n") > 10**6, 10),
    "x": (F("x") > 700, 9),
    "s": (F("s") == "word 00712", 9),
    "s-prefix": (pc.starts_with(F("s"), "word 049"), 9),
    "gap": (F("gap") == 0, 8),
    "gap-null": (F("gap").is_null(), 10),
    "nested": (F("st", "a") > 2400, 9),
    "nested-bool": (F("st", "b"), 5),
    "two": ((F("n") >= 1000) & (F("s") < "word 01500"), 9),
}


@pytest.mark.parametrize("name", FILTERS)
def test_zones_are_left_out(table: Path, path: Path, receipts: list[ReadReport], name: str) -> None:
    condition, pruned = FILTERS[name]
    with LanceFile(path) as file:
        expected = file.read().filter(condition)
        receipts.clear()
        assert_same(expected, file.read(filter=condition))
        assert [(one.zones_total, one.zones_pruned) for one in receipts] == [(10, pruned)]
        assert file.count_rows(condition) == len(expected)
    receipts.clear()
    assert_same(expected, pads.dataset(path, format=LanceFormat()).to_table(filter=condition))
    assert sum(one.zones_pruned for one in receipts) == pruned
    receipts.clear()
    blind = LanceFragmentScanOptions(zone_maps=False)
    assert_same(
        expected, pads.dataset(path, format=LanceFormat()).to_table(filter=condition, fragment_scan_options=blind)
    )
    assert sum(one.zones_total for one in receipts) == 0
    receipts.clear()
    assert_same(expected, LanceTable.open(table).to_table(filter=condition))
    assert sum(one.zones_pruned for one in receipts) == pruned


def test_zones_of_fragments_and_plans(path: Path) -> None:
    dataset = lance_arrow.dataset(path)
    zones = dataset.fragments[0].zones
    assert len(zones) == 10
    told = zones[2].statistics
    assert (told["n"].min, told["n"].max, told["n"].min_exact, told["n"].null_count) == (1000, 1499, True, 0)
    assert (told["gap"].min, told["gap"].max, told["gap"].null_count) == (None, None, 0)
    assert (told["x"].null_count, told["x"].nan_count) == (0, None)
    assert told["st.b"].max is False
    assert dataset.explain(filter=F("n") < 700).total("zones_pruned") == 8


def test_a_sidecar_tells_what_statistics_leave_open(path: Path, tmp_path: Path, receipts: list[ReadReport]) -> None:
    copied = tmp_path / "file.lance"
    copied.write_bytes(path.read_bytes())
    (built,) = lance_arrow.build_zones(copied, rows_per_zone=100)
    assert built.present == ("n", "s", "st.a", "st.b")
    assert built.columns == ("x", "gap")
    with LanceFile(copied) as file:
        assert file.zones("n").num_rows == 10
        assert file.zones("gap").slice(12, 1).to_pylist()[0]["min"] == 0
        assert file.zones("x").column("nan_count").to_pylist() == [0] * file.zones("x").num_rows
        receipts.clear()
        assert file.read(["n"], filter=F("gap") == 0)["n"].to_pylist() == [0, 1234]
        assert receipts[-1].zones_pruned == 48
    lance_arrow.build_zones(copied)
    with LanceFile(copied) as file:
        # One zone of the sidecar, which says that there is no NaN, and zones of the file within it.
        assert file.zones("x").column("nan_count").to_pylist() == [0] * 10
        assert file.zones("x").column("min").to_pylist() == [start / 7 for start in range(0, NUM_ROWS, GROUP)]
        receipts.clear()
        assert file.count_rows(~(F("x") < 4500 / 7)) == GROUP
        assert receipts[-1].zones_pruned == 9


def kept(rows: pa.Table, condition: pc.Expression) -> pa.Table | None:
    """Rows that Arrow keeps; None where it cannot evaluate the filter."""
    try:
        return rows.filter(condition)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return None


@pytest.mark.share(3)
@pytest.mark.parametrize(
    "number", [pytest.param(number, marks=[] if number % 3 == 0 else pytest.mark.whole) for number in range(100)]
)
def test_filters_find_the_same_rows(witness: Witness, tmp_path: Path, number: int) -> None:
    """Random tables with nulls, NaN, both zeros, empty and long strings, extremes; filters that look at them."""
    # The reference forgets the items of dictionaries within structs.
    cases = (filter_case(one) for one in count(number, 1000))
    case = next(one for one in cases if len(one.table) and "dict" not in one.table.column_names)
    made = witness.write_directory(
        case.table, tmp_path / "table.lance", "legacy", max_rows_per_group=case.rows_per_zone
    )
    path = tmp_path / "file.lance"
    path.write_bytes(data_file(made).read_bytes())
    with LanceFile(path) as file:
        read = file.read()
        expected = kept(read, case.expression)
        if expected is None:
            return
        assert_same(expected, file.read(filter=case.expression))
        assert file.count_rows(case.expression) == len(expected)
    assert_same(expected, pads.dataset(path, format=LanceFormat()).to_table(filter=case.expression))
    table = LanceTable.open(made)
    assert_same(expected, table.to_table(filter=case.expression))
    assert table.count_rows(case.expression) == len(expected)


def test_values_below_nulls_come_back_and_are_found(witness: Witness, tmp_path: Path) -> None:
    """Statistics pass nulls over; what lies below them is what is read, of strings too."""
    lying = {
        "i": (pa.int64(), np.array([1, 99, 2], np.int64).tobytes(), None),
        "s": (pa.string(), b"azzb", np.array([0, 1, 3, 4], np.int32).tobytes()),
    }
    columns = {}
    for name, (type_, values, offsets) in lying.items():
        buffers = [pa.py_buffer(b"\x05"), *([pa.py_buffer(offsets)] if offsets else []), pa.py_buffer(values)]
        columns[name] = pa.Array.from_buffers(type_, 3, buffers)
    made = witness.write_directory(pa.table(columns), tmp_path / "table.lance", "legacy")
    table = LanceTable.open(made)
    assert table.to_table().to_pydict() == {"i": [1, 99, 2], "s": ["a", "zz", "b"]}
    assert table.count_rows(F("i") == 99) == 1
    assert table.count_rows(F("s") == "zz") == 1
    assert table.count_rows(F("s").is_null()) == 0


@pytest.mark.parametrize("prefix", ["x" * 61, "x" * 62, "x" * 63, "é" * 31])
def test_strings_cut_within_a_character_are_found(witness: Witness, tmp_path: Path, prefix: str) -> None:
    """The reference cuts strings at characters, so what is left may be less than another string that is left whole."""
    longer = prefix + "\U0001f600" * 3
    rows = pa.table({"s": [longer, (prefix + "abc")[:64].encode()[:64].decode()]})
    made = witness.write_directory(rows, tmp_path / "table.lance", "legacy")
    path = tmp_path / "file.lance"
    path.write_bytes(data_file(made).read_bytes())
    with LanceFile(path) as file:
        assert file.read(filter=F("s") == longer)["s"].to_pylist() == [longer]
        assert file.count_rows(F("s") >= longer) == 1
        (bound,) = file.zones("s").column("max").to_pylist()
        assert bound > longer


@pytest.fixture
def _golden_files() -> None:
    if not FILES:
        reason = f"no historical tables in {golden.FOLDER}; set LANCE_ARROW_GOLDEN to their folder"
        if os.environ.get("LANCE_ARROW_REQUIRE_GOLDEN"):
            pytest.fail(reason)
        pytest.skip(reason)


@pytest.mark.usefixtures("_golden_files")
def test_zones_of_historical_files_hold_their_values() -> None:
    """Each zone of each column of each file of 0.1, data and index files alike, against what is read."""
    bounded = telling = 0
    for path in FILES:
        with LanceFile(path) as file:
            rows = file.read()
            told = file._rows.file.legacy.message.HasField("statistics")
            telling += told
            for leaf_path, column in leaves(rows):
                zones = file.zones(leaf_path)
                if zones is None:
                    continue
                assert told
                bounded += zones.num_rows
                check_zones(zones, column, f"{path} {leaf_path}")
    assert telling > 100
    assert bounded > 400


def leaves(rows: pa.Table) -> list[tuple[str, pa.Array]]:
    """Leaves outside lists, by dotted path."""
    found = []
    waiting = [(name, column.combine_chunks()) for name, column in zip(rows.column_names, rows.columns, strict=True)]
    while waiting:
        path, array = waiting.pop()
        if pa.types.is_struct(array.type):
            waiting += [(f"{path}.{one.name}", child) for one, child in zip(array.type, array.flatten(), strict=True)]
        elif not pa.types.is_nested(array.type):
            found.append((path, array))
    return found


def check_zones(zones: pa.RecordBatch, values: pa.Array, what: str) -> None:
    first = 0
    for zone in zones.to_pylist():
        held = values.slice(first, zone["row_count"])
        first += zone["row_count"]
        assert len(held) == zone["row_count"], what
        assert zone["null_count"] in (None, held.null_count), what
        if pa.types.is_floating(held.type):
            assert zone["nan_count"] is None, what
            held = held.filter(pc.invert(pc.is_nan(held)))
        seen = [value for value in held.to_pylist() if value is not None]
        assert zone["min"] is None or not seen or zone["min"] <= min(seen), what
        assert zone["max"] is None or not seen or zone["max"] >= max(seen), what
        assert not zone["min_exact"] or zone["min"] in seen, what
        assert not zone["max_exact"] or zone["max"] in seen, what
    assert first == len(values), what
