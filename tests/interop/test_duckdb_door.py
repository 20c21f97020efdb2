"""DuckDB's door: answers of a plain dataset, dictionaries, what is pushed, and counts that read no column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from values import seeded

import lance_arrow
from lance_arrow import LanceTable, write_table
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.errors import LanceError
from lance_arrow.integrations import duckdb as door
from lance_arrow.spi import ReadReport

NUM_ROWS = 30_000


def rows() -> pa.Table:
    rng = seeded("duckdb door")
    modes = pa.array(["AIR", "MAIL", "RAIL", "SHIP"])
    return pa.table(
        {
            "id": np.arange(NUM_ROWS),
            "mode": modes.take(pa.array(rng.integers(0, 4, NUM_ROWS), mask=rng.random(NUM_ROWS) < 0.1)),
            "x": pa.array(rng.integers(0, 1000, NUM_ROWS) / 4, mask=rng.random(NUM_ROWS) < 0.1),
            "small": rng.integers(0, 9, NUM_ROWS),
            "text": [f"text {number}" for number in range(NUM_ROWS)],
            "st": pa.StructArray.from_arrays([pa.array(rng.integers(0, 5, NUM_ROWS))], ["n"]),
        }
    )


@pytest.fixture(scope="module", params=["file", "table", "files", "deleted"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pa.Table]:
    folder, table = tmp_path_factory.mktemp("door"), rows()
    half = NUM_ROWS // 2
    if request.param == "file":
        write_table(table, folder / "a.lance")
        return str(folder / "a.lance"), table
    if request.param == "files":
        for number in range(2):
            write_table(table.slice(number * half, half), folder / f"{number}.lance")
        return str(folder), table
    made = LanceTable.create(folder / "t.lance", table.slice(0, half))
    made.append(table.slice(half))
    if request.param == "deleted":
        made.delete("id < 100")
        table = table.slice(100)
    return str(folder / "t.lance"), table


QUERIES = [
    "SELECT count(*) FROM T",
    "SELECT count(*) FROM T WHERE mode = 'AIR'",
    "SELECT count(*) FROM T WHERE mode = 'AIR' AND id < 700 OR x = 3",
    "SELECT count(*), count(mode), count(DISTINCT mode) FROM T",
    "SELECT mode, count(*), sum(x) FROM T GROUP BY mode ORDER BY mode",
    "SELECT mode, count(*) FROM T WHERE mode IN ('AIR', 'MAIL', 'nothing') GROUP BY mode ORDER BY mode",
    "SELECT id, mode FROM T WHERE mode LIKE 'R%' AND id % 500 = 3 ORDER BY id",
    "SELECT count(*) FROM T WHERE mode IS NULL",
    "SELECT count(*) FROM T WHERE NOT (mode = 'AIR' OR mode = 'MAIL' OR mode = 'RAIL')",
    "SELECT sum(small) FROM T WHERE small > 4",
    "SELECT max(text), min(text) FROM T WHERE mode > 'M'",
    "SELECT sum(st.n) FROM T WHERE st.n < 3",
    "SELECT a.mode, count(*) FROM T a JOIN T b ON a.id = b.id AND b.x < 10 GROUP BY 1 ORDER BY 1",
    "SELECT * FROM T ORDER BY id LIMIT 3",
    "SELECT count(*) FROM (SELECT * FROM T LIMIT 5)",
    "SELECT count(*) FROM T WHERE false",
]


@pytest.mark.cover(1)
@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_the_rows(place: tuple[str, pa.Table], query: str) -> None:
    where, table = place
    with duckdb.connect() as connection:
        connection.register("plain", table)
        door.register(connection, "dictionaries", where)
        door.register(connection, "strings", lance_arrow.dataset(where))
        expected = connection.execute(query.replace(" T", " plain")).fetchall()
        assert connection.execute(query.replace(" T", " dictionaries")).fetchall() == expected
        assert connection.execute(query.replace(" T", " strings")).fetchall() == expected


def test_a_relation_has_the_columns_of_the_dataset(place: tuple[str, pa.Table]) -> None:
    where, table = place
    with duckdb.connect() as connection:
        found = door.relation(where, connection=connection)
        assert found.columns == table.column_names
        assert str(found.types[1]) == "VARCHAR"
        assert found.filter("id = 17000").fetchall() == connection.from_arrow(table).filter("id = 17000").fetchall()
        assert found.aggregate("count(*)").fetchall() == [(len(table),)]
    assert door.relation(where).columns == table.column_names


def test_strings_come_as_dictionaries(place: tuple[str, pa.Table]) -> None:
    schema = door._Door(place[0]).schema
    assert schema.field("mode").type == pa.dictionary(pa.int32(), pa.string())
    assert schema.field("text").type == pa.string()


@pytest.fixture
def registered(tmp_path: Path) -> Any:
    write_table(rows(), tmp_path / "a.lance", rows_per_zone=1000)
    with duckdb.connect() as connection:
        door.register(connection, "t", tmp_path / "a.lance")
        yield connection


def test_counting_reads_no_column(registered: Any, receipts: list[ReadReport]) -> None:
    assert registered.execute("SELECT count(*) FROM t").fetchone() == (NUM_ROWS,)
    assert sum(report.bytes_wanted for report in receipts) == 0
    assert not any(report.columns for report in receipts)


def test_counting_with_a_filter_makes_no_rows(registered: Any, receipts: list[ReadReport]) -> None:
    query = "SELECT count(*) FROM t WHERE mode = 'AIR' AND id >= 29000"
    assert (
        registered.execute(query).fetchone()[0]
        == rows().filter((pc.field("mode") == "AIR") & (pc.field("id") >= 29_000)).num_rows
    )
    (report,) = receipts
    assert set(report.columns) == {"mode", "id"}
    assert report.zones_pruned >= 29


def test_columns_and_filters_are_pushed(registered: Any, receipts: list[ReadReport]) -> None:
    registered.execute("SELECT sum(x) FROM t WHERE mode IN ('AIR', 'MAIL')").fetchall()
    (report,) = receipts
    assert set(report.columns) == {"mode", "x"}
    assert "MAIL" in str(report.filter)


def test_rows_are_filtered_once(registered: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No scan of Arrow's is begun, which would filter again."""
    monkeypatch.setattr(LanceDataset, "scanner", None)
    assert registered.execute("SELECT count(x) FROM t WHERE mode = 'AIR'").fetchone()[0] > 0


