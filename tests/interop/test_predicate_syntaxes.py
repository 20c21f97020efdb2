"""One question in SQL, DNF tuples and Polars: the rows of pyarrow's own answer, by zone maps and without."""

from __future__ import annotations

import datetime
import math
import operator
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import lance_arrow
from lance_arrow import LanceDataset, write_table
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.integrations.polars_predicates import arrow_filter
from lance_arrow.scan.filters.bound_filters import evaluated
from lance_arrow.scan.filters.filter_plan import FilterPlan
from lance_arrow.scan.predicates import as_expression

DAY = datetime.date(2020, 2, 2)
NOON = datetime.datetime(2020, 2, 2, 12)
UTC_NOON = NOON.replace(tzinfo=datetime.UTC)
SECOND = datetime.timedelta(seconds=1)
NAN = math.nan
LARGE = 2**63 + 1
MANY = tuple(range(-3, 40))
WORDS = tuple(f"a{one}" for one in range(40))

TABLE = pa.table(
    {
        "row": range(6),
        "i": pa.array([1, 2, None, 4, -5, 7], pa.int32()),
        "tiny": pa.array([1, 2, None, 4, -5, 127], pa.int8()),
        "u": pa.array([1, LARGE, None, 0, 5, 2**64 - 1], pa.uint64()),
        "x": [0.0, -0.0, None, NAN, -1.5, 2.5],
        "f": pa.array([0.0, -0.0, None, NAN, -1.5, 2.5], pa.float32()),
        "half": pa.array([0.0, -0.0, None, NAN, -1.5, 2.5], pa.float16()),
        "s": ["abc", "abd", None, "a%c", "it's\\", ""],
        "large": pa.array(["abc", "abd", None, "a%c", "it's\\", ""], pa.large_string()),
        "kind": pa.array(["red", "blue", None, "red", "green", "red"]).dictionary_encode(),
        "b": [True, False, None, True, False, True],
        "bytes": [b"abc", b"abd", None, b"a\xff", b"", b"z"],
        "d": pa.array(
            [Decimal(one) if one else None for one in ("1.5", "2", "", "-3.25", "4", ".1")], pa.decimal128(9, 2)
        ),
        "day": [DAY, DAY + datetime.timedelta(1), None, DAY, datetime.date(1970, 1, 1), datetime.date(1969, 12, 31)],
        "at": pa.array([NOON, NOON + SECOND, None, NOON, NOON - SECOND, None], pa.timestamp("us")),
        "zoned": pa.array([NOON, NOON + SECOND, None, NOON, NOON - SECOND, None], pa.timestamp("us", "UTC")),
        "clock": pa.array([datetime.time(1), datetime.time(2), None, datetime.time(3), None, None], pa.time64("us")),
        "list": [[1], [2], None, [], [1, None], [1]],
        "st": pa.array(
            [
                {"a": 0, "x": 0.0},
                {"a": 1, "x": NAN},
                None,
                {"a": None, "x": None},
                {"a": 4, "x": -0.0},
                {"a": 5, "x": 9.0},
            ],
            pa.struct([("a", pa.int64()), ("x", pa.float64())]),
        ),
    }
)
FRAME = pl.from_arrow(TABLE)
f, c = pc.field, pl.col


@dataclass(frozen=True)
class Question:
    """One predicate in each syntax that can say it.

    `sql`, `dnf`, `polars` are the predicate, None where it cannot be said. `nan` holds rows that engines have
    beyond pyarrow's, since NaN is the largest number to them; `dnf_rows` those of the tuples, which are pyarrow's own.
    `left` is "polars" where that gets nothing of it.
    """

    arrow: pc.Expression
    sql: str | None = None
    dnf: list[Any] | None = None
    polars: pl.Expr | None = None
    nan: tuple[int, ...] = ()
    dnf_rows: list[int] | None = None
    left: str = ""


def literal(name: str, value: Any) -> pa.Scalar:
    """Arrow compares no unsigned column with a signed literal where values are large."""
    return pa.scalar(value, pa.uint64() if name == "u" and value >= 0 else None)


def compared(name: str, op: str, value: Any, sql: str, **more: Any) -> Question:
    """One comparison of a column, in all syntaxes."""
    functions = {"=": "eq", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "!=": "ne"}
    ask = getattr(operator, functions[op])
    told = {
        "arrow": ask(f(name), literal(name, value)),
        "sql": sql,
        "dnf": [(name, op, value)],
        "polars": ask(c(name), value),
    }
    return Question(**(told | more))


