"""`RowWriter`: Arrow columns to the pages of an open file; the writing twin of `RowReader`.

    arrays of a column ──► LeafPages: row borders ──► shred: levels and values ──► PageEncoder ──► FileWriter
                                     └──► ZoneBuilder: bounds of runs of rows ──► column buffer

Leaves whose encoders have native sides take `PlainPages` instead; only pages whose choice Python must make come here.
Pages are encoded by several threads and placed in the order in which they became full: same rows, same bytes. Pages end
sooner if the waiting rows of all columns would exceed their part of the memory budget.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.leaf_arrays import leaf_arrays
from lance_arrow.arrays.page_split import LeafPages
from lance_arrow.arrays.readable_items import with_readable_items
from lance_arrow.arrays.shred import shred
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.engine import LeafJob
from lance_arrow.errors import located
from lance_arrow.files.plain_leaves import PlainPlan
from lance_arrow.files.plain_pages import PlainPages
from lance_arrow.files.stored_rows import StoredColumns
from lance_arrow.files.writer_plan import LeafPlan, WriterPlan
from lance_arrow.runtime import Runtime
from lance_arrow.settings import WAITING_PART
from lance_arrow.spi.encoding import EncodedPage, PendingPage
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.structure.carried_facts import CarriedFacts

_JOINED_ROWS = 1 << 17
_JOINED_BYTES = 4 << 20
"""Most rows, and bytes, of short arrays that are joined before they are bounded."""
_PAGES_IN_BUDGET = 32
"""Threads encode some pages at once, each of which is held as rows, levels and encoded bytes."""
_SMALL_BYTES = 1 << 20
"""Pages of no more bytes are encoded sooner than threads take turns with the interpreter."""
_PLACED_LEAVES = 512
"""Leaves whose pages are placed before others are looked at: each page has objects until its values are bounded."""


@dataclass(slots=True, eq=False)
class WrittenLeaf:
    """A leaf while a file is written: how, bounds of its values, and bytes of its pages."""

    plan: LeafPlan
    zones: ZoneBuilder | None
    num_bytes: int = 0

    @classmethod
    def of(cls, plan: LeafPlan) -> WrittenLeaf:
        """Begin a leaf."""
        return cls(plan, ZoneBuilder(plan.leaf, plan.rows_per_zone) if plan.rows_per_zone else None)

    @property
    def leaf(self) -> LeafNode:
        """The leaf."""
        return self.plan.leaf

    def zone_map(self) -> tuple[int, NDArray[np.uint8]] | None:
        """Return rows per zone and the encoded map, once all pages are written: their bytes decide how fine it is."""
        if self.zones is None:
            return None
        encoded = np.frombuffer(self.zones.encode(self.num_bytes), np.uint8)
        return self.zones.rows_per_zone, encoded


@dataclass(slots=True, eq=False)
class LeafWriter:
    """One leaf and its rows that are no page yet."""

    of: WrittenLeaf
    pages: LeafPages
    next_row: int = 0
    last: CarriedFacts | None = None


@dataclass(slots=True, eq=False)
class FullPage:
    """Rows that make a page."""

    of: WrittenLeaf
    arrays: Sequence[pa.Array]
    first_row: int
    facts: CarriedFacts | None = None
    """None for the only page of a leaf."""
    num_rows: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_rows = sum(map(len, self.arrays))


class RowWriter:
    """Writes the rows of one file.

    Parameters
    ----------
    file
        Where pages go.
    plan
        Leaves, and what encodes their pages.
    runtime
        Threads, and the memory budget.
    page_bytes
        Most bytes of a page.
    """

    def __init__(self, file: FileWriter, plan: WriterPlan, runtime: Runtime, page_bytes: int) -> None:
        self._file = file
        self._runtime = runtime
        self._encoder = plan.encoder
        self._tree = plan.tree
        self.num_rows = 0
        budget = runtime.settings.memory_budget_bytes
        self._most_held_bytes = runtime.settings.row_bytes(len(plan.leaves)) // WAITING_PART
        page_bytes = max(1, min(page_bytes, budget // _PAGES_IN_BUDGET))
        self._page_bytes = page_bytes
        # Rows of these columns come as batches.
        self._plain_tops = () if plan.plain is None else plan.plain.tops
        self._plain = None if plan.plain is None else PlainPages(file, plan.plain, page_bytes)
        # The facts of the last page of each leaf of byte strings that is written natively.
        self._last: dict[int, CarriedFacts] = {}
        self._leaves = self._writers(plan.leaves if plan.plain is None else plan.plain.others(plan.leaves))

    def _writers(self, leaves: Iterable[LeafPlan]) -> list[LeafWriter]:
        return [LeafWriter(WrittenLeaf.of(one), LeafPages(one.leaf, self._page_bytes)) for one in leaves]

    def write(self, rows: StoredColumns) -> None:
        """Add rows.

        Raises
        ------
        LanceError
            A value cannot be encoded; the column is named. The file cannot be finished any more.
        """
        if self._plain is not None:
            self._plain.hold(rows.batches)
            self._place_plain(self._plain, self._plain.full())
        columns = dict(enumerate(rows.columns))
        if self._plain is None:
            columns |= {top: [batch.column(at) for batch in rows.batches] for at, top in enumerate(self._plain_tops)}
        self._hold(self._leaves, columns)
        for leaf in self._leaves:
            leaf.pages.join()
        self.num_rows += rows.num_rows

    def _held_bytes(self) -> int:
        """Return the memory of rows that are no page yet, natively written leaves not counted."""
        return sum(leaf.pages.memory_bytes for leaf in self._leaves)

    def hold_at_most(self, num_bytes: int) -> int:
        """Place the largest pages that wait if more than `num_bytes` wait; return the bytes that still do."""
        held_bytes, plain_bytes = self._held_bytes(), 0 if self._plain is None else self._plain.held_bytes
        waiting_bytes = held_bytes + plain_bytes
        if waiting_bytes <= num_bytes:
            return waiting_bytes
        # Half of what may wait goes on, in proportion.
        left = num_bytes // 2
        if self._plain is not None:
            most_left = left * plain_bytes // waiting_bytes
            self._place_plain(self._plain, self._plain.largest(most_left))
            plain_bytes = self._plain.held_bytes
        self._place_largest(held_bytes, max(left - plain_bytes, 0))
        return self._held_bytes() + plain_bytes

    def spread(self) -> None:
        """Write no leaves natively any more: their rows wait for pages as those of other leaves."""
        if self._plain is None:
            return
        plain, self._plain = self._plain, None
        full = []
        for left in plain.take(self._narrow_type):
            written = WrittenLeaf(left.plan, left.zones, left.num_bytes)
            pages = LeafPages(left.plan.leaf, self._page_bytes)
            leaf = LeafWriter(written, pages, left.num_rows, self._last.get(left.number))
            for array in left.arrays:
                full += [(leaf, arrays) for arrays in pages.add(array)]
            self._leaves.append(leaf)
        self._leaves.sort(key=lambda one: one.of.leaf.column)
        self._place(full, sum(array.nbytes for _, arrays in full for array in arrays))

    def finish(self) -> None:
        """Write what is left, and what describes the columns."""
        if self._plain is not None:
            self._place_plain(self._plain, self._plain.rest(), is_last=True)
        self._place_rest(self._leaves, is_last=True)
        if self._plain is not None:
            self._plain.describe()
        for leaf in self._leaves:
            self._describe(leaf.of)

    def _narrow_type(self, plan: LeafPlan) -> pa.DataType:
        """Return the type of the column of a leaf, whose structs have one field."""
        root = self._tree[plan.top]
        return _by_leaf(root, [pa.array([], root.field.type)])[plan.leaf.column][0].type

    def _place_plain(self, plain: PlainPages, jobs: Sequence[LeafJob], *, is_last: bool = False) -> None:
        """Encode and place pages of natively written leaves, in threads if they have many bytes."""
        wanted = [(plain.plan, job, self._facts_of(plain, job, is_last=is_last)) for job in jobs]
        run = map if sum(job.num_bytes for job in jobs) <= _SMALL_BYTES else self._runtime.ahead
        for job, asked in run(self._encode_job, wanted):
            for number in plain.place(job):
                page, encoded = asked.pop(number)
                self._add(page, encoded)
                plain.add_bytes(job.leaves[number], page.of.num_bytes)

    def _facts_of(self, plain: PlainPages, job: LeafJob, *, is_last: bool) -> dict[int, CarriedFacts]:
        """Begin the facts of pages of byte strings, in their order: others carry none."""
        facts = {}
        if plain.plan.has_strings:
            for number, leaf in enumerate(job.leaves):
                if leaf >= plain.plan.num_fixed and (leaf in self._last or not is_last):
                    facts[number] = self._last[leaf] = CarriedFacts(self._last.get(leaf))
        return facts

    def _encode_job(
        self, wanted: tuple[PlainPlan, LeafJob, dict[int, CarriedFacts]]
    ) -> tuple[LeafJob, dict[int, tuple[FullPage, EncodedPage | PendingPage]]]:
        """Encode pages natively, and in Python where only that knows how."""
        plain, job, facts = wanted
        asked = {}
        try:
            numbers = job.encode()
            for number in facts.keys() - set(numbers):
                facts[number].end()
            for number in numbers:
                plan = plain.leaves[job.leaves[number]]
                arrays = job.arrays(number, self._narrow_type(plan))
                page = FullPage(WrittenLeaf(plan, None), arrays, job.first_row(number), facts.get(number))
                asked[number] = page, self._encode(page)
        finally:
            for one in facts.values():
                one.end()
        return job, asked

    def _hold(self, leaves: Sequence[LeafWriter], columns: Mapping[int, Sequence[pa.Array]]) -> None:
        """Add arrays of top-level columns to leaves, and place the pages that are full."""
        of_leaves: dict[int, Sequence[pa.Array]] = {}
        for top in {leaf.of.plan.top for leaf in leaves}:
            of_leaves |= _by_leaf(self._tree[top], columns[top])
        full = [
            (leaf, arrays)
            for leaf in leaves
            for array in of_leaves[leaf.of.leaf.column]
            for arrays in leaf.pages.add(array)
        ]
        if full:
            self._place(full, sum(array.nbytes for _, arrays in full for array in arrays))
        self.hold_at_most(self._most_held_bytes)

    def _place_largest(self, held_bytes: int, most_left_bytes: int) -> None:
        """Place the largest pages that wait, until at most `most_left_bytes` wait."""
        largest = sorted(self._leaves, key=lambda leaf: leaf.pages.memory_bytes, reverse=True)
        full = []
        for leaf in largest:
            if held_bytes <= most_left_bytes:
                break
            held_bytes -= leaf.pages.memory_bytes
            full.append(leaf)
        self._place_rest(full)

    def _place_rest(self, leaves: Sequence[LeafWriter], *, is_last: bool = False) -> None:
        """Make pages of all rows of leaves that wait."""
        num_bytes = sum(leaf.pages.held_bytes for leaf in leaves)
        for start in range(0, len(leaves), _PLACED_LEAVES):
            some = leaves[start : start + _PLACED_LEAVES]
            self._place([(leaf, rest) for leaf in some if (rest := leaf.pages.rest())], num_bytes, is_last=is_last)

    def _place(
        self, full: Iterable[tuple[LeafWriter, Sequence[pa.Array]]], num_bytes: int, *, is_last: bool = False
    ) -> None:
        pages = []
        for leaf, arrays in full:
            if leaf.last is not None or not is_last:
                leaf.last = CarriedFacts(leaf.last)
            page = FullPage(leaf.of, arrays, leaf.next_row, leaf.last)
            leaf.next_row += page.num_rows
            pages.append(page)
        by_leaf: dict[int, list[FullPage]] = {}
        for page in pages:
            by_leaf.setdefault(page.of.leaf.column, []).append(page)
        is_small = self._place_pages(pages, num_bytes)
        # Encoding has refused what contradicts itself: zones need not.
        run = map if is_small else self._runtime.map
        for _ in run(add_to_zones, list(by_leaf.values())):
            pass

    def _place_pages(self, pages: Sequence[FullPage], num_bytes: int) -> bool:
        """Encode and place pages, in threads if they have many bytes; return whether they have few."""
        is_small = num_bytes <= _SMALL_BYTES
        for page, encoded in zip(pages, self._encoded(pages, is_small=is_small), strict=True):
            self._add(page, encoded)
        return is_small

    def _encoded(self, pages: Sequence[FullPage], *, is_small: bool) -> Iterator[EncodedPage | PendingPage]:
        return map(self._encode, pages) if is_small else self._runtime.ahead(self._encode, pages)

    def _encode(self, page: FullPage) -> EncodedPage | PendingPage:
        try:
            with located(column=page.of.leaf.path):
                options = page.of.plan.options
                content = shred(page.of.leaf, page.arrays)
                if page.of.leaf.field.nullable:
                    content = with_readable_items(content, options)
                return self._encoder.encode(content, options, page.facts)
        finally:
            if page.facts is not None:
                page.facts.end()

    def _add(self, page: FullPage, encoded: EncodedPage | PendingPage) -> None:
        if isinstance(encoded, PendingPage):
            places = [self._file.place(one) for one in encoded.outside]
            encoded = encoded.complete(np.array(places, np.int64))
        page.of.num_bytes += encoded.nbytes
        leaf = page.of.leaf
        length = page.num_rows * leaf.lengths_per_row
        self._file.add_page(
            leaf.column,
            encoded.description,
            encoded.buffers,
            length=length,
            priority=page.first_row,
            distribution=encoded.distribution,
        )

    def _describe(self, leaf: WrittenLeaf) -> None:
        found = leaf.zone_map() if self.num_rows else None
        rows_per_zone, buffers = (None, ()) if found is None else (found[0], found[1:])
        self._file.set_column(leaf.leaf.column, self._encoder.column(rows_per_zone), buffers)


def _by_leaf(root: ColumnNode, arrays: Sequence[pa.Array]) -> dict[int, Sequence[pa.Array]]:
    """Return the arrays of a top-level column for each of its leaves."""
    if isinstance(root, LeafNode):
        return {root.column: arrays}
    narrow = [leaf_arrays(root, array) for array in arrays]
    return {leaf.column: [own[number] for own in narrow] for number, leaf in enumerate(root.leaves())}


_NEVER_JOINED = (pa.DictionaryType, pa.BaseExtensionType)


def add_to_zones(pages: Sequence[FullPage]) -> None:
    """Bound the values of pages of one leaf, which follow each other."""
    zones = pages[0].of.zones
    if zones is not None:
        with located(column=pages[0].of.leaf.path):
            arrays = [array for page in pages for array in page.arrays]
            # Arrow joins no dictionaries with nulls among their items, and extension and nested arrays at a price.
            is_plain = not isinstance(arrays[0].type, _NEVER_JOINED) and not arrays[0].type.num_fields
            for array in _joined(arrays) if is_plain else arrays:
                zones.add(array)


def _joined(arrays: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Join short neighbours: a copy costs less than bounds of few values, which are merged in the end."""
    if len(arrays) == 1:
        yield arrays[0]
        return
    held: list[pa.Array] = []
    num_rows = num_bytes = 0
    for array in arrays:
        array_bytes = array.nbytes
        if held and (num_rows + len(array) > _JOINED_ROWS or num_bytes + array_bytes > _JOINED_BYTES):
            yield pa.concat_arrays(held) if len(held) > 1 else held[0]
            held, num_rows, num_bytes = [], 0, 0
        held.append(array)
        num_rows += len(array)
        num_bytes += array_bytes
    if held:
        yield pa.concat_arrays(held) if len(held) > 1 else held[0]
