"""`without_lists`: long lists of SQL are read without a parser, and mean what they mean to the parser."""

from __future__ import annotations

import itertools

import pyarrow as pa
import pytest
import sqlglot

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan import sql_predicates
from lance_arrow.scan.sql_lists import without_lists

SCHEMA = pa.schema(
    [
        ("id", pa.int64()), ("tiny", pa.int8()), ("natural", pa.uint64()), ("double", pa.float64()),
        ("half", pa.float16()), ("name", pa.string()), ("long", pa.large_string()), ("money", pa.decimal128(10, 2)),
        ("day", pa.date32()), ("category", pa.dictionary(pa.int32(), pa.string())),
    ]
)  # fmt: skip
NUMBERS = ", ".join(map(str, range(-50, 200)))
SMALL = ",".join(map(str, range(-50, 50)))
LARGE = ",".join(str((1 << 63) + number) for number in range(100))
NAMES = ",".join(f"'a{number}'" for number in range(100))
LISTS = (NUMBERS, SMALL, LARGE, NAMES, f"{NUMBERS},null", f"'it''s',{NAMES}", f"{NUMBERS}, 1.5")
COLUMNS = (*SCHEMA.names, "missing", "id + 1", "upper(name)")


def found(text: str, monkeypatch: pytest.MonkeyPatch, *, by_parser: bool) -> str:
    with monkeypatch.context() as patch:
        if by_parser:
            patch.setattr(sql_predicates, "without_lists", lambda text: (text, {}))
        try:
            return str(sql_predicates.parse_sql(text, SCHEMA))
        except InvalidArgumentError as error:
            return f"refused: {error}"


@pytest.mark.parametrize("column", COLUMNS)
def test_a_list_means_what_it_means_to_the_parser(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for members in LISTS:
        text = f"{column} IN ({members})"
        assert found(text, monkeypatch, by_parser=False) == found(text, monkeypatch, by_parser=True)


@pytest.mark.parametrize(
    ("text", "num_lists"),
    [
        (f"NOT (id in ( {NUMBERS} ) OR name IN({NAMES})) AND name = 'in ({NUMBERS})'", 2),
        (f"name = 'x'' in ({NUMBERS})' OR id NOT IN ({NUMBERS})", 1),
        (f'"in ({NUMBERS})" = 3', 0),
        (f"id IN ({NUMBERS}) -- all of them", 0),
        (f"id IN ({NUMBERS}) /* in ({NUMBERS}) */", 0),
        (f"id IN ({NUMBERS})", 1),
        (f"id IN ({NUMBERS}", 0),
        (f"id IN ({NUMBERS}) name", 1),
        (f"id IN ({NUMBERS}) AND id = :list_0", 0),
        ("id IN (1, 2, 3)", 0),
        (f"id IN ({','.join(['9' * 5000] * 70)})", 0),
        (f"id IN ({','.join(['9' * 30] * 70)})", 1),
    ],
)
def test_only_lists_are_taken_out(text: str, num_lists: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(without_lists(text)[1]) == num_lists
    if len(text) < 100_000:
        assert found(text, monkeypatch, by_parser=False) == found(text, monkeypatch, by_parser=True)


def test_quotes_that_do_not_end_take_linear_time() -> None:
    for text in (f"id IN ({'1,' * 100_000}'", f"name IN ({NAMES},{'x,' * 100_000}'a''b')", "in (" * 100_000):
        assert without_lists(text) == (text, {})


def test_the_parser_sees_no_literal_of_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    real = sqlglot.parse

    def parse(text: str) -> object:
        parsed.append(text)
        return real(text)

    monkeypatch.setattr(sqlglot, "parse", parse)
    values = list(itertools.islice(itertools.count(7, 13), 1000))
    expression = sql_predicates.parse_sql(f"id IN ({','.join(map(str, values))})", SCHEMA)
    assert parsed == ["id IN (:list_0)"]
    rows = pa.table({"id": pa.array(range(values[-1] + 1), pa.int64())}).filter(expression)
    assert rows.column("id").to_pylist() == values