def listed(name: str, values: tuple[Any, ...], *, sql: str | None, inside: bool = True, **more: Any) -> Question:
    """Membership in a list, in all syntaxes; pyarrow's answer is that of comparisons one by one."""
    arrow = reduce(operator.or_, [f(name) == literal(name, value) for value in values])
    polars = c(name).is_in(values)
    told = {"arrow": arrow, "dnf": [(name, "in", list(values))], "polars": polars}
    if not inside:
        told = {"arrow": ~arrow, "dnf": [(name, "not in", list(values))], "polars": ~polars}
    return Question(sql=sql, **(told | more))


def commas(values: tuple[Any, ...]) -> str:
    return ", ".join(map(repr, values))


QUESTIONS = {
    "integer": compared("i", "=", 1, "i = 1"),
    "less": compared("i", "<", 2, "i < 2"),
    "not equal": compared("i", "!=", 4, "i <> 4"),
    "literal first": Question(f("i") > 2, sql="2 < i", polars=pl.lit(2) < c("i")),
    "beyond the column's type": compared("tiny", "<", 1000, "tiny < 1000", left="polars"),
    "fraction of an integer": compared("i", ">", 1.5, "i > 1.5", left="polars"),
    "unsigned": compared("u", ">", 5, "u > 5", dnf=None),
    "unsigned, beyond signed": compared("u", "=", LARGE, f"u = {LARGE}", dnf=None),
    "unsigned above a negative": compared("u", ">", -1, "u > -1", arrow=f("u").is_valid(), dnf=None, left="polars"),
    "beyond signed": Question(f("i").is_valid(), sql=f"i < {LARGE}", polars=c("i") < LARGE, left="polars"),
    "unsigned in": listed(
        "u",
        (1, 2**64 - 1),
        sql=f"u IN (1, {2**64 - 1})",
        dnf=None,
    ),
    "between": Question(
        (f("i") >= 1) & (f("i") <= 4),
        sql="i BETWEEN 1 AND 4",
        dnf=[("i", ">=", 1), ("i", "<=", 4)],
        polars=c("i").is_between(1, 4),
    ),
    "not between": Question(
        ~((f("i") >= 1) & (f("i") <= 4)), sql="i NOT BETWEEN 1 AND 4", polars=~c("i").is_between(1, 4)
    ),
    "null literal": Question(
        pc.scalar(False),
        sql="i = NULL",
        polars=c("i") == pl.lit(None),
        left="polars",
    ),
    "is null": Question(f("i").is_null(), sql="i IS NULL", polars=c("i").is_null()),
    "is not null": Question(f("i").is_valid(), sql="i IS NOT NULL", polars=c("i").is_not_null()),
    "null-safe": Question(f("i").is_valid() & (f("i") == 1), sql="i = 1 AND i IS NOT NULL"),
    "or": Question(
        (f("i") == 1) | (f("s") == "abd"),
        sql="i = 1 OR s = 'abd'",
        dnf=[[("i", "=", 1)], [("s", "=", "abd")]],
        polars=(c("i") == 1) | (c("s") == "abd"),
    ),
    "and with null": Question(
        (f("i") > 0) & (f("x") <= 0),
        sql="i > 0 AND x <= 0",
        dnf=[("i", ">", 0), ("x", "<=", 0)],
        polars=(c("i") > 0) & (c("x") <= 0.0),
    ),
    "in": listed("i", (1, 4), sql="i IN (1, 4)"),
    # Of pyarrow's `is_in`, null is no member, so it satisfies "not in"; elsewhere it is neither.
    "not in": listed("i", (1, 4), inside=False, sql="i NOT IN (1, 4)", dnf_rows=[1, 2, 4, 5]),
    "in many": listed("i", MANY, sql=f"i IN ({commas(MANY)})"),
    "not in many": listed("i", MANY, inside=False, sql=f"i NOT IN ({commas(MANY)})", dnf_rows=[2, 4]),
    "in none": Question(pc.scalar(False), dnf=[("i", "in", [])], polars=c("i").is_in([]), left="polars"),
    "in null": listed("i", (1, None), sql="i IN (1, NULL)", arrow=f("i") == 1, dnf_rows=[0, 2], left="polars"),
    "not in null": Question(pc.scalar(False), sql="i NOT IN (1, NULL)"),
    "not in many and null": Question(pc.scalar(False), sql=f"i NOT IN ({commas(MANY)}, NULL)"),
    "beyond the column's type, in": listed("tiny", (1, 1000), sql="tiny IN (1, 1000)", left="polars"),
    "zero": compared("x", "=", 0.0, "x = 0"),
    "minus zero": compared("x", "=", -0.0, "x = -0.0"),
    "zeros in": listed("x", (0.0, 2.5), sql="x IN (0, 2.5)", dnf_rows=[0, 5]),
    "zeros in many": listed("x", tuple(map(float, MANY)), sql=f"x IN ({commas(MANY)})", dnf_rows=[0]),
    "above": compared("x", ">", 1.0, "x > 1", nan=(3,)),
    "at least": compared("x", ">=", 0.0, "x >= 0.0", nan=(3,)),
    "below": compared("x", "<", 0.0, "x < 0"),
    "not a number": Question(pc.is_nan(f("x")), sql="isnan(x)", polars=c("x").is_nan()),
    "a number": Question(~pc.is_nan(f("x")), sql="NOT isnan(x)", polars=c("x").is_not_nan()),
    "equal to nan": compared("x", "=", NAN, "x = CAST('nan' AS DOUBLE)", nan=(3,), left="polars"),
    "in nan": Question(
        f("x").isin([NAN, 2.5]), dnf=[("x", "in", [NAN, 2.5])], polars=c("x").is_in([NAN, 2.5]), left="polars"
    ),
    "large integer": Question(f("f") < 3e9, sql="f < 3000000000", polars=c("f") < 3000000000, left="polars"),
    "single": compared("f", "<=", -1.5, "f <= -1.5"),
    "half": Question(f("half").cast(pa.float32()) <= -1.5, sql="half <= -1.5", polars=c("half") <= -1.5, left="polars"),
    "half in": Question(
        f("half").cast(pa.float32()) == 0, sql="half IN (0, 7)", polars=c("half").is_in([0.0, 7.0]), left="polars"
    ),
    "text": compared("s", "=", "abc", "s = 'abc'"),
    "text after": compared("s", ">", "abc", "s > 'abc'"),
    "large text": compared("large", "=", "abc", "large = 'abc'"),
    "text in": listed("s", ("abc", ""), sql="s IN ('abc', '')"),
    "text in many": listed("s", (*WORDS, "abd"), sql=f"s IN ({commas((*WORDS, 'abd'))})"),
    "prefix": Question(
        pc.starts_with(f("s"), "ab"),
        sql="s LIKE 'ab%'",
        polars=c("s").str.starts_with("ab"),
    ),
    "suffix": Question(
        pc.ends_with(f("s"), "c"),
        sql="s LIKE '%c'",
        polars=c("s").str.ends_with("c"),
    ),
    "part": Question(
        pc.match_substring(f("large"), "%"),
        sql="large LIKE '%!%%' ESCAPE '!'",
        polars=c("large").str.contains("%", literal=True),
    ),
    "not a prefix": Question(
        ~pc.starts_with(f("s"), "ab"),
        sql="s NOT LIKE 'ab%'",
        polars=~c("s").str.starts_with("ab"),
    ),
    "pattern": Question(
        pc.match_like(f("s"), "a_c"), sql="s LIKE 'a_c'", polars=c("s").str.contains("^a.c$"), left="polars"
    ),
    "dictionary": compared("kind", "=", "red", "kind = 'red'", left="polars"),
    "dictionary in": listed("kind", ("red", "green"), sql="kind IN ('red', 'green')", left="polars"),
    "dictionary not in many": listed(
        "kind",
        (*WORDS, "red"),
        inside=False,
        sql=f"kind NOT IN ({commas((*WORDS, 'red'))})",
        dnf_rows=[1, 2, 4],
        left="polars",
    ),
    "prefix of dictionary": Question(
        pc.starts_with(f("kind").cast(pa.string()), "re"),
        sql="kind LIKE 're%'",
    ),
    "flag": Question(f("b"), sql="b", dnf=[("b", "=", True)], polars=c("b")),
    "no flag": Question(~f("b"), sql="NOT b", dnf=[("b", "=", False)], polars=~c("b")),
    "bytes": compared("bytes", "=", b"abc", "bytes = 'abc'"),
    "bytes after": compared("bytes", ">", b"abd", "bytes > CAST('abd' AS BINARY)"),
    "bytes in": listed("bytes", (b"abc", b"z"), sql="bytes IN ('abc', 'z')"),
    "decimal": compared("d", "=", Decimal("0.10"), "d = 0.1"),
    "decimal of more digits": compared("d", ">", Decimal("1.505"), "d > 1.505", left="polars"),
    "decimal in": listed("d", (Decimal("2.00"), Decimal("1.50")), sql="d IN (2, 1.5)"),
    "decimal in many": listed("d", tuple(Decimal(one) for one in MANY), sql=f"d IN ({commas(MANY)})"),
    "day": compared("day", "=", DAY, "day = '2020-02-02'"),
    "before a day": compared("day", "<", datetime.date(1970, 1, 1), "day < DATE '1970-01-01'"),
    "day in": listed("day", (DAY, datetime.date(1970, 1, 1)), sql="day IN ('2020-02-02', '1970-01-01')"),
    "moment": compared("at", "=", NOON, "at = '2020-02-02 12:00:00'"),
    "moment in": listed("at", (NOON, NOON + SECOND), sql="at IN ('2020-02-02 12:00:00', '2020-02-02 12:00:01')"),
    "zoned": compared("zoned", ">", UTC_NOON, "zoned > '2020-02-02 13:00:00+01:00'"),
    "zoned in": listed(
        "zoned",
        (UTC_NOON, UTC_NOON - SECOND),
        sql="zoned IN ('2020-02-02 12:00:00', '2020-02-02 11:59:59Z')",
    ),
    "clock": compared("clock", ">=", datetime.time(2), "clock >= '02:00:00'", left="polars"),
    "nested": Question(f("st", "a") > 1, sql="st.a > 1", polars=c("st").struct.field("a") > 1),
    "nested null": Question(
        f("st", "a").is_null(),
        sql="st.a IS NULL",
        polars=c("st").struct.field("a").is_null(),
    ),
    "nested zeros": Question(
        f("st", "x") == 0,
        sql="st.x IN (0, 7.5)",
        polars=c("st").struct.field("x").is_in([0.0, 7.5]),
    ),
    "list": Question(pc.list_value_length(f("list")) > 1, polars=c("list") == [1, None], left="polars"),
    "null struct": Question(f("st").is_null(), sql="st IS NULL", polars=c("st").is_null()),
}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> LanceDataset:
    path = tmp_path_factory.mktemp("syntaxes") / "file.lance"
    write_table(TABLE, path, rows_per_zone=2)
    return lance_arrow.dataset(path)


