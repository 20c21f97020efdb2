"""SQL conditions against rows worked out in Python, and what is refused."""

from __future__ import annotations

import contextlib
import datetime
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.scan.predicates import as_expression
from lance_arrow.scan.sql_predicates import parse_sql

DAY = datetime.date(2020, 2, 2)
NOON = datetime.datetime(2020, 2, 2, 12)
TABLE = pa.table(
    {
        "a": pa.array([1, 2, None, 4, -5], pa.int32()),
        "x": pa.array([0.5, None, 2.5, float("nan"), -1.0]),
        "s": ["abc", "abd", None, "a%c", "it's\\"],
        "b": [True, False, None, True, False],
        "d": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("-3.25"), Decimal("4.00")], pa.decimal128(9, 2)),
        "day": [DAY, DAY + datetime.timedelta(1), None, DAY, DAY],
        "at": pa.array([NOON, None, NOON, NOON + datetime.timedelta(seconds=1), NOON], pa.timestamp("ns")),
        "zoned": pa.array([NOON, None, NOON, NOON, NOON + datetime.timedelta(hours=1)], pa.timestamp("us", "UTC")),
        "clock": pa.array([datetime.time(1), datetime.time(2), None, None, None], pa.time64("us")),
        "st": [{"a": i, "in ner": {"c": i * 2}} for i in range(5)],
        "two words": list(range(5)),
    }
)
CASES = {
    "a > 1": [1, 3],
    "a >= 2 AND a < 4": [1],
    "a = 1 OR a = 4": [0, 3],
    "NOT a = 1": [1, 3, 4],
    "a <> 1": [1, 3, 4],
    "2 != a": [0, 3, 4],
    "a = NULL": [],
    "a IS NULL": [2],
    "a IS NOT NULL": [0, 1, 3, 4],
    "a IN (1, 4, 1000000000000)": [0, 3],
    "a IN (1, NULL)": [0],
    "a NOT IN (1, 4)": [1, 4],
    "a NOT IN (1, NULL)": [],
    f"a IN ({', '.join(map(str, range(1, 40)))})": [0, 1, 3],
    f"a NOT IN ({', '.join(map(str, range(1, 40)))})": [4],
    f"a NOT IN ({', '.join(map(str, range(1, 40)))}, NULL)": [],
    f"a IN (a, {', '.join(map(str, range(100, 140)))})": [0, 1, 3, 4],
    f"d IN ({', '.join(map(str, range(1, 40)))})": [1, 4],
    "a BETWEEN 1 AND 2": [0, 1],
    "a NOT BETWEEN 1 AND 2": [3, 4],
    "x > 1": [2],
    "x BETWEEN -1.0 AND .5": [0, 4],
    "isnan(x)": [3],
    "x = 5e-1": [0],
    "a + 1 = 2 * 1": [0],
    "a / 2 = 2 AND -a < 0": [3],
    "-(a) = 5": [4],
    "a - -5 = 0": [4],
    "s = 'abc'": [0],
    "s = 'it''s\\'": [4],
    "s LIKE 'ab%'": [0, 1],
    "s LIKE '%b_'": [0, 1],
    "s LIKE '%\\'": [4],
    "s LIKE 'a!%c' ESCAPE '!'": [3],
    "s LIKE '%!%%' ESCAPE '!'": [3],
    "s LIKE '_t%s\\'": [4],
    "s LIKE 'abd'": [1],
    "s LIKE '%'": [0, 1, 3, 4],
    "s LIKE ''": [],
    "s NOT LIKE 'ab%'": [3, 4],
    "s ILIKE 'AB%'": [0, 1],
    "starts_with(s, 'a%')": [3],
    "s || '!' = 'abc!'": [0],
    "b": [0, 3],
    "NOT b": [1, 4],
    "b = TRUE": [0, 3],
    "b IS TRUE": [0, 3],
    "b IS NOT TRUE": [1, 2, 4],
    "b IS FALSE": [1, 4],
    "TRUE": [0, 1, 2, 3, 4],
    "NULL": [],
    "NULL OR a = 1": [0],
    "d = 1.5": [0],
    "d > 1": [0, 1, 4],
    "d IN (1.5, 2)": [0, 1],
    "d BETWEEN -4 AND 1.50": [0, 3],
    "CAST(a AS DECIMAL(12, 1)) = 4": [3],
    "CAST('1.5' AS DECIMAL(9, 2)) = d": [0],
    "CAST(a AS DOUBLE) < 1.5": [0, 4],
    "a::bigint = 2": [1],
    "CAST(a AS TEXT) = '4'": [3],
    "day = DATE '2020-02-02'": [0, 3, 4],
    "day > '2020-02-02'": [1],
    "day IN ('2020-02-03', '2020-02-02')": [0, 1, 3, 4],
    "at = TIMESTAMP '2020-02-02 12:00:00'": [0, 2, 4],
    "at > '2020-02-02T12:00:00.000000001'": [3],
    "at BETWEEN '2020-02-02 12:00:00' AND '2020-02-02 12:00:00.5'": [0, 2, 4],
    "zoned = TIMESTAMPTZ '2020-02-02 13:00:00+01:00'": [0, 2, 3],
    "zoned > '2020-02-02 12:00:00Z'": [4],
    "clock >= TIME '02:00:00'": [1],
    "st.a = 3": [3],
    'st."in ner".c >= 6': [3, 4],
    '"two words" = 2': [2],
    "\"s\" = 'abc'": [0],
    "((a = 1))": [0],
    " OR ".join(f"a = {one}" for one in range(400)): [0, 1, 3],
}


