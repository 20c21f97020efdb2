"""Tables as lines: one block where they fit, folded cells, blocks of columns; never wider than the output."""

from __future__ import annotations

import pytest

from lance_arrow.cli.layout import Line, display_width, lay_out


def texts(lines: object) -> list[str]:
    return [line.text for line in lines]


def test_a_table_that_fits_is_one_block() -> None:
    lines = list(lay_out(["n", "name"], [["1", "one"], ["20", "twenty"]], right={0}, width=80))
    assert lines == [Line(" n  name", is_heading=True), Line(" 1  one"), Line("20  twenty")]


def test_without_a_width_no_line_is_cut_or_folded() -> None:
    (heading, row) = texts(lay_out([f"c{at}" for at in range(100)], [["x" * 50] * 100]))
    assert len(row) == 100 * 50 + 99 * 2
    assert heading.split() == [f"c{at}" for at in range(100)]


def test_long_cells_are_folded_where_columns_keep_20_characters() -> None:
    sentence = "a sentence of several words that goes on for longer than the line has room for"
    lines = texts(lay_out(["id", "text", "n"], [["1", sentence, "7"]], right={2}, width=40))
    assert lines == [
        "id  text                               n",
        "1   a sentence of several words that   7",
        "    goes on for longer than the line",
        "    has room for",
    ]


def wide(num_rows: int) -> tuple[list[str], list[list[str]]]:
    return [f"column_{at}" for at in range(16)], [[f"{at}.{row}" for at in range(16)] for row in range(num_rows)]


@pytest.mark.parametrize("width", [12, 25, 80, 100])
def test_blocks_hold_every_cell_once_and_no_line_is_too_wide(width: int) -> None:
    columns, rows = wide(3)
    lines = list(lay_out(columns, rows, leading=0, numbered="row", width=width))
    assert all(display_width(line.text) <= width for line in lines)
    # Where a heading is folded, its other lines begin with a space.
    assert {line.text[:3] for line in lines if line.is_heading} <= {"row", "   "}
    found = [cell for line in lines if not line.is_heading for cell in line.text.split()[1:]]
    assert sorted(found) == sorted(cell for row in rows for cell in row)


def test_the_leading_columns_are_in_each_block() -> None:
    lines = list(lay_out(["key", *(f"c{at}" for at in range(6))], [["k", *["x" * 10] * 6]], leading=1, width=30))
    assert texts(lines) == [
        "key  c0          c1",
        "k    xxxxxxxxxx  xxxxxxxxxx",
        "",
        "key  c2          c3",
        "k    xxxxxxxxxx  xxxxxxxxxx",
        "",
        "key  c4          c5",
        "k    xxxxxxxxxx  xxxxxxxxxx",
    ]


def test_the_blocks_of_20_rows_stay_together() -> None:
    columns, rows = wide(45)
    lines = texts(lay_out(columns, rows, leading=0, numbered="row", width=80))
    first = [int(line.split()[0]) for line in lines if line and not line.startswith("row")]
    assert first == [*[*range(20)] * 3, *[*range(20, 40)] * 3, *[*range(40, 45)] * 3]


def test_widths_are_those_of_a_terminal() -> None:
    assert [display_width(text) for text in ("abc", "日本", "e\u0301", "é")] == [3, 4, 1, 1]
    assert texts(lay_out(["a", "b"], [["日本", "x"], ["abcd", "y"]])) == ["a     b", "日本  x", "abcd  y"]
    folded = texts(lay_out(["a"], [["日本語日本語"]], width=5))
    assert folded == ["a", "日本", "語日", "本語"]


def test_tables_without_rows_or_columns() -> None:
    assert texts(lay_out(["a", "b"], [])) == ["a  b"]
    assert texts(lay_out([f"column_{at}" for at in range(9)], [], width=20))[0].startswith("column_0")
    assert texts(lay_out([], [])) == []
    assert texts(lay_out([], [], leading=0, numbered="row", width=80)) == []


@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_line_of_almost_no_width_still_ends(width: int) -> None:
    columns, rows = wide(2)
    assert texts(lay_out(columns, rows, leading=0, numbered="row", width=width))
    assert texts(lay_out(columns, rows, leading=2, width=width))