def rows_of(expression: pc.Expression, dataset: LanceDataset) -> list[int]:
    """Rows that satisfy an expression: the same in memory, and of a file by zone maps."""
    mask = evaluated(expression, TABLE.to_batches()[0]).to_pylist()
    rows = [number for number, is_in in enumerate(mask) if is_in]
    assert dataset.to_table(columns=["row"], filter=expression)["row"].to_pylist() == rows
    return rows


@pytest.mark.parametrize("name", QUESTIONS)
def test_sql_and_tuples(name: str, dataset: LanceDataset) -> None:
    question = QUESTIONS[name]
    rows = rows_of(question.arrow, dataset)
    if question.sql is not None:
        assert rows_of(as_expression(question.sql, TABLE.schema), dataset) == rows
    if question.dnf is not None:
        wanted = rows if question.dnf_rows is None else question.dnf_rows
        assert rows_of(as_expression(question.dnf, TABLE.schema), dataset) == wanted


@pytest.mark.parametrize("name", [name for name, one in QUESTIONS.items() if one.polars is not None])
def test_polars(name: str, dataset: LanceDataset) -> None:
    question = QUESTIONS[name]
    rows = sorted([*rows_of(question.arrow, dataset), *question.nan])
    assert FRAME.filter(question.polars)["row"].to_list() == rows
    pushed = arrow_filter(question.polars, TABLE.schema)
    assert (pushed is None) == ("polars" in question.left)
    if pushed is not None:
        assert rows_of(pushed, dataset) == rows