@pytest.mark.parametrize("text", CASES, ids=lambda text: text[:60])
def test_rows(text):
    numbered = TABLE.append_column("row", pa.array(range(5)))
    assert numbered.filter(parse_sql(text, TABLE.schema)).column("row").to_pylist() == CASES[text]


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("a = 1; DROP TABLE t", "DROP"),
        ("", "not one condition"),
        ("SELECT 1", "SELECT 1"),
        ("a =", "not SQL"),
        ("a = 'x", "not SQL"),
        ("f(a) = 1", r"F\(a\)"),
        ("a IN (SELECT b FROM t)", "SELECT b"),
        ("a & 2 = 0", "a & 2"),
        ("a IS DISTINCT FROM 1", "DISTINCT"),
        ("TRY_CAST(a AS INT) = 1", "TRY_CAST"),
        ("CAST(a AS STRUCT<x INT>) = 1", "STRUCT"),
        ("CAST(a AS DECIMAL) = 1", "DECIMAL"),
        ("CAST(a AS DECIMAL(99, 1)) = 1", "99"),
        ("a = CAST('x' AS INT)", "CAST"),
        ("day = DATE 'tomorrow'", "tomorrow"),
        ("day = 'tomorrow'", "tomorrow"),
        ("at = TIMESTAMP '2020-02-02' - INTERVAL '1' DAY", "INTERVAL"),
        ("s LIKE a", "pattern"),
        ("s LIKE 'a!' ESCAPE '!'", "escape"),
        ("a = 99999999999999999999", "99999999999999999999"),
        ("a = 1 AND CASE WHEN EXISTS(SELECT 1) THEN 1 END = 1", "EXISTS"),
        (f"a IN ({', '.join(map(str, range(1, 40)))}, 'x')", "several types"),
        ("(" * 3000 + "a = 1" + ")" * 3000, "deeply"),
        ("*", r"\*"),
        ("st.* = 1", r"\*"),
    ],
)
def test_refusals_name_the_piece(text, piece):
    with pytest.raises(InvalidArgumentError, match=piece):
        parse_sql(text, TABLE.schema)


@given(st.text(max_size=30) | st.text("ab1.'\"()=<>!%, \nANDORNOTINLIKEISNULL+-*/", max_size=40))
def test_any_text_is_a_condition_or_refused(text):
    with contextlib.suppress(InvalidArgumentError):
        assert isinstance(parse_sql(text, TABLE.schema), pc.Expression)


def test_without_a_schema_literals_are_what_they_look_like():
    assert parse_sql("a > 1").equals(as_expression([("a", ">", 1)]))
    assert parse_sql("st.a = 'x'").equals(pc.field("st", "a") == "x")


def test_without_sqlglot(monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    monkeypatch.delitem(sys.modules, "lance_arrow.scan.sql_predicates")
    with pytest.raises(UnsupportedError, match=r"lance-arrow\[sql\]"):
        as_expression("a = 1")


@pytest.mark.parametrize("more", ["", ", 1.5", ", 1.5" * 40, "".join(f", {one}" for one in range(100, 140))])
def test_both_zeros_are_members(more: str) -> None:
    zeros = pa.table({"x": pa.array([0.0, -0.0, 1.0, None, float("nan")])})
    members = f"x IN (0{more})"
    for schema in (zeros.schema, None):
        assert zeros.filter(parse_sql(members, schema))["x"].to_pylist() == [0.0, -0.0]
        assert zeros.filter(parse_sql(f"NOT {members}", schema)).num_rows == 2


def test_remainders_of_large_integers() -> None:
    large = pa.table({"n": pa.array([2**60 + 1, -(2**60) - 1, 2**62 + 3, None], pa.int64())})
    assert large.filter(parse_sql("n % 2 = 1", large.schema))["n"].to_pylist() == [2**60 + 1, 2**62 + 3]
    assert large.filter(parse_sql("(n + 1) % 4 = -(0)", large.schema))["n"].to_pylist() == [-(2**60) - 1, 2**62 + 3]
