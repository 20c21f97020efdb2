"""Random predicates of DuckDB and Polars by their doors, and of our scans, in each form of strings.

Of a file, a folder of files, a table with deletions. Dictionaries differ by file and by page, have few items or many,
and codes are null. The engines' own answers over memory are the expected ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
from forced import forced, way_of
from polars.testing import assert_frame_equal

import lance_arrow
from lance_arrow.integrations import duckdb as duckdb_door
from lance_arrow.integrations.polars import scan

PREDICATES = 6
_WORDS = ["", "a", "ab", "abc", "b", "ü", "a word of more than twelve bytes", "zz"]
_NUMBERS = [-3, 0, 1, 2, 7, 2**40]
# So many that their indices have 16 bits, short ones and others.
_MANY = [f"{'long ' * (number % 4)}word {number:03}" for number in range(300)]
FORMS = ("plain", "dictionary", "view")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition as each of the two engines writes it."""

    sql: str
    polars: pl.Expr


@dataclass(slots=True)
class EnginesChecked:
    """How many predicates were compared, and how many rows they found."""

    compared: int = 0
    found: int = 0


def check_engines(number: int, folder: Path, seen: EnginesChecked) -> None:
    """Compare the predicates of a case; raises `AssertionError` where a door gives other rows."""
    rng = np.random.default_rng(number)
    words = _WORDS if rng.random() < 0.7 else [*_WORDS, *_MANY]
    sizes = [0, 1, 40, 300, 900] if words is _WORDS else [40, 2600, 9000]
    parts = [_rows(rng, int(rng.choice(sizes)), words) for _ in range(int(rng.integers(1, 4)))]
    source, rows = _written(rng, parts, folder / str(number), int(rng.integers(0, 3)))
    plain, frame = pl.from_arrow(rows).lazy(), scan(source)
    datasets = {form: lance_arrow.dataset(source, strings=form) for form in FORMS}
    with duckdb.connect() as connection, forced(way_of(number)):
        connection.register("plain", rows)
        duckdb_door.register(connection, "door", source)
        for form, dataset in datasets.items():
            connection.register(f"{form}_strings", dataset)
        known = pl.col("i").is_not_null()
        categories = scan(source, categoricals=True).filter(known).select("s", "t").collect()
        assert_frame_equal(categories.cast(pl.String), plain.filter(known).select("s", "t").collect())
        for _ in range(PREDICATES):
            predicate = _predicate(rng, words)
            expected = plain.filter(predicate.polars).collect()
            assert_frame_equal(frame.filter(predicate.polars).collect(), expected)
            assert_frame_equal(frame.filter(predicate.polars).select("s").collect(), expected.select("s"))
            assert frame.filter(predicate.polars).select(pl.len()).collect().item() == expected.height
            form = str(rng.choice(FORMS))
            for asked in ("count(*)", "s, t, i, b"):
                wanted, *others = (
                    sorted(
                        map(repr, connection.execute(f"SELECT {asked} FROM {name} WHERE {predicate.sql}").fetchall())
                    )
                    for name in ("plain", "door", f"{form}_strings")
                )
                assert all(found == wanted for found in others), predicate.sql
            for dataset in datasets.values():
                assert dataset.count_rows(predicate.sql) == expected.height, predicate.sql
            _same_values(datasets[form].to_table(filter=predicate.sql), expected)
            _same_values(datasets[form].to_table(["t", "i"], filter=predicate.sql), expected.select("t", "i"))
            seen.compared += 1
            seen.found += expected.height


def _same_values(found: pa.Table, expected: pl.DataFrame) -> None:
    """Compare values; strings may be plain, dictionaries or views."""
    found.validate(full=True)
    assert found.to_pydict() == expected.to_dict(as_series=False)


