"""Conditions on strings as ranges of bytes: what they are, and rows that native code finds by them."""

from __future__ import annotations

from functools import reduce
from operator import or_
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from same import assert_same
from values import seeded

import lance_arrow
from lance_arrow import LanceFile, LanceTable, write_table
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.scan.filters.text_ranges import text_ranges
from lance_arrow.scan.filters.text_searches import text_search
from lance_arrow.spi import ReadReport

F = pc.field
TEXT = F("text")


MANY = [f"{one:02}" for one in range(0, 40, 2)]


def ranges(part: pc.Expression, type_: pa.DataType | None = None) -> object:
    schema = pa.schema([("text", type_ or pa.string())])
    return text_ranges(native_expressions, schema, "text", native_expressions.bind(part, schema))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TEXT == "b", [(b"b", b"b\0")]),
        (TEXT != "b", [(b"", b"b"), (b"b\0", None)]),
        (TEXT < "b", [(b"", b"b")]),
        (TEXT <= "b", [(b"", b"b\0")]),
        (TEXT > "b", [(b"b\0", None)]),
        ((TEXT >= "b") & (TEXT < "d"), [(b"b", b"d")]),
        (TEXT.isin(["d", "b", "b\0", None]), [(b"b", b"b\0\0"), (b"d", b"d\0")]),
        (pc.starts_with(TEXT, "ab"), [(b"ab", b"ac")]),
        (pc.starts_with(TEXT, ""), [(b"", None)]),
        (pc.match_like(TEXT, "ab%"), [(b"ab", b"ac")]),
        (pc.match_like(TEXT, "ab"), [(b"ab", b"ab\0")]),
        (pc.match_like(TEXT, "%"), [(b"", None)]),
        (pc.starts_with(TEXT, "a\ud7ff"), [("a\ud7ff".encode(), "a\ue000".encode())]),
        (pc.starts_with(TEXT, "a\U0010ffff"), [("a\U0010ffff".encode(), b"b")]),
        (pc.starts_with(TEXT, "\U0010ffff"), [("\U0010ffff".encode(), None)]),
        (~pc.starts_with(TEXT, "ab") | (TEXT == "abc"), [(b"", b"ab"), (b"abc", b"abc\0"), (b"ac", None)]),
        (TEXT.is_valid(), [(b"", None)]),
        (TEXT.is_null(), []),
        (pc.starts_with(TEXT, "ab", ignore_case=True), None),
        (pc.match_like(TEXT, "%ab"), None),
        (pc.match_like(TEXT, "a_b%"), None),
        (pc.ends_with(TEXT, "ab"), None),
        (pc.utf8_length(TEXT) == 3, None),
        (F("text") == TEXT, None),
        (TEXT.isin(["38", "36"] * 5 + MANY), [(one.encode(), one.encode() + b"\0") for one in MANY]),
        (TEXT.isin([str(one) for one in range(70_000)]), None),
    ],
    ids=str,
)
def test_conditions_are_ranges(part: pc.Expression, expected: object) -> None:
    assert ranges(part) == expected


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (pc.match_substring(TEXT, "ab"), (b"ab", True, False)),
        (~pc.match_substring(TEXT, "ab"), (b"ab", False, True)),
        (pc.match_like(TEXT, "%ä%"), ("ä".encode(), True, False)),
        (pc.match_like(TEXT, "%%a%"), (b"a", True, False)),
        (pc.match_substring(TEXT, "a%_\\"), (b"a%_\\", True, False)),
        (pc.match_substring(TEXT, "ab") | TEXT.is_null(), (b"ab", True, False)),
        (pc.match_substring(TEXT, "ab", ignore_case=True), None),
        (pc.match_substring(TEXT, ""), None),
        (pc.match_like(TEXT, "%"), None),
        (pc.match_like(TEXT, "%%"), None),
        (pc.match_like(TEXT, "%a_b%"), None),
        (pc.match_like(TEXT, "%a\\%"), None),
        (pc.match_like(TEXT, "a%"), None),
        (pc.match_substring(TEXT, "a") & pc.match_substring(TEXT, "b"), None),
        (pc.match_substring(TEXT, "a") | (TEXT == "b"), None),
        (pc.match_substring_regex(TEXT, "a"), None),
    ],
    ids=str,
)
def test_conditions_look_for_parts(part: pc.Expression, expected: object) -> None:
    schema = pa.schema([("text", pa.string())])
    assert text_search(native_expressions, schema, "text", native_expressions.bind(part, schema)) == expected


def test_bytes_have_ranges(tmp_path: Path) -> None:
    assert ranges(F("text") >= pa.scalar(b"\xff\x00", pa.binary()), pa.binary()) == [(b"\xff\x00", None)]


