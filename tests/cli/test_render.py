"""Reports become text of a known shape, or JSON that a strict parser takes."""

from __future__ import annotations

import cProfile
import io
import json
import pstats
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lance_arrow.cli.file_view import (
    BufferReport,
    ColumnReport,
    FieldReport,
    FileReport,
    FooterReport,
    HeadReport,
    PageReport,
    SchemaReport,
)
from lance_arrow.cli.plugin_view import EncodingEntry, PluginReport, PluginsReport
from lance_arrow.cli.printing import to_printable
from lance_arrow.cli.render import ErrorReport, error_report, plain, print_json, print_text
from lance_arrow.errors import CorruptFileError
from lance_arrow.files.verification import Finding, VerifyCounts, VerifyReport
from lance_arrow.structure.description import EncodingReport

GOLDEN = Path(__file__).with_name("golden")
FLAT = EncodingReport(key="m.Compressive/flat", parameters={"bits_per_value": 64}, provider="codec.flat")
LOST = EncodingReport(key="m.Compressive/#17", parameters={"#17": "5 bytes"}, detail="no installed plugin provides it")
PAGE = EncodingReport(
    key="m.PageLayout/mini_block_layout",
    parameters={"layers": ["NULLABLE_ITEM"], "num_items": 8},
    children=(("value_compression", FLAT), ("dictionary", LOST)),
    provider="layout.mini_block",
)
VALUES = EncodingReport(key="m.ColumnEncoding/values", provider="column.values")


def page(number: int, encoding: EncodingReport = PAGE, problem: str | None = None) -> PageReport:
    buffers = [
        BufferReport(role="chunk table", offset=0, size_bytes=2),
        BufferReport(role=None, offset=64, size_bytes=62),
    ]
    return PageReport(
        number=number,
        first_row=8 * number,
        num_rows=8,
        size_bytes=64,
        buffers=buffers,
        codecs=["flat"],
        encoding=encoding,
        problem=problem,
    )