def _written(rng: np.random.Generator, parts: list[pa.Table], place: Path, kind: int) -> tuple[Path, pa.Table]:
    """Write rows as a file, a folder or a table; return where, and the rows there are."""
    options: dict[str, Any] = {
        "rows_per_zone": int(rng.choice([1, 16, 100])),
        "page_bytes": int(rng.choice([64, 4096])),
    }
    together = pa.concat_tables(parts)
    if kind == 0:
        lance_arrow.write_table(together, place, **options)
        return place, together
    if kind == 1:
        place.mkdir()
        for number, part in enumerate(parts):
            lance_arrow.write_table(part, place / f"{number}.lance", **options)
        return place, together
    table = lance_arrow.LanceTable.create(place, parts[0], **options)
    for part in parts[1:]:
        table.append(part, **options)
    if rng.random() < 0.5:
        table.delete("i = 2")
        together = pl.from_arrow(together).filter(pl.col("i").ne_missing(2)).to_arrow().cast(parts[0].schema)
    return place, together


def _rows(rng: np.random.Generator, count: int, words: list[str]) -> pa.Table:
    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        known = [values[place] for place in rng.permutation(len(values))[: int(rng.integers(1, len(values) + 1))]]
        # Runs, so that pages and zones differ.
        codes = (
            np.sort(rng.integers(0, len(known), count)) if rng.random() < 0.5 else rng.integers(0, len(known), count)
        )
        is_null = rng.random(count) < float(rng.choice([0.0, 0.2, 1.0], p=[0.5, 0.4, 0.1]))
        return pa.array(known, type_).take(pa.array(codes, mask=is_null))

    texts = pa.array([f"text {number}" for number in rng.permutation(count)], pa.string())
    return pa.table(
        {
            "s": some(words, pa.string()),
            "t": texts,
            "i": some(_NUMBERS, pa.int64()),
            "b": some([True, False], pa.bool_()),
        }
    )


def _predicate(rng: np.random.Generator, words: list[str], depth: int = 0) -> Predicate:
    kind = int(rng.integers(0, 9 if depth < 3 else 6))
    name = str(rng.choice(["s", "s", "i"]))
    values = words if name == "s" else _NUMBERS
    value = values[int(rng.integers(0, len(values)))]
    column = pl.col(name)
    if kind <= 1:
        sign, method = [("=", "eq"), ("<>", "ne"), ("<", "lt"), ("<=", "le"), (">", "gt"), (">=", "ge")][
            int(rng.integers(0, 6))
        ]
        return Predicate(f"{name} {sign} {_literal(value)}", getattr(column, method)(value))
    if kind == 2:
        members = [values[place] for place in rng.permutation(len(values))[: int(rng.integers(1, len(values) + 1))]]
        if rng.random() < 0.3:
            members += [f"a{number}" if name == "s" else number for number in range(40, 40 + int(rng.integers(5, 200)))]
        return Predicate(f"{name} IN ({', '.join(map(_literal, members))})", column.is_in(members))
    if kind == 3:
        return Predicate(f"{name} IS NULL", column.is_null())
    if kind == 4:
        return [
            Predicate("b", pl.col("b")),
            Predicate("s LIKE 'a%'", pl.col("s").str.starts_with("a")),
            Predicate("t < 'text 2'", pl.col("t") < "text 2"),
            Predicate("i BETWEEN 0 AND 2", pl.col("i").is_between(0, 2)),
        ][int(rng.integers(0, 4))]
    if kind == 5:
        return Predicate(f"{name} = {_literal(value)}", column == value)
    if kind == 6:
        inner = _predicate(rng, words, depth + 1)
        return Predicate(f"(NOT {inner.sql})", ~inner.polars)
    left, right = _predicate(rng, words, depth + 1), _predicate(rng, words, depth + 1)
    if kind == 7:
        return Predicate(f"({left.sql} OR {right.sql})", left.polars | right.polars)
    return Predicate(f"({left.sql} AND {right.sql})", left.polars & right.polars)


def _literal(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)