ROWS = 40_000
CONDITIONS = {
    "one": TEXT == "word 17 of 500 and some more text",
    "absent": TEXT == "word 17",
    "beginning": pc.starts_with(TEXT, "word 17"),
    "pattern": pc.match_like(TEXT, "word 4%"),
    "range": (TEXT >= "word 2") & (TEXT < "word 30"),
    "set": TEXT.isin(["word 3 of 500 and some more text", "word 499 of 500 and some more text", "", None]),
    "not": TEXT != "word 17 of 500 and some more text",
    "null": TEXT.is_null() | (TEXT < "word 1"),
    "two columns": pc.starts_with(TEXT, "word 1") & (F("n") < 90),
    "either": (TEXT == "") | (F("n") == 3),
    "umlaut": TEXT > "z",
    "many": TEXT.isin([f"word {one} of 500 and some more text" for one in range(0, 400, 3)] + ["", "a", "ä", None]),
    "not of many": ~TEXT.isin([f"word {one} of 500 and some more text" for one in range(400)]),
    "part": pc.match_substring(TEXT, "99"),
    "long part": pc.match_like(TEXT, "%of 500 and some%"),
    "no part": ~pc.match_like(TEXT, "%7%") | TEXT.is_null(),
    "a part, or null": pc.match_substring(TEXT, "d 17 ") | TEXT.is_null(),
    "part of two texts": pc.match_substring(TEXT, "textword"),
    "many beginnings": reduce(or_, [pc.starts_with(TEXT, f"word {one}") for one in range(10, 90, 4)]),
}


@pytest.fixture(scope="module")
def table() -> pa.Table:
    rng = seeded("texts")
    texts = np.array([f"word {one} of 500 and some more text" for one in range(500)] + ["", "ä", "zz\0"], object)
    picked = texts[rng.integers(0, len(texts), ROWS)]
    # Rows that are different each: no dictionary.
    unique = [f"{text}{number if number % 3 else ''}" for number, text in enumerate(picked)]
    holes = rng.random(ROWS) < 0.1
    return pa.table({
        "text": pa.array(np.where(rng.random(ROWS) < 0.5, picked, np.array(unique, object)), pa.string(), mask=holes),
        "n": rng.integers(0, 100, ROWS),
        "x": rng.normal(size=ROWS),
    })  # fmt: skip


@pytest.fixture(scope="module", params=["fsst", "variable", "zstd", "dictionary", "2.0", "compact"])
def path(request: pytest.FixtureRequest, table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("texts") / "file.lance"
    options: dict[str, dict[str, str]] = {"text": {}}
    if request.param in ("fsst", "variable", "dictionary"):
        options["text"] = {"codec": request.param}
    elif request.param == "zstd":
        options["text"] = {"compression": "zstd"}
    version = "2.0" if request.param == "2.0" else "2.2"
    preset = "compact" if request.param == "compact" else "default"
    write_table(
        table, made, rows_per_zone=None, column_options=options, file_version=version, preset=preset, page_bytes=200_000
    )
    return made


@pytest.mark.cover(1)
@pytest.mark.parametrize("name", CONDITIONS)
def test_rows_are_those_that_arrow_finds(path: Path, table: pa.Table, name: str) -> None:
    condition = CONDITIONS[name]
    expected = table.filter(condition)
    with LanceFile(path) as file, LanceFile(path, memory_map=True) as mapped:
        for opened in (file, mapped):
            assert_same(expected, opened.read(filter=condition))
            assert_same(expected.select(["x"]), opened.read(["x"], filter=condition))
            assert_same(expected.select(["text"]), opened.read(["text"], filter=condition))
            assert opened.count_rows(condition) == expected.num_rows
    dataset = lance_arrow.dataset(path)
    assert_same(expected, dataset.to_table(filter=condition))
    assert dataset.count_rows(filter=condition) == expected.num_rows


@pytest.mark.parametrize("name", ["one", "beginning", "null"])
def test_tables_find_them_after_deletions(table: pa.Table, tmp_path: Path, name: str) -> None:
    made = LanceTable.create(tmp_path / "table", table.slice(0, ROWS // 2))
    made.append(table.slice(ROWS // 2))
    made.delete("n = 7")
    expected = table.filter((F("n") != 7) & CONDITIONS[name].cast(pa.bool_()))
    opened = LanceTable.open(tmp_path / "table")
    assert_same(expected, opened.to_table(filter=CONDITIONS[name]))
    assert opened.count_rows(CONDITIONS[name]) == expected.num_rows


def test_few_values_are_decoded(table: pa.Table, tmp_path: Path, receipts: list[ReadReport]) -> None:
    """A column that is wanted along with others is compared where it lies, and decoded where rows are left."""
    write_table(table, tmp_path / "file.lance", rows_per_zone=None, column_options={"text": {"codec": "fsst"}})
    with LanceFile(tmp_path / "file.lance") as file:
        found = file.read(filter=CONDITIONS["one"])
    assert 0 < found.num_rows < 100
    assert receipts[-1].decoded_rows["text"] == ROWS + found.num_rows