FILE = FileReport(
    path="x.lance",
    version="2.1",
    size_bytes=5000,
    num_rows=24,
    data_bytes=192,
    footer=FooterReport(
        num_columns=1,
        num_global_buffers=1,
        first_column_position=4700,
        column_table_position=4800,
        buffer_table_position=4816,
    ),
    global_buffers=[BufferReport(role="file descriptor", offset=4096, size_bytes=50)],
    columns=[
        ColumnReport(
            column=0,
            path="a",
            type="int64",
            nullable=True,
            num_rows=24,
            size_bytes=192,
            bytes_per_value=8.0,
            compression_ratio=1.0,
            encoding=VALUES,
            buffers=[],
            pages=[page(0), page(1), page(2, LOST, "it is lost")],
        )
    ],
)
FILE_TEXT = """\
x.lance: Lance 2.1, 24 rows, 5,000 B (4.9 KiB)
footer: 1 column (table at 4800), 1 global buffer (table at 4816), column metadata from 4700
global buffer 0 (file descriptor): 50 B at 4096

#  column  type   pages  rows  bytes  bytes/value  ratio  encodings
0  a       int64      3    24    192         8.00   1.00  mini_block_layout, #17

column 0 a: int64, nullable
  described as: values [column.values]
  page 0: rows 0..8, 64 bytes, flat
    buffer 0 (chunk table): 2 B at 0
    buffer 1 (role unknown): 62 B at 64
    encoded as: mini_block_layout layers=[NULLABLE_ITEM] num_items=8 [layout.mini_block]
      value_compression: flat bits_per_value=64 [codec.flat]
      dictionary: #17 #17=5 bytes  ! no installed plugin provides it
  page 1: rows 8..16, 64 bytes, flat
    buffer 0 (chunk table): 2 B at 0
    buffer 1 (role unknown): 62 B at 64
    encoded as page 0
  page 2: rows 16..24, 64 bytes, flat
    buffer 0 (chunk table): 2 B at 0
    buffer 1 (role unknown): 62 B at 64
    cannot be read: it is lost
    encoded as: #17 #17=5 bytes  ! no installed plugin provides it
"""
HEAD = HeadReport(
    path="x.lance",
    num_rows=1000,
    columns=["n", "text", "x", "s"],
    rows=[
        {"n": 1, "text": "a", "x": float("nan"), "s": {"k": None}},
        {"n": -20, "text": None, "x": 1.5, "s": {"k": [1]}},
    ],
)
HEAD_TEXT = """\
  n  text    x  s
  1  a     nan  {"k": null}
-20  null  1.5  {"k": [1]}
(2 of 1,000 rows)
"""
SCHEMA = SchemaReport(
    path="x.lance",
    version="2.2",
    num_rows=3,
    fields=[
        FieldReport(
            name="s",
            type="struct<a: int8>",
            nullable=False,
            metadata={"unit": "m"},
            children=[FieldReport(name="a", type="int8", nullable=True, metadata={}, children=[])],
        )
    ],
    metadata={"origin": "test"},
)
SCHEMA_TEXT = """\
x.lance: Lance 2.2, 3 rows

field  type             nullable  metadata
s      struct<a: int8>  no        unit=m
  a    int8             yes

metadata  value
origin    test
"""
PLUGINS = PluginsReport(
    plugins=[
        PluginReport(
            name="codec.flat",
            distribution="lance-arrow",
            version="1",
            target="codecs.flat",
            kinds=["codec"],
            encodings=[EncodingEntry(key="m.C/flat", kind="codec", contexts=["block"], is_in_use=True)],
            hooks=["lance_provide_codecs"],
            error=None,
        ),
        PluginReport(
            name="codec.bad",
            distribution="other",
            version="2",
            target="bad",
            kinds=[],
            encodings=[],
            hooks=[],
            error="ImportError: no",
        ),
    ],
    conflict=None,
)
PLUGINS_TEXT = """\
plugin      distribution  version  kind   provides  contexts  in use
codec.flat  lance-arrow   1        codec  C/flat    block     yes
codec.bad   other         2               broken              no
broken: codec.bad of other 2 (bad): ImportError: no
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text_of(report: Any, out: io.StringIO | None = None) -> str:
    out = io.StringIO() if out is None else out
    print_text(report, out)
    return out.getvalue()


def strict(text: str) -> Any:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("report", "text"),
    [(FILE, FILE_TEXT), (HEAD, HEAD_TEXT), (SCHEMA, SCHEMA_TEXT), (PLUGINS, PLUGINS_TEXT)],
    ids=["file", "head", "schema", "plugins"],
)
def test_text(report: Any, text: str) -> None:
    assert text_of(report) == text


@pytest.mark.parametrize("report", [FILE, HEAD, SCHEMA, PLUGINS], ids=["file", "head", "schema", "plugins"])
def test_json_is_strict(report: Any) -> None:
    out = io.StringIO()
    print_json(report, out)
    assert strict(out.getvalue()) == plain(report)


def test_json_of_a_tree() -> None:
    assert plain(PAGE) == {
        "key": "m.PageLayout/mini_block_layout",
        "parameters": {"layers": ["NULLABLE_ITEM"], "num_items": 8},
        "children": [{"role": "value_compression", **plain(FLAT)}, {"role": "dictionary", **plain(LOST)}],
        "provider": "layout.mini_block",
        "detail": None,
    }


def test_json_of_rows() -> None:
    out = io.StringIO()
    print_json(HEAD, out)
    assert strict(out.getvalue())["rows"][0]["x"] is None


def test_a_terminal_gets_its_own_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = text_of(SCHEMA, Terminal())
    assert "\x1b[1m" in text
    monkeypatch.setenv("COLUMNS", "20")
    folded = text_of(SCHEMA, Terminal())
    assert folded.count("\n") > text.count("\n")


WIDE = HeadReport(
    path="x.lance",
    num_rows=2,
    columns=[f"measurement_{at}" for at in range(16)],
    rows=[{f"measurement_{at}": f"{at}.{row}" for at in range(16)} for row in range(2)],
)


def test_a_wide_table_is_split_into_blocks_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    assert text_of(WIDE, Terminal()) == GOLDEN.joinpath("wide.txt").read_text()
    assert len(text_of(WIDE).splitlines()) == 4


def test_many_rows_take_little_processor_time() -> None:
    columns = [f"c{at}" for at in range(6)]
    rows = [{name: f"{name} {row}" for name in columns} for row in range(20_000)]
    report = HeadReport(path="x", num_rows=20_000, columns=columns, rows=rows)
    out = io.StringIO()
    # Calls are counted, not seconds: about 13 for each cell.
    calls = calls_of(lambda: print_text(report, out))
    assert len(out.getvalue().splitlines()) == 20_002
    assert calls < 20 * 20_000 * 6


def calls_of(action: Callable[[], None]) -> int:
    """How many calls of functions an action makes."""
    profile = cProfile.Profile()
    profile.runcall(action)
    return pstats.Stats(profile).total_calls  # type: ignore[attr-defined]


class OneWriteIsCut(io.StringIO):
    """A pipe whose reader leaves after the first write of more than a pipe takes at once."""

    def write(self, text: str) -> int:
        if len(text) > 1024:
            return super().write(text[:1024])
        return super().write(text)


def test_no_write_is_larger_than_a_pipe_takes_whole() -> None:
    rows = [{"a": "x" * 50} for _ in range(500)]
    report = HeadReport(path="x", num_rows=500, columns=["a"], rows=rows)
    for write in (print_text, print_json):
        cut, whole = OneWriteIsCut(), io.StringIO()
        write(report, cut)
        write(report, whole)
        assert cut.getvalue() == whole.getvalue()


def test_nothing_is_wrapped_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert text_of(FILE) == FILE_TEXT


def test_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    report = ErrorReport(type="x", message="y")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in text_of(HEAD, Terminal())
    with pytest.raises(TypeError, match="ErrorReport"):
        text_of(report)


def test_control_characters_are_escaped() -> None:
    nasty = HeadReport(path="x", num_rows=1, columns=["a\x1b[2J"], rows=[{"a\x1b[2J": "line\nbreak\x07"}])
    text = text_of(nasty)
    assert "\x1b" not in text
    assert "line\\nbreak\\x07" in text
    assert to_printable("plain é") == "plain é"


def test_a_name_that_is_no_utf8_stays_json() -> None:
    out = io.StringIO()
    print_json(ErrorReport(type="E", message="m", path="a\udcff.lance"), out)
    assert strict(out.getvalue())["error"]["path"] == "a\\udcff.lance"


def test_errors() -> None:
    report = error_report(CorruptFileError("bad", path="f", byte_range=(1, 2)))
    assert (report.type, report.message, str(report)) == ("CorruptFileError", "bad", "bad [bytes 1..2, file 'f']")
    report = error_report(FileNotFoundError(2, "No such file", "f.lance"))
    assert (report.type, report.path, str(report)) == ("FileNotFoundError", "f.lance", "No such file [file 'f.lance']")
    report = error_report(KeyError())
    assert (report.message, str(report)) == ("KeyError", "KeyError: KeyError")


def test_what_was_not_checked_is_not_in_order():
    found = VerifyReport(
        path="file.lance",
        ok=False,
        has_checksums=False,
        errors=[],
        unchecked=[Finding(type="UnknownEncodingError", message="no plugin provides m.fsst", column="x")],
        checked=VerifyCounts(columns=2, pages=2, rows=8),
    )
    out = io.StringIO()
    print_text(found, out)
    lines = out.getvalue().splitlines()
    assert lines[0] == "file.lance: no fault found, but not everything was checked"
    assert lines[-1] == "not decoded: no plugin provides m.fsst [column 'x']"
