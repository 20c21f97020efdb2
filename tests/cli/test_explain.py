"""`explain`: the plan as text, JSON and a page; what the scan did read agrees with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from html_pages import Page, check_is_alone

import lance_arrow
from lance_arrow import LanceTable, write_table

ROWS, ZONE = 6000, 500
TABLE = pa.table(
    {
        "sorted": np.arange(ROWS),
        "mixed": np.random.default_rng(7).permutation(ROWS),
        "word": [f"<b>{n % 7}</b>" for n in range(ROWS)],
        "tags": [["x"]] * ROWS,
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    write_table(TABLE, folder / "f.lance", rows_per_zone=ZONE)
    table = LanceTable.create(folder / "t", TABLE, rows_per_zone=ZONE, max_rows_per_file=2000)
    table.delete("sorted = 3000")
    return folder


def page_of(command: Callable[..., Any], *arguments: object) -> Page:
    outcome = command("explain", "--html", *arguments)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.isascii()
    check_is_alone(outcome.out)
    return Page(outcome.out)


@pytest.mark.parametrize("name", ["f.lance", "t"])
def test_plan_and_receipt_agree(command: Callable[..., Any], folder: Path, name: str) -> None:
    outcome = command(
        "explain", folder / name, "--filter", "sorted >= 2600 AND sorted < 3400", "-c", "word", "--run", "--json"
    )
    found = outcome.document
    files, read = found["plan"]["files"], found["read"]
    assert sum(one["zones"] for one in files) == ROWS // ZONE
    assert sum(one["zones"] - one["zones_pruned"] for one in files) == read["zones_read"] == 2
    assert read["rows"] == (800 if name == "f.lance" else 799)
    assert sum(one["rows_to_read"] for one in files) == (1000 if name == "f.lance" else 999)
    assert read["decoded_rows"]["sorted"] >= 999
    assert read["fetched_bytes"] > 0
    # Beside those for pages, the ends of files are read.
    planned = sum(one["requests"] for one in files)
    assert 0 < planned <= read["requests"] <= planned + 4


def test_text(command: Callable[..., Any], folder: Path) -> None:
    outcome = command("explain", folder / "t", "--filter", "mixed = 5 AND abs(sorted) > 7")
    assert outcome.code == 0
    assert "condition (mixed == 5): prunes " in outcome.out
    assert "not an order-preserving expression" in outcome.out
    assert "rows decoded" not in outcome.out
    outcome = command("explain", folder / "t", "--filter", "mixed = 5", "--run")
    assert "read: 1 row in" in outcome.out
    assert "rows decoded: mixed " in outcome.out


@pytest.mark.parametrize("name", ["f.lance", "t"])
def test_zones_that_are_left_out_are_pale(command: Callable[..., Any], folder: Path, name: str) -> None:
    page = page_of(command, folder / name, "--filter", "sorted < 700")
    zones = page.with_tag("rect")
    assert len(zones) == ROWS // ZONE
    assert [one.get("class") for one in zones] == [None, None, *["pale"] * 10]
    assert "The filter reads 2 of 12 zones." in page.text
    assert "1,000 of " in page.text
    assert "What the scan did read" not in page.text


def test_bars_have_the_rows_that_are_read(command: Callable[..., Any], folder: Path) -> None:
    page = page_of(command, folder / "f.lance", "--filter", "sorted >= 1000 AND sorted < 1500")
    titles = [attributes.get("title") for attributes in page.with_tag("i") if attributes.get("title")]
    assert titles == ["rows 0 to 1,000: left out", "rows 1,000 to 1,500: read", "rows 1,500 to 6,000: left out"]
    page = page_of(command, folder / "t", "--filter", "sorted < 100")
    assert [name for name in page.names if name.startswith("fragment")] == ["fragment 0", "fragment 1", "fragment 2"]
    page = page_of(command, folder / "f.lance", "--filter", "sorted < 100")
    assert [name for name in page.names if name.endswith(".lance")] == ["f.lance"]


def test_a_page_after_the_scan(command: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    outcome = command("explain", folder / "t", "-f", "word = '<b>3</b>'", "--html", "--run", "-o", target)
    assert (outcome.code, outcome.err) == (0, "")
    assert str(target) in outcome.out
    text = target.read_text()
    check_is_alone(text)
    page = Page(text)
    expected = lance_arrow.dataset(folder / "t").count_rows("word = '<b>3</b>'")
    assert f"{expected:,} rows in" in page.text
    assert "rows decoded of word" in page.text
    assert "<b>3" in page.text
    assert not page.with_tag("b")


def test_without_a_filter_and_with_one_that_has_no_zones(command: Callable[..., Any], folder: Path) -> None:
    assert "every row is read" in page_of(command, folder / "f.lance").text
    page = page_of(command, folder / "f.lance", "--filter", "tags IS NOT NULL")
    assert page.with_tag("rect") == []
    assert "no zone maps that can be drawn" in page.text


def test_what_is_damaged_has_a_page(command: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    content = (folder / "f.lance").read_bytes()
    zeroed = content[:64] + bytes(4032) + content[4096:]
    for name, damaged, run in (("cut", content[:-20], []), ("pages", zeroed, ["--run"])):
        path = tmp_path / f"{name}.lance"
        path.write_bytes(damaged)
        outcome = command("explain", path, "--filter", "sorted < 700", "--html", *run)
        assert outcome.code == 1
        check_is_alone(outcome.out)
        page = Page(outcome.out)
        assert "What is wrong" in page.text
        assert "Corrupt" in page.text
        assert ("The filter reads 2 of 12 zones." in page.text) == (name == "pages")
        assert "What the scan did read" not in page.text
        # Without a page, the message is the answer.
        assert (command("explain", path, "--filter", "sorted < 700", *run).out, outcome.err) == ("", "")


def test_versions_and_folders(command: Callable[..., Any], folder: Path, tmp_path: Path) -> None:
    first = command("explain", folder / "t", "--version", 1, "--json").document
    assert sum(one["num_rows"] for one in first["plan"]["files"]) == ROWS
    for number in range(2):
        write_table(TABLE, tmp_path / f"{number}.lance", rows_per_zone=ZONE)
    found = command("explain", tmp_path, "--filter", "sorted < 10", "--json").document
    assert [one["rows_to_read"] for one in found["plan"]["files"]] == [ZONE, ZONE]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--filter", "missing = 1"], 1, "missing"),
        (["--columns", "missing"], 1, "missing"),
        (["--output", "page.html"], 2, "add --html"),
        (["--version", "1"], 1, "choose a version of a table"),
    ],
)
def test_what_is_refused(
    command: Callable[..., Any], folder: Path, arguments: list[str], code: int, words: str
) -> None:
    outcome = command("explain", folder / "f.lance", *arguments)
    assert outcome.code == code
    assert words in outcome.err


def test_other_files_are_not_replaced(command: Callable[..., Any], folder: Path) -> None:
    before = (folder / "f.lance").read_bytes()
    outcome = command("explain", folder / "f.lance", "--html", "-o", folder / "f.lance")
    assert outcome.code == 1
    assert (folder / "f.lance").read_bytes() == before
