"""Pages of `inspect --html`: what is on them, that they are whole, small, safe, and made of damaged files, too."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from html_pages import Page, check_is_alone

from lance_arrow import LanceFile, LanceTable, write_table
from lance_arrow.cli.file_view import view_file
from lance_arrow.cli.pages.page_parts import MAX_ROWS, MAX_SEGMENTS
from lance_arrow.cli.pages.zone_ranges import draw, zone_ranges
from lance_arrow.cli.render import print_text
from lance_arrow.cli.stats_view import read_zone_maps, view_stats, view_zones
from lance_arrow.errors import CorruptFileError

ROWS, ZONE = 6000, 500
HOSTILE = "</style><script>alert(1)</script>\"'&\x1b[31m\u202e"
MOST_BYTES = 1 << 20


def table() -> pa.Table:
    shuffled = np.random.default_rng(42).permutation(ROWS)
    return pa.table(
        {
            "sorted": pa.array(range(ROWS), pa.int64()),
            "shuffled": pa.array(shuffled, pa.int64()),
            "word": [f"word {i % 7}" for i in range(ROWS)],
            "s": [{"a": i / 3, "b": [i] * (i % 3)} for i in range(ROWS)],
            "nothing": pa.nulls(ROWS, pa.float64()),
        }
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("pages") / "file.lance"
    write_table(table(), target, rows_per_zone=ZONE)
    return target


def page_of(command: Callable[..., Any], *arguments: object, code: int = 0) -> Page:
    outcome = command("inspect", "--html", *arguments)
    assert (outcome.code, outcome.err) == (code, "")
    assert len(outcome.out) < MOST_BYTES
    assert outcome.out.isascii()
    check_is_alone(outcome.out)
    return Page(outcome.out)


def test_bytes_of_all_columns(command: Callable[..., Any], path: Path) -> None:
    page = page_of(command, path)
    report = view_file(path)
    assert {column.path for column in report.columns} <= set(page.names)
    assert sum(page.num_bytes) == path.stat().st_size
    by_name = dict(zip(page.names, page.num_bytes, strict=True))
    assert {column.path: column.size_bytes for column in report.columns}.items() <= by_name.items()
    assert page.num_bytes[: len(report.columns)] == sorted((one.size_bytes for one in report.columns), reverse=True)
    titles = [attributes.get("title") or "" for attributes in page.with_tag("i")]
    for column in report.columns:
        for one in (page for page in column.pages if page.size_bytes):
            assert any(
                title.startswith(f"page {one.number}: {one.num_rows:,} rows, {one.size_bytes:,} B") for title in titles
            )


def test_zones_show_why_a_filter_prunes(command: Callable[..., Any], path: Path) -> None:
    zones = ROWS // ZONE
    page = page_of(command, path, "--columns", "sorted")
    assert f"must read 1.0 of {zones} zones on average: the less" in page.text
    rectangles = [
        {key: float(one[key] or "") for key in ("x", "y", "width", "height")} for one in page.with_tag("rect")
    ]
    assert len(rectangles) == zones
    for before, after in itertools.pairwise(rectangles):
        assert after["x"] == pytest.approx(before["x"] + before["width"], abs=0.2)
        assert after["y"] + after["height"] < before["y"]
    page = page_of(command, path, "--columns", "shuffled")
    told = re.search(r"must read ([\d.]+) of 12 zones on average", page.text)
    assert told is not None
    lows, highs = (
        np.array([how(table()["shuffled"][at : at + ZONE].to_numpy()) for at in range(0, ROWS, ZONE)])
        for how in (np.min, np.max)
    )
    bounds = np.unique([lows, highs])
    assert float(told[1]) == pytest.approx(
        np.mean([((lows <= one) & (one <= highs)).sum() for one in bounds]), abs=0.06
    )
    tops = [float(one["height"] or "") for one in page.with_tag("rect")]
    assert sum(tops) > 5 * 95


def test_zones_without_a_value_are_not_drawn(command: Callable[..., Any], path: Path) -> None:
    page = page_of(command, path, "--columns", "nothing")
    assert "12 zones without a value" in page.text
    # The page's own sentences are whole.
    assert "…" not in page.text
    assert page.with_tag("rect") == []


def test_a_page_is_written_where_asked(command: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    for _ in range(2):
        outcome = command("inspect", path, "--html", "-o", target)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith(f"{path} -> {target}: ")
    assert Page(target.read_text()).names == page_of(command, path).names
    document = command("inspect", path, "--html", "--json", "-o", target).document
    assert (document["size_bytes"], document["problems"], document["html"]) == (target.stat().st_size, [], None)


def test_nothing_but_a_page_is_replaced(command: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.lance"
    kept.write_bytes(path.read_bytes())
    outcome = command("inspect", path, "--html", "-o", kept)
    assert outcome.code == 1
    assert "is not an HTML page" in outcome.err
    assert kept.read_bytes() == path.read_bytes()


def test_wrong_usage(command: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    outcome = command("inspect", path, "-o", tmp_path / "page.html")
    assert (outcome.code, "add --html" in outcome.err) == (2, True)
    assert command("inspect", "--html", tmp_path / "absent.lance").code == 1
    assert "there is no column 'absent'" in command("inspect", "--html", path, "-c", "absent").err
    assert command("inspect", "--html", tmp_path).code == 1


def test_hostile_names_are_text(command: Callable[..., Any], tmp_path: Path) -> None:
    target = tmp_path / "<b>&hostile.lance"
    write_table(pa.table({HOSTILE: range(100), "x" * 5000: range(100)}), target, rows_per_zone=50)
    page = page_of(command, target)
    assert any("</style><script>alert(1)</script>\"'&\\x1b[31m\\u202e" in word for word in page.words)
    assert "\x1b" not in page.text
    assert "<b>&hostile.lance" in page.text
    assert max(map(len, page.names)) < 200
    made = LanceTable.create(tmp_path / "table", pa.table({HOSTILE: range(10)}), message=HOSTILE)
    assert "</script>" in page_of(command, made.uri).text


def test_thousands_of_columns_and_pages(command: Callable[..., Any], tmp_path: Path) -> None:
    columns, rows = 2000, 40
    target = tmp_path / "wide.lance"
    write_table(pa.table({f"c{i}": pa.array(range(rows), pa.int64()) for i in range(columns)}), target)
    page = page_of(command, target)
    assert f"… and {columns - MAX_ROWS:,} more columns" in page.names
    assert sum(page.num_bytes) == target.stat().st_size
    names = [f"{'<' * 200}{i}" for i in range(MAX_ROWS + 1)]
    widest = tmp_path / "widest.lance"
    values = np.random.default_rng(1).integers(0, 1 << 40, (len(names), 4500))
    write_table(pa.table(dict(zip(names, values, strict=True))), widest, page_bytes=1024, rows_per_zone=128)
    page = page_of(command, widest)
    assert "… and 1 more columns" in page.names
    assert sum(page.num_bytes) == widest.stat().st_size
    long = tmp_path / "long.lance"
    write_table(table(), long, page_bytes=256, rows_per_zone=64)
    report = view_file(long)
    assert max(len(column.pages) for column in report.columns) > 2 * MAX_SEGMENTS
    page = page_of(command, long)
    assert sum(page.num_bytes) == long.stat().st_size
    assert len(page.with_tag("i")) <= (MAX_SEGMENTS + 1) * (len(report.columns) + 1)
    # Twice the zones of the file, as of a table of two fragments.
    [(leaf, zone_map)] = read_zone_maps(long, columns=["sorted"], most=9, storage_options=None, problems=[])
    assert zone_map is not None
    ranges = zone_ranges(leaf.path, "int64", 2 * report.num_rows, [(0, zone_map), (report.num_rows, zone_map)])
    assert ranges is not None
    assert ranges.num_zones == 2 * zone_map.num_zones > 120
    assert ranges.zones_per_value() == 2
    picture = Page(draw(ranges))
    assert "each rectangle is up to 2 zones" in picture.text
    widths = [float(one["width"] or "") for one in picture.with_tag("rect")]
    assert len(widths) == zone_map.num_zones
    assert sum(widths) == pytest.approx(1000, abs=len(widths) / 20)


def with_broken_column(path: Path, target: Path, number: int) -> Path:
    """Overwrite the metadata of one column."""
    data = bytearray(path.read_bytes())
    at = view_file(path).footer.column_table_position + 16 * number
    first, length = (int.from_bytes(data[start : start + 8], "little") for start in (at, at + 8))
    data[first : first + length] = b"\xff" * length
    target.write_bytes(data)
    return target


def test_a_broken_column_is_located(command: Callable[..., Any], path: Path, tmp_path: Path) -> None:
    broken = with_broken_column(path, tmp_path / "broken.lance", 1)
    report = view_file(path)
    page = page_of(command, broken, code=1)
    assert "What is wrong" in page.text
    names = [column.path for column in report.columns]
    assert names[1] not in page.names
    assert {*names[:1], *names[2:]} <= set(page.names)
    assert f"column {names[1]}" in page.text
    with pytest.raises(CorruptFileError) as raised:
        view_file(broken)
    assert raised.value.message in page.text
    assert sum(page.num_bytes) == broken.stat().st_size


@pytest.mark.parametrize("damage", ["cut", "footer", "empty", "text"])
def test_a_file_that_cannot_be_opened(command: Callable[..., Any], path: Path, tmp_path: Path, damage: str) -> None:
    data = path.read_bytes()
    broken = tmp_path / "broken.lance"
    broken.write_bytes(
        {"cut": data[: len(data) // 2], "footer": data[:-40] + bytes(40), "empty": b"", "text": b"a,b\n1,2\n" * 9}[
            damage
        ]
    )
    page = page_of(command, broken, code=1)
    assert "What is wrong" in page.text
    assert "CorruptFileError" in page.text
    assert "What could be read" in page.text
    assert f"{broken.stat().st_size:,} B" in page.text
    document = command("inspect", "--html", "--json", broken).document
    assert [one["type"] for one in document["problems"]] == ["CorruptFileError"]


@pytest.mark.parametrize("with_checksums", [True, False])
def test_any_damage_to_metadata_gives_a_page(
    command: Callable[..., Any], tmp_path: Path, with_checksums: bool, whole_run: bool
) -> None:
    target = tmp_path / "file.lance"
    write_table(table(), target, rows_per_zone=ZONE, checksums=with_checksums)
    data = target.read_bytes()
    rng = np.random.default_rng(7)
    broken = tmp_path / "broken.lance"
    codes = set()
    for _ in range(40 if whole_run else 15):
        changed = bytearray(data)
        for at in rng.integers(len(data) - 3000, len(data), int(rng.choice([1, 3, 20]))):
            changed[at] ^= int(rng.integers(1, 256))
        broken.write_bytes(changed)
        outcome = command("inspect", "--html", broken)
        check_is_alone(outcome.out)
        assert ("What is wrong" in Page(outcome.out).text) == (outcome.code == 1)
        assert outcome.err == ""
        codes.add(outcome.code)
    assert 1 in codes


@pytest.fixture
def made(tmp_path: Path) -> LanceTable:
    """Three fragments, deleted rows in the second one, a tag, a branch."""
    made = LanceTable.create(tmp_path / "table", table())
    made.append(table())
    made.append(table())
    made.tags.create("tagged", 2)
    made.branches.create("side", 3)
    made.delete("sorted < 100 AND shuffled >= 0")
    return made


def test_a_table(command: Callable[..., Any], made: LanceTable) -> None:
    page = page_of(command, made.uri)
    for number in range(3):
        assert f"fragment {number}" in page.names
    deleted = [one.get("title") for one in page.with_tag("i") if "deleted rows" in (one.get("title") or "")]
    assert deleted == ["100 deleted rows"] * 3
    assert {"sorted", "shuffled", "word", "s.a"} <= set(page.names)
    expected: dict[str, int] = {}
    for fragment in made.manifest.fragments:
        for file in fragment.files:
            for column in view_file(Path(made.uri) / "data" / file.path).columns:
                expected[str(column.path)] = expected.get(str(column.path), 0) + column.size_bytes
    stored = [name for name in page.names if not name.startswith("fragment ")]
    assert dict(zip(stored, page.num_bytes, strict=True)) == expected
    dots = [one for one in page.with_tag("i") if (one.get("title") or "").startswith("version ")]
    assert sum("tagged" in (one["class"] or "") for one in dots) == 1
    assert sum("shown" in (one["class"] or "") for one in dots) == 1
    assert "from version 3 of main" in page.text
    older = page_of(command, made.uri, "--version", "tagged")
    assert "fragment 1" in older.names
    assert "fragment 2" not in older.names
    assert command("inspect", "--html", made.uri, "--version", "99").code == 1


def test_a_table_of_many_versions_and_fragments(command: Callable[..., Any], tmp_path: Path) -> None:
    made = LanceTable.create(tmp_path / "table", pa.table({"id": [0]}))
    for number in range(1, MAX_ROWS + 5):
        made.append(pa.table({"id": [number]}))
    page = page_of(command, made.uri)
    assert "… and 5 more fragments" in page.names
    assert "100 of 205 fragments opened" in page.text
    dots = [one for one in page.with_tag("i") if (one.get("title") or "").startswith("version ")]
    assert len(dots) < 102
    assert (dots[0]["title"] or "").startswith("version 1:")
    assert (dots[-1]["title"] or "").startswith(f"version {made.version}:")
    assert "… and 155 earlier versions of main" in page.text


def test_a_table_with_a_missing_file_and_a_broken_manifest(command: Callable[..., Any], made: LanceTable) -> None:
    lost = made.manifest.fragments[1].files[0].path
    (Path(made.uri) / "data" / lost).unlink()
    page = page_of(command, made.uri, code=1)
    assert lost in page.text
    assert "2 of 3 fragments opened" in page.text
    assert {"fragment 0", "fragment 1", "fragment 2", "sorted"} <= set(page.names)
    newest = max((Path(made.uri) / "_versions").iterdir(), key=lambda one: one.stat().st_mtime_ns)
    newest.write_bytes(newest.read_bytes()[:-30])
    page = page_of(command, made.uri, code=1)
    assert "CorruptManifestError" in page.text


def test_notebooks_show_bars(path: Path, made: LanceTable, tmp_path: Path) -> None:
    sizes = {column.path: column.size_bytes for column in view_file(path).columns}
    with LanceFile(path) as file:
        text = file._repr_html_()
    check_is_alone(text)
    page = Page(text)
    widths = [one["style"] for one in page.with_tag("i")]
    assert [one["title"] for one in page.with_tag("i")] == [f"{one:,} B" for one in sorted(sizes.values())[::-1] if one]
    assert "width:100.00%" in (widths[0] or "")
    with LanceFile(with_broken_column(path, tmp_path / "broken.lance", 1)) as file:
        assert "bytes of columns unknown: " in file._repr_html_()
    page = Page(made._repr_html_())
    assert [one["title"] for one in page.with_tag("i")] == [f"{ROWS - 100:,} rows", "100 deleted rows"] * 3
    hostile = LanceTable.create(tmp_path / "hostile", pa.table({HOSTILE: [1]}))._repr_html_()
    check_is_alone(hostile)


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def on_terminal(report: Any, encoding: str) -> str:
    out = Terminal(io.BytesIO(), encoding=encoding)
    print_text(report, out)
    out.flush()
    return out.buffer.getvalue().decode(encoding)


def test_bars_on_a_terminal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    report = view_stats(path)
    largest = max(report.columns, key=lambda one: one.size_bytes)
    lines = on_terminal(report, "utf-8").splitlines()
    assert [line.split()[0] for line in lines if line.endswith("█" * 10)] == [largest.path]
    zones = view_zones(path, columns=["sorted"])
    spans = [line.split()[-1] for line in on_terminal(zones, "utf-8").splitlines() if line.endswith(("·", "█"))]
    assert len(spans) == ROWS // ZONE
    assert spans[0] == "██" + "·" * 22
    assert spans[-1] == "·" * 22 + "██"
    for text in (on_terminal(report, "ascii"), on_terminal(zones, "ascii")):
        assert "\\u2588" not in text
        assert "share" not in text
        assert "range" not in text
    monkeypatch.setenv("TERM", "dumb")
    assert "█" not in on_terminal(report, "utf-8")
    piped = io.StringIO()
    print_text(report, piped)
    assert "█" not in piped.getvalue()


def test_spans_only_where_text_is_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("TERM", "xterm")
    target = tmp_path / "types.lance"
    values = {"money": pa.array(range(128), pa.decimal128(9, 2)), "word": [f"{i:03}" for i in range(128)]}
    write_table(pa.table(values), target, rows_per_zone=64)
    assert "█" not in on_terminal(view_zones(target, columns=["money"]), "utf-8")
    spans = [line.split()[-1] for line in on_terminal(view_zones(target, columns=["word"]), "utf-8").splitlines()[-2:]]
    assert spans == ["█" * 8 + "·" * 16, "·" * 16 + "█" * 8]
