"""Each cell of codec and context: a read one has a suite, a refused one is refused, and the documents say so."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from suites import suites_beside

from lance_arrow.cli.plugin_view import view_matrix
from lance_arrow.errors import UnsupportedError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import DecodeContext, EncodingKey, FixedWidth, LeafType
from lance_arrow.testing.codec_suite import CodecSuite

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[2] / "docs" / "plugins" / "matrix.md"
CASES = sorted(case for case in pb.CompressiveEncoding.DESCRIPTOR.fields_by_name if case != "private_codec")
CELLS = [(case, context) for case in CASES for context in DecodeContext]
ROWS = {
    EncodingKey.parse(row.key).case: row for row in view_matrix(Settings()).codecs if row.distribution == "lance-arrow"
}


TESTED = {
    (suite.key.case, context)
    for suite in suites_beside(__file__, CodecSuite)
    for context in suite.contexts
    if any(suite().supports(shape, context) for shape in suite.shapes)
}


def test_every_case_of_the_format_has_a_row() -> None:
    assert sorted(ROWS) == CASES


@pytest.mark.parametrize(("case", "context"), CELLS, ids=[f"{case}-{context.value}" for case, context in CELLS])
def test_each_cell_is_tested_or_refused(case: str, context: DecodeContext) -> None:
    cell = ROWS[case].contexts[context.value]
    assert cell.is_read == ((case, context) in TESTED)
    if cell.is_read:
        return
    assert cell.since is None
    description = pb.CompressiveEncoding()
    getattr(description, case).SetInParent()
    scope = Runtime(Settings()).binder.scope(LeafType(FixedWidth(32)))
    bind = scope.value_codec if context is DecodeContext.PER_VALUE else partial(scope.chunk_codec, context=context)
    with pytest.raises(UnsupportedError, match=f"is not allowed in the {context.value} context"):
        bind(description)


def test_document_shows_what_the_command_prints() -> None:
    said = re.search(r"```text\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert said is not None
    rows = [line.split("  ") for line in said[1].splitlines()]
    named = [[word.strip() for word in row if word.strip()] for row in rows]
    assert named[0] == ["codec", "mini-block", "block", "per-value", "plugin", "distribution"]
    expected = []
    for case in CASES:
        cells = [ROWS[case].contexts[context.value] for context in DecodeContext]
        words = ["refused" if not cell.is_read else f"read, {cell.since}" if cell.since else "read" for cell in cells]
        expected.append([case, *words, ROWS[case].plugin, "lance-arrow"])
    assert named[1:] == expected


def test_document_gives_a_reason_for_each_refusal() -> None:
    listed = re.findall(r"^\| `(\w+)` \| ([\w-]+) \| \S", DOCUMENT.read_text(), re.MULTILINE)
    refused = [(case, context) for case in CASES for context, cell in ROWS[case].contexts.items() if not cell.is_read]
    assert sorted(listed) == sorted(refused)


def test_versions_are_those_of_the_format() -> None:
    since = {cell.since for row in ROWS.values() for cell in row.contexts.values()}
    assert since == {None, "2.1", "2.2", "2.3"}
