"""DuckDB's extension `lance` attaches a directory catalog: it and `lance_arrow` change the same tables by turns.

The package `duckdb-extension-lance` holds the extension for one release of DuckDB; without it, these are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow import LanceCatalog

extensions = pytest.importorskip("duckdb_extensions", reason="needs duckdb-extensions")
pytest.importorskip("duckdb_extension_lance", reason="needs duckdb-extension-lance")

PLANES = pa.table({"tail": ["N1", "N2", None], "seats": [55, 140, 330]})
TYPES = pa.table(
    {
        "i8": pa.array([1, None, -8], pa.int8()),
        "u64": pa.array([1 << 63, None, 0], pa.uint64()),
        "f32": pa.array([0.5, None, float("inf")], pa.float32()),
        "price": pa.array([150, None, -1], pa.int64()).cast(pa.decimal128(20, 0)).cast(pa.decimal128(22, 2)),
        "day": pa.array([20_000, None, 0], pa.int32()).cast(pa.date32()),
        "at": pa.array([1 << 50, None, 0], pa.int64()).cast(pa.timestamp("us")),
        "flag": [True, None, False],
        "raw": [b"\x00\xff", None, b""],
        "list": [[1, 2], None, []],
        "struct": [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}],
    }
)


@pytest.fixture
def catalog(tmp_path: Path) -> LanceCatalog:
    made = lance_arrow.catalog(tmp_path / "warehouse")
    made.create_table("planes", PLANES)
    made.create_table("types", TYPES)
    return made


@contextmanager
def attached(catalog: LanceCatalog) -> Iterator[duckdb.DuckDBPyConnection]:
    """Attach a catalog as ``ours``, to a new database: one keeps the versions that it read until it writes itself."""
    with duckdb.connect() as connection:
        extensions.import_extension("lance", con=connection)
        connection.execute("LOAD lance")
        connection.execute(f"ATTACH '{catalog.uri}' AS ours (TYPE lance)")
        yield connection


def ask(catalog: LanceCatalog, *statements: str) -> list[tuple[Any, ...]]:
    """Return the rows of the last statement."""
    with attached(catalog) as connection:
        for one in statements:
            found = connection.execute(one).fetchall()
        return found


def names(catalog: LanceCatalog) -> list[str]:
    return [row[2] for row in ask(catalog, "SHOW ALL TABLES")]


def test_it_attaches_what_we_write(catalog: LanceCatalog) -> None:
    assert names(catalog) == ["planes", "types"]
    planes = catalog.open_table("planes")
    planes.update({"seats": "seats + 1"}, "tail = 'N1'")
    planes.delete("tail = 'N2'")
    planes.append(PLANES.slice(1, 1))
    planes.compact()
    found = ask(catalog, "SELECT tail, seats FROM ours.main.planes ORDER BY seats")
    assert found == [("N1", 56), ("N2", 140), (None, 330)]
    assert ask(catalog, "SELECT sum(seats) FROM ours.main.planes WHERE tail >= 'N2'") == [(140,)]
    with attached(catalog) as connection:
        assert connection.execute("SELECT * FROM ours.main.types").to_arrow_table().to_pylist() == TYPES.to_pylist()
    catalog.drop_table("planes")
    catalog.deregister_table("types")
    assert names(catalog) == []


def test_we_open_what_it_writes(catalog: LanceCatalog) -> None:
    ask(catalog, "CREATE TABLE ours.main.made AS SELECT range AS n, 'x' || range AS s FROM range(3000)")
    assert catalog.list_tables() == ["made", "planes", "types"]
    made = catalog.open_table("made")
    assert made.to_table().to_pydict() == {"n": list(range(3000)), "s": [f"x{n}" for n in range(3000)]}
    with attached(catalog) as connection:
        connection.register("given", TYPES)
        connection.execute("CREATE TABLE ours.main.others AS FROM given")
    assert catalog.open_table("others").to_table().to_pylist() == TYPES.to_pylist()
    ask(catalog, "DROP TABLE ours.main.planes")
    assert catalog.list_tables() == ["made", "others", "types"]


def test_both_change_one_table_by_turns(catalog: LanceCatalog) -> None:
    ask(catalog, "CREATE TABLE ours.main.made AS SELECT range AS n, 'x' || range AS s FROM range(100)")
    rows: dict[int, str | None] = {n: f"x{n}" for n in range(100)}

    def check() -> None:
        table = catalog.open_table("made")
        assert dict(zip(*table.to_table(columns=["n", "s"]).to_pydict().values(), strict=True)) == rows
        assert dict(ask(catalog, "SELECT n, s FROM ours.main.made")) == rows
        assert lance_arrow.verify(table.uri).ok

    for turn in range(3):
        # Ranges of numbers alone: 1.5.5 deletes every row for some other conditions, such as s = 'x4'.
        low, high = 20 * turn, 20 * turn + 9
        ask(catalog, f"UPDATE ours.main.made SET s = 'theirs {turn}' WHERE n >= {low} AND n < {high}")
        rows |= {n: f"theirs {turn}" for n in rows if low <= n < high}
        check()
        assert catalog.open_table("made").delete(f"n % 11 = {turn}")["num_deleted_rows"] > 0
        rows = {n: s for n, s in rows.items() if n % 11 != turn}
        ask(catalog, f"DELETE FROM ours.main.made WHERE n >= {high} AND n < {high + 3}")
        rows = {n: s for n, s in rows.items() if not high <= n < high + 3}
        check()
        catalog.open_table("made").update({"s": f"'ours {turn}'"}, f"n % 5 = {turn}")
        rows |= {n: f"ours {turn}" for n in rows if n % 5 == turn}
        ask(catalog, f"INSERT INTO ours.main.made VALUES ({1000 + turn}, NULL)")
        rows[1000 + turn] = None
        catalog.open_table("made").append(pa.table({"n": [2000 + turn], "s": ["new"]}))
        rows[2000 + turn] = "new"
        check()
    catalog.open_table("made").compact()
    ask(catalog, "ALTER TABLE ours.main.made ADD COLUMN z INTEGER")
    check()
    assert catalog.open_table("made").schema.names == ["n", "s", "z"]
    assert catalog.open_table("planes").to_table().equals(PLANES)