@pytest.mark.parametrize("name", ["in many", "text in many"])
def test_the_file_pruner_knows_lookups(name: str) -> None:
    question = QUESTIONS[name]
    assert question.polars is not None
    said = (
        as_expression(question.sql, TABLE.schema),
        arrow_filter(question.polars, TABLE.schema),
    )
    for one in said:
        plan = FilterPlan(one, TABLE.schema)
        assert plan.predicate is not None
        assert plan.predicate.calls("is_in")
        assert len(plan.predicate.program.fields) == 1
        assert not plan.predicate.calls("if_else")


def test_what_no_syntax_knows() -> None:
    """SQL refuses, or leaves names to the scan, which refuses them; engines filter by it themselves."""
    with pytest.raises(InvalidArgumentError, match="several types"):
        as_expression("i IN (1, 'x')", TABLE.schema)
    unknown = as_expression("nope = 1", TABLE.schema)
    with pytest.raises(InvalidArgumentError, match="there is no column 'nope'"):
        FilterPlan(unknown, TABLE.schema)
    assert arrow_filter(c("nope") == 1, TABLE.schema) is None


def test_integers_beyond_64_bits() -> None:
    assert arrow_filter(c("i") > pl.lit(2**100), TABLE.schema) is None
    with pytest.raises(InvalidArgumentError, match="not a list of tuples"):
        as_expression([("u", "=", 2**64)], TABLE.schema)
