"""Filters that leave few rows: the other columns are decoded for these alone, and counts come from zones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest
from same import assert_same
from stores import CountingStore
from values import seeded

from lance_arrow import LanceFile, LanceFormat, write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan import late_materialization
from lance_arrow.scan.filters import bound_filters, filter_plan
from lance_arrow.spi import ReadReport

NUM_ROWS = 200_000
ROWS_PER_ZONE = 8192
NUM_ZONES = -(-NUM_ROWS // ROWS_PER_ZONE)
F = pc.field


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("late")
    n = np.arange(NUM_ROWS)
    shuffled = rng.permutation(n)
    structs = pa.StructArray.from_arrays(
        [pa.array(shuffled), pa.array([f"b{one}" for one in n])], ["a", "b"], mask=pa.array(n % 9 == 0)
    )
    return pa.table(
        {
            "n": n,
            "random": shuffled,
            "x": pa.array(rng.standard_normal(NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.1),
            "text": [f"some text {one}" for one in n],
            "st": structs,
            "list": pa.array(np.arange(2 * NUM_ROWS).reshape(-1, 2).tolist(), pa.list_(pa.int64())),
        }
    )


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("late") / "file.lance"
    write_table(table, made)
    return made


def others(report: ReadReport, *of_filter: str) -> int:
    return max(rows for column, rows in report.decoded_rows.items() if column not in of_filter)


SELECTIVE = [
    (F("random") < 20, "random"),
    (F("random").isin([5, 77_777, 123_456]), "random"),
    (F("st", "a") == 500, "st.a"),
    (F("text") == "some text 4321", "text"),
    (F("x") > 4, "x"),
]


@pytest.mark.parametrize(("expression", "column"), SELECTIVE, ids=str)
def test_selective_filters_decode_little_of_the_other_columns(path, table, receipts, expression, column):
    expected = table.filter(expression)
    assert 0 < len(expected) < 100

    def decoded_little(handed_out: int) -> None:
        report = receipts[-1]
        assert report.rows == handed_out
        assert report.decoded_rows[column] <= NUM_ROWS + len(expected)
        assert others(report, column) <= 0.05 * NUM_ROWS

    with LanceFile(path) as file:
        assert_same(expected, file.read(filter=expression))
        decoded_little(len(expected))
        list(file.to_batches(["list", "n"], filter=expression))
        decoded_little(len(expected))
        assert file.count_rows(expression) == len(expected)
        assert set(receipts[-1].decoded_rows) == {column}
    dataset = pads.dataset(path, format=LanceFormat())
    assert_same(expected, dataset.to_table(filter=expression))
    decoded_little(len(expected))
    assert dataset.count_rows(filter=expression) == len(expected)
    assert set(receipts[-1].decoded_rows) == {column}


@pytest.mark.share(2)
@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.31, 0.9, 1.0])
def test_sparse_and_dense_filters(path, table, share):
    expression = F("random") < int(share * NUM_ROWS)
    expected = table.filter(expression)
    with LanceFile(path) as file:
        assert_same(expected, file.read(filter=expression))
        for columns in (["random"], ["text", "n"], ["st.b", "random"], ["st", "random", "random"]):
            found = file.read(columns, filter=expression)
            assert found.column_names == [name.split(".")[-1] for name in columns]
            assert_same(file.read(columns).filter(table.column("random").to_numpy() < share * NUM_ROWS), found)
        assert file.read([], filter=expression).num_rows == len(expected)
    assert_same(expected, pads.dataset(path, format=LanceFormat()).to_table(filter=expression))


def test_only_wanted_columns_of_a_filter_are_kept(path, table, monkeypatch):
    kept: list[list[str]] = []
    made: list[int] = []
    picked, marked = late_materialization.picked, late_materialization.marked
    monkeypatch.setattr(
        late_materialization, "picked", lambda batch, *rest: kept.append(batch.schema.names) or picked(batch, *rest)
    )
    monkeypatch.setattr(
        late_materialization, "marked", lambda rows, mask: made.append(rows.num_rows) or marked(rows, mask)
    )
    expression = (F("random") < NUM_ROWS // 2) & (F("x") > 0)
    expected = table.filter(expression)
    with LanceFile(path) as file:
        assert_same(expected.select(["x"]), file.read(["x"], filter=expression))
        # Nothing is read but the filter's columns: runs of the rows that are left are not needed.
        assert set(map(tuple, kept)) == {("x",)}
        assert not made
        kept.clear()
        assert_same(expected.select(["n"]), file.read(["n"], filter=expression))
        assert not kept
        assert made


def test_zones_that_are_sure_need_no_filter(path, table, receipts):
    expression = F("n") < 5 * ROWS_PER_ZONE + 10
    dataset = pads.dataset(path, format=LanceFormat())
    with LanceFile(path) as file:
        assert_same(table.filter(expression).select(["x"]), file.read(["x"], filter=expression))
        assert receipts[-1].decoded_rows == {"n": ROWS_PER_ZONE, "x": 5 * ROWS_PER_ZONE + 10}
        for count in (file.count_rows, dataset.count_rows, next(dataset.get_fragments()).count_rows):
            receipts.clear()
            assert count(filter=expression) == 5 * ROWS_PER_ZONE + 10
            (report,) = receipts
            assert report.decoded_rows == {"n": ROWS_PER_ZONE}
            assert (report.zones_total, report.zones_pruned, report.zones_read) == (NUM_ZONES, NUM_ZONES - 6, 1)


@pytest.mark.parametrize(
    ("expression", "count"),
    [
        (F("n") < 5 * ROWS_PER_ZONE, 5 * ROWS_PER_ZONE),
        (F("n") < 0, 0),
        (F("n") >= 0, NUM_ROWS),
        (F("n").is_valid(), NUM_ROWS),
        (F("text") > "t", 0),
    ],
    ids=str,
)
def test_counts_that_zones_decide_read_no_page(path, receipts, expression, count):
    dataset = pads.dataset(path, format=LanceFormat())
    with LanceFile(path) as file:
        for counted in (file.count_rows, dataset.count_rows):
            receipts.clear()
            assert counted(filter=expression) == count
            (report,) = receipts
            assert (report.pages, report.zones_read, dict(report.decoded_rows)) == (0, 0, {})
            assert report.fetched_bytes < 32 << 10


def test_fields_of_one_struct(path, table):
    expression = (F("st", "a") < 50) & F("st", "b").is_valid()
    with LanceFile(path) as file:
        for columns in (["st.b"], ["st.a", "st.b"], ["st"], None):
            expected = file.read(columns).filter(
                pc.and_kleene(
                    pc.less(pc.struct_field(table["st"], "a"), 50), pc.is_valid(pc.struct_field(table["st"], "b"))
                )
            )
            assert_same(expected, file.read(columns, filter=expression))
    dataset = pads.dataset(path, format=LanceFormat())
    assert_same(table.filter(expression).select(["st"]), dataset.to_table(columns=["st"], filter=expression))
    assert_same(
        pa.table({"b": pc.struct_field(table.filter(expression)["st"], "b")}),
        dataset.to_table(columns={"b": F("st", "b")}, filter=expression),
    )


def test_partitions_and_files_of_several_schemas(tmp_path):
    for part, made in {
        "p=1": pa.table({"a": pa.array([1, 2, 3], pa.int32()), "new": [None, "x", "y"]}),
        "p=2": pa.table({"a": pa.array([1, 2, 3], pa.int64())}),
    }.items():
        (tmp_path / part).mkdir()
        write_table(made, tmp_path / part / "file.lance")
    schema = pa.schema({"a": pa.int64(), "new": pa.string(), "p": pa.int32()})
    dataset = pads.dataset(tmp_path, format=LanceFormat(), schema=schema, partitioning="hive")

    def found(expression: pc.Expression) -> list[tuple[int, int]]:
        rows = dataset.to_table(columns=["p", "a"], filter=expression).to_pylist()
        assert dataset.count_rows(filter=expression) == len(rows)
        return sorted((row["p"], row["a"]) for row in rows)

    assert found(F("p") == 1) == [(1, 1), (1, 2), (1, 3)]
    assert found((F("p") == 2) & (F("a") > 1)) == [(2, 2), (2, 3)]
    assert found((F("p") == 2) | (F("a") > 2)) == [(1, 3), (2, 1), (2, 2), (2, 3)]
    assert found(F("p") + F("a") == 4) == [(1, 3), (2, 2)]
    assert found(F("new").is_null()) == [(1, 1), (2, 1), (2, 2), (2, 3)]
    assert found(F("new") == "x") == [(1, 2)]
    assert found((F("new") == "x") | (F("p") == 2) & (F("a") == 1)) == [(1, 2), (2, 1)]


def test_a_filter_that_changes_is_left_to_arrow(path):
    dataset = pads.dataset(path, format=LanceFormat())
    half = pc.Expression._call("random", [], pc.RandomOptions(initializer=1)) < 0.5
    found = dataset.to_table(columns=["n"], filter=half).num_rows
    assert 0.45 * NUM_ROWS < found < 0.55 * NUM_ROWS
    assert 0.45 * NUM_ROWS < dataset.count_rows(filter=half) < 0.55 * NUM_ROWS


def test_a_value_that_a_filter_fails_on(path):
    with LanceFile(path) as file, pytest.raises(InvalidArgumentError, match="divide by zero"):
        file.read(["n"], filter=pc.scalar(1) / F("n") > 0)


def test_without_a_module_for_expressions(path, table, monkeypatch):
    for module in (filter_plan, bound_filters):
        monkeypatch.setattr(module, "installed_expressions", lambda: None)
    expression = (F("random") < 20) | (F("st", "a") > NUM_ROWS - 3)
    with LanceFile(path) as file:
        assert_same(table.filter(expression), file.read(filter=expression))
        assert file.count_rows(expression) == table.filter(expression).num_rows
        assert file.count_rows(pc.scalar(True)) == NUM_ROWS


def test_far_files_ask_at_once_for_what_is_little(path, table, receipts):
    store = CountingStore({"/file.lance": path.read_bytes()})
    with LanceFile("/file.lance", filesystem=store) as file:
        opened = len(store.waves)
        expression = F("n") == 100_000
        assert_same(table.filter(expression), file.read(filter=expression))
        # A zone of all columns is less than what another round costs: metadata and maps, chunk tables, chunks.
        assert others(receipts[-1], "n") == ROWS_PER_ZONE
        assert len(store.waves) - opened <= 4
        everything = F("random") == 7
        assert_same(table.filter(everything), file.read(filter=everything))
        assert others(receipts[-1], "random") <= 0.05 * NUM_ROWS


@pytest.mark.parametrize(
    "filter", ["random < 20 AND st.a IN (1, 2, 3)", "text LIKE 'some text 12345%'", "x > 1.5 OR n = 5"]
)
def test_filters_in_sql(path, table, filter):
    with LanceFile(path) as file:
        found = file.read(["n"], filter=filter)
        assert 0 <= len(found) == file.count_rows(filter)
        assert len(found) == sum(len(batch) for batch in file.to_batches(["x"], filter=filter))