def test_names_are_quoted_and_replaced(tmp_path: Path) -> None:
    write_table(rows(), tmp_path / "a.lance")
    write_table(pa.table({"_rows": [1, 2, 3]}), tmp_path / "b.lance")
    with duckdb.connect() as connection:
        door.register(connection, 'a "b"', tmp_path / "a.lance")
        assert connection.sql('SELECT count(*) FROM "a ""b"""').fetchall() == [(NUM_ROWS,)]
        door.register(connection, 'a "b"', tmp_path / "b.lance")
        assert connection.sql('SELECT * FROM "a ""b"""').fetchall() == [(1,), (2,), (3,)]
        assert connection.sql('SELECT count(*) FROM "a ""b"""').fetchall() == [(3,)]


def test_a_dataset_with_a_filter_of_its_own(tmp_path: Path) -> None:
    write_table(rows(), tmp_path / "a.lance")
    few = lance_arrow.dataset(tmp_path / "a.lance").filter(pc.field("id") < 10)
    with duckdb.connect() as connection:
        door.register(connection, "t", few)
        assert connection.execute("SELECT count(*), max(id) FROM t").fetchone() == (10, 9)
        assert connection.execute("SELECT count(*) FROM t").fetchone() == (10,)
        assert connection.execute("SELECT count(*) FROM t WHERE id > 4").fetchone() == (5,)


def test_damage_reaches_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "a.lance"
    write_table(rows(), path)
    whole = bytearray(path.read_bytes())
    whole[100:400] = bytes(300)
    path.write_bytes(whole)
    with duckdb.connect() as connection:
        door.register(connection, "t", path)
        with pytest.raises((duckdb.Error, LanceError), match="checksum"):
            connection.execute("SELECT * FROM t").fetchall()


def test_an_absent_path(tmp_path: Path) -> None:
    with duckdb.connect() as connection, pytest.raises(FileNotFoundError):
        door.register(connection, "t", tmp_path / "no.lance")


def random_rows(random: np.random.Generator, num_rows: int) -> pa.Table:
    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        codes = random.integers(0, len(values), num_rows)
        return pa.array(values, type_).take(pa.array(codes, mask=random.random(num_rows) < 0.15))

    return pa.table(
        {
            "f": some([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf")], pa.float64()),
            "i": some([-3, 0, 1, 2, 2**40], pa.int64()),
            "s": some(["", "a", "ab", "x" * 40, "ü"], pa.string()),
            "t": some(["", "a", "b"], pa.string()),
        }
    )


LITERALS = {"f": ["0.0", "1.5", "3.0"], "i": ["0", "2", "-3"], "s": ["''", "'a'", "'ab'", "'zz'"], "t": ["'a'", "'b'"]}


def random_condition(random: np.random.Generator, depth: int = 0) -> str:
    kind = int(random.integers(0, 8 if depth < 3 else 4))
    name = str(random.choice(list(LITERALS)))
    values = LITERALS[name]
    if kind <= 1:
        return f"{name} {random.choice(['=', '<>', '<', '<=', '>', '>='])} {random.choice(values)}"
    if kind == 2:
        return (
            f"{name} {random.choice(['', 'NOT '])}IN ({', '.join(values[: 1 + int(random.integers(0, len(values)))])})"
        )
    if kind == 3:
        return str(random.choice([f"{name} IS NULL", f"{name} IS NOT NULL", "s LIKE 'a%'", "s = t", "length(t) > 0"]))
    if kind == 4:
        return f"NOT ({random_condition(random, depth + 1)})"
    joined = " OR " if kind == 5 else " AND "
    return "(" + joined.join(random_condition(random, depth + 1) for _ in range(2)) + ")"


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.whole) for seed in range(2, 6))])
def test_random_conditions_find_what_duckdb_finds_itself(tmp_path: Path, seed: int) -> None:
    """A table of its own is filtered by DuckDB alone."""
    random = np.random.default_rng(seed)
    table = random_rows(random, 300)
    write_table(table, tmp_path / "a.lance", rows_per_zone=50)
    coded = lance_arrow.dataset(tmp_path / "a.lance", read_dictionary=["s", "t"])
    with duckdb.connect() as connection:
        connection.register("arrow", table)
        connection.execute("CREATE TABLE own AS FROM arrow")
        door.register(connection, "plain", lance_arrow.dataset(tmp_path / "a.lance"))
        door.register(connection, "coded", coded)
        for _ in range(50):
            condition = random_condition(random)
            query = f"SELECT count(*), count(s), min(s), max(t), sum(i) FROM {{}} WHERE {condition}"
            expected = connection.execute(query.format("own")).fetchall()
            count = connection.execute(f"SELECT count(*) FROM own WHERE {condition}").fetchall()
            for view in ("plain", "coded"):
                assert connection.execute(query.format(view)).fetchall() == expected, condition
                found = connection.execute(f"SELECT count(*) FROM {view} WHERE {condition}").fetchall()
                assert found == count, condition
