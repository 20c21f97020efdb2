"""`LayoutSuite`: base class for tests of a layout.

The author writes pages from the text of the format, together with the rows they hold. The suite then reads selections
of rows. The native engine reads them, if the layout has pages for it. The layout's own methods read them, if it has
these, as a scan does: index slices, plan, data slices. Bytes are scattered and unaligned, destinations are guarded. It
also damages the bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, cast

import numpy as np
import pytest
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import BlockSlice, EncodingKey, LeafType
from lance_arrow.spi.layouts import (
    BoundLayout,
    BufferSlices,
    FetchedSlices,
    LayerKind,
    Levels,
    LoadedPage,
    PageFacts,
    PageIndex,
    PythonLayout,
    RowRanges,
)
from lance_arrow.spi.slots import Structure
from lance_arrow.testing.native_pages import NativeRows, difference, levels_of_rows, native_page, native_rows
from lance_arrow.testing.samples import Destination, values_of
from lance_arrow.testing.scattered import damages, fetch_scattered, some
from lance_arrow.testing.slot_levels import levels_of

_SELECTIONS = 25
_FLIPS_PER_BUFFER = 40


@dataclass(frozen=True, slots=True)
class Entry:
    """One level entry of a row.

    Parameters
    ----------
    rep, def_
        Its levels; 0 if the page stores none.
    value
        Bytes of its value (a boolean is one byte, a fixed-size list all its items). None if there is no slot, or if its
        content is undefined.
    """

    rep: int = 0
    def_: int = 0
    value: bytes | None = None


@dataclass(frozen=True, slots=True)
class LayoutCase:
    """A test page.

    Parameters
    ----------
    name
        Test id.
    description
        The message in the page's ``Any``.
    leaf
        Schema of the column.
    buffers
        Page buffers.
    rows
        Entries of each row.
    lengths_per_row
        Number of leaf slots per row: the product of the dimensions of fixed-size lists of structs.
    layers
        Layers that the levels of `rows` count, inner-most first; empty for those of the engine's page.
    """

    name: str
    description: Message
    leaf: LeafType
    buffers: tuple[bytes, ...]
    rows: tuple[tuple[Entry, ...], ...]
    lengths_per_row: int = 1
    layers: tuple[LayerKind, ...] = ()

    @property
    def facts(self) -> PageFacts:
        return PageFacts(len(self.rows) * self.lengths_per_row, tuple(len(buffer) for buffer in self.buffers))

    def with_buffer(self, number: int, content: bytes) -> LayoutCase:
        """Return a copy with one buffer replaced by `content`."""
        return replace(self, buffers=(*self.buffers[:number], content, *self.buffers[number + 1 :]))


@dataclass(frozen=True, slots=True, eq=False)
class PageRead:
    """Result of a read: levels, and the filled block (None for columns without values)."""

    levels: Structure
    page: LoadedPage
    block: BlockSlice | None

    def values(self) -> list[bytes]:
        """Return the bytes of every value."""
        block = self.block
        if block is None:
            return [b""] * self.page.num_values
        return values_of(block)


class LayoutSuite:
    """Inherit, set the attributes; pytest collects the tests below once per subclass and page."""

    key: ClassVar[EncodingKey]
    """Key of the layout."""
    cases: ClassVar[Sequence[LayoutCase]]
    """Pages to read: every form of the layout, with several chunks and row index widths if the layout has them."""

    @staticmethod
    def reading(layout: BoundLayout) -> BoundLayout | PythonLayout:
        """Return another reader of the pages of a bound layout that only the engine reads, to be compared with it."""
        return layout

    def own_reader(self, case: LayoutCase) -> PythonLayout | None:
        """Bind the page for a reader in Python; None if there is none."""
        layout = self.reading(bind_case(case))
        return cast(PythonLayout, layout) if hasattr(layout, "load") else None

    def check(self, case: LayoutCase, rows: RowRanges) -> None:
        """Require the rows of each reader."""
        layout, own = bind_case(case), self.own_reader(case)
        native = native_rows(layout, case, rows)
        assert native is not None or own is not None, "neither the engine nor the layout reads the page"
        if own is not None:
            assert_holds(open_rows(own, case, load_index(own, case), rows), case, rows)
        if native is not None:
            assert not isinstance(native, str), native
            other = _other_rows(native, layout, case, rows)
            assert other is None, other

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if "suite_case" in metafunc.fixturenames:
            metafunc.parametrize("suite_case", self.cases, ids=[case.name for case in self.cases])

    def test_plugin_is_installed(self) -> None:
        assert _runtime().table.layout(self.key).key == self.key

    def test_whole_page(self, suite_case: LayoutCase) -> None:
        everything = RowRanges.one(0, len(suite_case.rows))
        self.check(suite_case, everything)

    def test_every_single_row(self, suite_case: LayoutCase) -> None:
        for row in some(range(len(suite_case.rows)), 60):
            self.check(suite_case, RowRanges.one(row, row + 1))

    def test_runs_of_rows_with_a_kept_index(self, suite_case: LayoutCase) -> None:
        layout, own = bind_case(suite_case), self.own_reader(suite_case)
        index = None if own is None else load_index(own, suite_case)
        assert index is None or index.nbytes >= 0
        for rows in _runs_of(suite_case):
            native = native_rows(layout, suite_case, rows)
            if native is not None:
                assert not isinstance(native, str), native
                other = _other_rows(native, layout, suite_case, rows)
                assert other is None, other
            if own is not None:
                assert_holds(open_rows(own, suite_case, index, rows), suite_case, rows)

    def test_the_engine_accepts_no_other_bytes(self, suite_case: LayoutCase) -> None:
        everything = RowRanges.one(0, len(suite_case.rows))
        for number, content in enumerate(suite_case.buffers):
            for damaged in damages(content, _FLIPS_PER_BUFFER):
                case = suite_case.with_buffer(number, damaged)
                native, own = native_rows(bind_case(case), case, everything), self.own_reader(case)
                if native is None or own is None:
                    continue
                try:
                    got = open_rows(own, case, load_index(own, case), everything)
                except LanceError:
                    assert isinstance(native, str), "only the engine accepts the bytes"
                    continue
                if not isinstance(native, str):
                    assert difference(native, got.levels, got.values(), case) is None

    def test_wrong_number_of_buffers_is_refused(self, suite_case: LayoutCase) -> None:
        for buffers in (suite_case.buffers[:-1], (*suite_case.buffers, b"\0" * 8, b"\0" * 8, b"\0" * 8)):
            if len(buffers) != len(suite_case.buffers):
                case, everything = replace(suite_case, buffers=buffers), RowRanges.one(0, len(suite_case.rows))
                assert isinstance(native_rows(bind_case(case), case, everything), str | None)
                own = self.own_reader(case)
                if own is not None:
                    with pytest.raises(CorruptFileError):
                        open_rows(own, case, load_index(own, case), everything)

    def test_short_buffers_are_refused_or_change_nothing(self, suite_case: LayoutCase) -> None:
        everything = RowRanges.one(0, len(suite_case.rows))
        for number, content in enumerate(suite_case.buffers):
            # An empty buffer may be valid: an absent stream.
            self._read_or_refuse(suite_case.with_buffer(number, b""))
            for size in {len(content) // 2, len(content) - 8, len(content) - 1}:
                if not 0 < size < len(content):
                    continue
                damaged = suite_case.with_buffer(number, content[:size])
                own, layout = self.own_reader(damaged), bind_case(damaged)
                native = native_rows(layout, damaged, everything)
                if native is not None and not isinstance(native, str):
                    assert _other_rows(native, layout, suite_case, everything) is None
                if own is None:
                    continue
                try:
                    got = open_rows(own, damaged, load_index(own, damaged), everything)
                except LanceError:
                    continue
                assert_holds(got, suite_case, everything)

    def test_damaged_bytes_are_refused_or_decoded(self, suite_case: LayoutCase) -> None:
        for number, content in enumerate(suite_case.buffers):
            for damaged in damages(content, _FLIPS_PER_BUFFER):
                self._read_or_refuse(suite_case.with_buffer(number, damaged))

    def test_other_numbers_of_rows_are_refused_or_decoded(self, suite_case: LayoutCase) -> None:
        for rows in (suite_case.rows[:-1], (*suite_case.rows, suite_case.rows[-1])):
            self._read_or_refuse(replace(suite_case, rows=rows))

    def _read_or_refuse(self, case: LayoutCase) -> None:
        """Read a damaged page; exceptions other than `LanceError` fail the test."""
        own, layout, middle = self.own_reader(case), bind_case(case), len(case.rows) // 2
        for rows in (RowRanges.one(0, len(case.rows)), RowRanges.one(middle, middle + 1)):
            if not case.rows:
                continue
            native_rows(layout, case, rows)
            if own is not None:
                with suppress(LanceError):
                    open_rows(own, case, load_index(own, case), rows)


def _runs_of(case: LayoutCase) -> Iterator[RowRanges]:
    """Choose runs of rows, the same at each call; first all rows."""
    chance, count = random.Random(case.name), len(case.rows)
    for number in range(_SELECTIONS):
        edges = sorted(chance.sample(range(count + 1), min(count + 1, 6))) if number else [0, count]
        edges = edges[: len(edges) // 2 * 2]
        rows = RowRanges(np.array(edges[::2], np.int64), np.array(edges[1::2], np.int64))
        if len(rows) and count:
            yield rows


def _other_rows(native: NativeRows, layout: BoundLayout, case: LayoutCase, rows: RowRanges) -> str | None:
    """Say what the engine read otherwise than the case has it; None if nothing."""
    page = native_page(layout, case)
    assert page is not None
    entries = _entries(case, rows)
    levels = levels_of_rows(case.layers or page.layers, entries)
    return difference(native, levels, [slot.value for slot in _slots(entries, levels)], case)


def _entries(case: LayoutCase, rows: RowRanges) -> list[Entry]:
    runs = zip(rows.starts.tolist(), rows.stops.tolist(), strict=True)
    return [entry for start, stop in runs for row in case.rows[start:stop] for entry in row]


def _slots(entries: list[Entry], levels: Levels) -> list[Entry]:
    """Entries that have a slot for a value."""
    return [entry for entry in entries if levels.max_rep == 0 or entry.def_ <= levels.max_visible_def]


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


def bind_case(case: LayoutCase) -> BoundLayout:
    """Bind the page's description by the installed plugins, as a reader does."""
    name = case.description.DESCRIPTOR.full_name
    return _runtime().binder.page(name, case.description.SerializeToString(), case.leaf)


