"""Conditions on strings that are judged by the items of pages: the same rows, and pages that are not read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from stores import CountingStore
from string_columns import assert_values

import lance_arrow
from lance_arrow import LanceFile, LanceTable
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.scan.filters import filter_plan, item_filters, judges
from lance_arrow.spi import ReadReport

ROWS = 4000
# Bounds of zones exclude none of the middle words.
PAGES = [["a", "k", "z"], ["a", "l", "z"], ["a", "m", None, "z"], ["a", None, "z"]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with lance_arrow.LanceWriter(tmp_path / "a.lance", rows().schema, rows_per_zone=None) as writer:
        for words in PAGES:
            writer.write(page(words))
    return tmp_path / "a.lance"


def page(words: list[str | None]) -> pa.Table:
    texts = [[words[row * step % len(words)] for row in range(ROWS)] for step in (7, 3)]
    return pa.table({"s": texts[0], "t": texts[1], "id": range(ROWS)})


def rows() -> pa.Table:
    return pa.concat_tables([page(words) for words in PAGES])


CONDITIONS = [
    pc.field("s") == "k",
    pc.field("s") == "m",
    pc.field("s") == "nothing",
    pc.field("s").isin(["l", "m"]),
    ~pc.field("s").isin(["k"]),
    pc.field("s").is_null(),
    pc.field("s").is_valid(),
    pc.field("s").is_null() | (pc.field("s") != "nothing"),
    (pc.field("s") > "b") & (pc.field("s") < "y"),
    (pc.field("s") == "l") & (pc.field("id") < 70),
    (pc.field("s") == "l") | (pc.field("id") < 70),
    (pc.field("s") == "l") | (pc.field("id") < pc.if_else(pc.field("id") > 900, None, 70)),
    ((pc.field("s") == "k") & (pc.field("id") < 70)) | ((pc.field("s") == "z") & (pc.field("id") > 3900)),
    ((pc.field("s") == "k") | (pc.field("id") < 70)) & ((pc.field("t") != "z") | pc.field("s").is_null()),
    ~((pc.field("s") == "k") | (pc.field("id") < 70)) | (pc.field("t") == "a"),
    pc.starts_with(pc.field("s"), "m"),
    pc.if_else(pc.field("s") == "k", None, True),
]

# One condition asks for both texts, which come as values then.
BOTH_TEXTS = (pc.field("t") == "m") | (pc.field("s") == pc.field("t"))


@pytest.mark.cover(1)
@pytest.mark.parametrize("expression", [*CONDITIONS, BOTH_TEXTS], ids=str)
@pytest.mark.parametrize("strings", ["plain", "dictionary", "view"])
def test_the_same_rows_in_every_form(path: Path, strings: Any, expression: pc.Expression) -> None:
    expected = rows().filter(expression)
    with LanceFile(path, strings=strings) as file:
        assert file.count_rows(expression) == expected.num_rows
        assert_values(expected, file.read(filter=expression))
        assert_values(expected.select(["id"]), file.read(["id"], filter=expression))
        some = file.read(["id"], filter=expression, rows=(3990, 8003))
        assert_values(rows().slice(3990, 4013).filter(expression).select(["id"]), some)


def test_a_page_without_a_matching_item_reads_no_codes(tmp_path: Path, receipts: list[ReadReport]) -> None:
    where = tmp_path / "t.lance"
    table = LanceTable.create(where, page(PAGES[0]), rows_per_zone=None)
    for words in PAGES[1:]:
        table.append(page(words), rows_per_zone=None)
    table = LanceTable.open(where)

    def bytes_of(condition: str) -> int:
        table.count_rows(condition)
        receipts.clear()
        table.count_rows(condition)
        return sum(report.requested_bytes for report in receipts)

    codes = bytes_of("s = 'z'")
    assert bytes_of("s = 'nothing'") == 0
    assert bytes_of("s = 'm'") < codes / 2
    assert table.count_rows("s = 'm'") == ROWS // 4


def test_items_are_judged_once_for_equal_dictionaries(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []
    own = judges.Judge._judged
    monkeypatch.setattr(judges.Judge, "_judged", lambda *given: judged.append(given) or own(*given))
    lance_arrow.write_table(pa.concat_tables([page(PAGES[0])] * 5), path, page_bytes=500)
    with LanceFile(path) as file:
        assert file.count_rows("s = 'k'") > 0
    # Three words have six orders.
    assert 0 < len(judged) <= 6


@pytest.mark.parametrize("strings", ["plain", "dictionary", "view"])
def test_a_short_last_page_does_not_have_the_others_expanded(
    path: Path, strings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tail = pa.table({"s": ["k", "", None, "word", "m"], "t": ["a", "m", None, "word", ""], "id": range(5)})
    with lance_arrow.LanceWriter(path, tail.schema, rows_per_zone=None) as writer:
        for words in PAGES:
            writer.write(page(words))
        writer.write(tail)
    table = pa.concat_tables([rows(), tail])
    expected = [table.filter(expression).num_rows for expression in CONDITIONS]

    def row_by_row(*given: Any) -> Any:
        raise AssertionError("the filter was evaluated for each row")

    monkeypatch.setattr(filter_plan, "evaluated_mask", row_by_row)
    with LanceFile(path, strings=strings) as file:
        assert [file.count_rows(expression) for expression in CONDITIONS] == expected
        for expression in CONDITIONS:
            assert_values(table.filter(expression), file.read(filter=expression))


def test_other_conditions_decode_no_dictionary(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expression = (pc.field("s") == "k") & (pc.field("id") < 70) & (pc.field("id") > pc.field("other"))
    table = rows().append_column("other", pa.array([3] * (len(PAGES) * ROWS)))
    lance_arrow.write_table(table, path, rows_per_zone=None)
    native = item_filters.ItemFilters._of_rest
    seen: list[tuple[list[str], set[str]]] = []

    class Watching:
        """What reads expressions, and what it evaluates."""

        def __getattr__(self, name: str) -> Any:
            return getattr(native_expressions, name)

        def evaluate(self, part: pc.Expression, schema: pa.Schema, batch: pa.RecordBatch, pool: Any = None) -> pa.Array:
            seen.append((batch.schema.names, set(native_expressions.mentioned_columns(part, schema))))
            return native_expressions.evaluate(part, schema, batch, pool)

    def watched(self: item_filters.ItemFilters, *given: Any) -> pa.Array:
        self._native = Watching()
        return native(self, *given)

    monkeypatch.setattr(item_filters.ItemFilters, "_of_rest", watched)
    with LanceFile(path) as file:
        # The strings are wanted: they come as codes, not as flags.
        assert_values(table.filter(expression), file.read(filter=expression))
    assert ["id", "other"] in [names for names, _ in seen]
    assert all(set(names) == mentioned for names, mentioned in seen)


def test_either_of_two_columns_is_judged_by_items(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = pc.binary_length(pc.field("t")) < pc.field("id")
    expression = (pc.field("s") == "k") | ((pc.field("t") == "m") & (pc.field("id") < 70) & both)
    seen: list[list[str]] = []
    own = item_filters.ItemFilters._of_rest

    def watched(
        self: item_filters.ItemFilters, rest: Any, names: frozenset[str], batch: pa.RecordBatch, *given: Any
    ) -> Any:
        seen.append([f"{field.name}: {field.type}" for field in batch.schema])
        return own(self, rest, names, batch, *given)

    monkeypatch.setattr(item_filters.ItemFilters, "_of_rest", watched)
    with LanceFile(path) as file:
        assert file.count_rows(expression) == rows().filter(expression).num_rows
    # Flags of one text came from the pages; two columns that were compared with each other came as they are.
    assert seen
    assert all("s: bool" in one and "id: int64" in one for one in seen)


def test_a_condition_that_fails_for_an_item_of_no_row(tmp_path: Path) -> None:
    table = pa.table({"s": ["1", "2"] * 5000 + ["no number"], "id": range(10_001)})
    lance_arrow.write_table(table, tmp_path / "a.lance")
    expression = pc.field("s").cast(pa.int64()) == 2
    with LanceFile(tmp_path / "a.lance") as file:
        assert file.read(["id"], filter=expression, rows=(0, 10_000)).num_rows == 5000
        with pytest.raises(lance_arrow.errors.InvalidArgumentError):
            file.count_rows(expression)


def test_far_files_find_the_same_rows(path: Path) -> None:
    store = CountingStore({"a.lance": path.read_bytes()})
    with LanceFile("a.lance", filesystem=store) as file:
        for expression in CONDITIONS:
            assert file.count_rows(expression) == rows().filter(expression).num_rows