def load_index(layout: PythonLayout, case: LayoutCase) -> PageIndex | None:
    """Run the first round: fetch the index slices and open them."""
    assert len(layout.roles(case.facts)) == len(case.buffers)
    slices = layout.index_slices(case.facts)
    return layout.load_index(case.facts, tuple(_fetch(case, one) for one in slices))


def open_rows(layout: PythonLayout, case: LayoutCase, index: PageIndex | None, rows: RowRanges) -> PageRead:
    """Run the second round, and decode into guarded memory."""
    counted = RowRanges(rows.starts * case.lengths_per_row, rows.stops * case.lengths_per_row)
    plan = layout.plan(case.facts, index, counted)
    page = layout.load(case.facts, index, plan, tuple(_fetch(case, one) for one in plan.slices))
    if page.shape is None:
        return PageRead(page.levels, page, None)
    destination = Destination(page.shape, page.num_values, page.num_bytes)
    try:
        page.decode(destination.block)
    finally:
        destination.assert_untouched_outside()
    return PageRead(page.levels, page, destination.block)


def assert_holds(got: PageRead, case: LayoutCase, rows: RowRanges) -> None:
    """Require exactly the entries and values of `rows`."""
    entries = _entries(case, rows)
    levels = levels_of(got.levels)
    assert levels.num_entries == len(entries)
    assert _level_list(levels.rep, len(entries)) == [entry.rep for entry in entries]
    assert _level_list(levels.def_, len(entries)) == [entry.def_ for entry in entries]
    slots = _slots(entries, levels)
    values = got.values()
    assert got.page.num_values == len(slots) == len(values)
    for number, (value, slot) in enumerate(zip(values, slots, strict=True)):
        assert slot.value is None or value == slot.value, f"value {number}"


def _level_list(levels: NDArray[np.uint16] | None, num_entries: int) -> list[int]:
    return [0] * num_entries if levels is None else levels.tolist()


def _fetch(case: LayoutCase, wanted: BufferSlices) -> FetchedSlices:
    return fetch_scattered(case.buffers[wanted.buffer], wanted)
