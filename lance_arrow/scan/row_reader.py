"""`RowReader`: selected rows of selected columns of one open file, as Arrow record batches.

One call plans all pages of all leaves, fetches them in at most two rounds, and decodes each leaf into one destination.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import ref

import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import DecodedLeaf, batch_of
from lance_arrow.arrays.column_destination import Allocator, LeafBuffers, decode_values, overflow
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, refuse_unreadable
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.arrays.schema_cache import ByColumns
from lance_arrow.arrays.unravel import NodeStructure, unravel
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.engine import Blame, FileState, OpenPages, PagesWithRows, Refusal
from lance_arrow.errors import CorruptPageError, LanceError, ResourceLimitError, UnsupportedError, located
from lance_arrow.io import Positional
from lance_arrow.runtime import MANY_COLUMNS, Runtime, making_objects
from lance_arrow.scan.blobs.native_blobs import blob_limits
from lance_arrow.scan.file_pages import FilePages, Indices
from lance_arrow.scan.native_pages import PagesAtHand, PagesFound, left_to_layouts, pages_at_hand, positional_of
from lance_arrow.scan.native_take import Taken, take_leaves, take_noted
from lance_arrow.scan.read_counts import ReadCounts
from lance_arrow.scan.read_plan import ReadPlan
from lance_arrow.scan.sparse_selection import are_short, hull, in_order, is_cheaper_whole, marks_of, picked
from lance_arrow.spi.layouts import LoadedPage
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.page_scan import load_pages
from lance_arrow.structure.row_selection import halves

T = TypeVar("T")

_INT32_MAX = (1 << 31) - 1
_MAX_NOTED = 16


@dataclass(slots=True, eq=False)
class _Beside:
    """Leaves that the layouts have decoded while the engine's bytes were fetched, and their pages."""

    decoded: dict[int, DecodedLeaf] = field(default_factory=dict)
    num_pages: int = 0


class RowReader(FilePages):
    """Rows of one file.

    Parameters
    ----------
    file
        The open container.
    runtime
        Plugins, caches and limits.
    options
        How callers see columns; blobs are always read as descriptors here, `scan.blobs.blob_reader` reads the values.
    """

    def __init__(self, file: LanceFileReader, runtime: Runtime, options: ReadOptions | None = None) -> None:
        super().__init__(file, runtime, options)
        self._blob_read_plans: ByColumns[ReadPlan] = ByColumns()
        # None for columns that were read once.
        self._noted: dict[ReadPlan, ref[OpenPages] | None] = {}
        self._last_noted: tuple[tuple[ColumnNode, ...], ReadPlan, ref[OpenPages]] | None = None

    def plan_of(self, nodes: Sequence[ColumnNode]) -> ReadPlan:
        """Return what reads of columns ask of the schema."""
        plan: ReadPlan = self._shown.plans.of(nodes, lambda: ReadPlan.of(nodes))
        return plan

    def read(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None = None
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read rows of (pruned) columns.

        Parameters
        ----------
        nodes
            Columns to read, as `project` returns them.
        rows
            Which rows of the file.
        pool
            Arrow memory pool of the result; the default one when None.

        Returns
        -------
        batches
            In row order; more than one only where 32-bit offsets would overflow.
        counts
            Pages and leaves touched.

        Raises
        ------
        UnknownEncodingError, UnsupportedError, CorruptFileError, TruncatedReadError, ResourceLimitError
            With file, column and page.
        """
        begun = time.perf_counter()
        done = self._pick(nodes, rows, pool) if are_short(rows) else None
        batches, counts = self._read_natively(nodes, rows, pool, is_scan=True) if done is None else done
        counts.seconds = time.perf_counter() - begun
        return batches, counts

    def _pick(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None
    ) -> tuple[list[pa.RecordBatch], ReadCounts] | None:
        """Decode all rows between the first and the last where that costs less than finding many short runs of them.

        The engine finds them in some columns as fast as it decodes. None where that is so in all, or runs are few.
        """
        close = self._close_nodes(nodes, rows)
        rest = [node for node in nodes if node not in close]
        num_leaves, settings = sum(len(list(node.leaves())) for node in rest), self.runtime.settings
        spare_bytes = settings.window_bytes(settings.num_threads + 1)
        if not num_leaves or not is_cheaper_whole(rows, self.weights(rest), num_leaves, spare_bytes):
            return None
        parts = [
            (rest, self.read(rest, hull(rows), pool)),
            (close, self._read_natively(close, rows, pool, is_scan=True)),
        ]
        if any(len(batches) != 1 for _, (batches, _) in parts):
            return None  # too many bytes for one batch
        (_, ([among], _)), (_, ([found], _)) = parts
        columns = (*picked(among, marks_of(rows), pool).columns, *found.columns)
        batch = in_order(nodes, (*rest, *close), columns)
        paths = tuple(leaf.path for node in nodes for leaf in node.leaves())
        return [batch], ReadCounts(sum(counts.pages for _, (_, counts) in parts), paths)

    def _close_nodes(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> list[ColumnNode]:
        """Return the columns of which the engine reads many short runs as fast as all rows; none of a far file."""
        plans = self.plan_of(nodes).plans
        if not plans or self.source.coalescing.is_far or positional_of(self.source) is None:
            return []
        with located(path=self.file.name):
            pages = self._pages_of([plan.leaf for plan in plans], rows).wanted
        close = {
            plan.leaf.column
            for plan, of_leaf in zip(plans, pages, strict=True)
            if not any(plan.leaf.list_columns)
            and plan.leaf.lengths_per_row == 1
            and all(page is not None and page.picks_close_rows for page, *_ in of_leaf)
        }
        return [node for node in nodes if close.issuperset(leaf.column for leaf in node.leaves())]

    def _read(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None, indices: Indices
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read as `read` does; `indices` are at hand already, whether or not the cache could keep them."""
        leaves = [leaf for node in nodes for leaf in node.leaves()]
        with located(path=self.file.name):
            batch, num_pages = self._decode_leaves(
                leaves, rows, pool, lambda decoded: batch_of(nodes, decoded, rows.num_rows), indices
            )
            counts = ReadCounts(num_pages, tuple(leaf.path for leaf in leaves))
            return ([batch] if batch is not None else self._read_parts(nodes, halves(rows), pool)), counts

    def _decode_leaves(
        self,
        leaves: Sequence[LeafNode],
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        finish: Callable[[dict[int, DecodedLeaf]], T],
        indices: Indices,
    ) -> tuple[T | None, int]:
        """Decode leaves, let `finish` make a batch of them, and count pages; None where 32-bit offsets overflow."""
        for leaf in leaves:
            refuse_unreadable(leaf)
        tasks, spans = self._tasks(leaves, rows, indices)
        pages = load_pages(self.source, tasks, self.runtime.indices)
        of_leaf = [pages[start:stop] for start, stop in spans]
        if overflow(leaves, of_leaf) and rows.num_rows > 1:
            return None, len(tasks)
        decoded = {}
        try:
            for leaf, leaf_pages in zip(leaves, of_leaf, strict=True):
                with located(column=leaf.path):
                    decoded[leaf.column] = self._decode(leaf, leaf_pages, pool)
            return finish(decoded), len(tasks)
        except LanceError as error:
            from lance_arrow.scan.page_faults import find_page  # noqa: PLC0415 - for errors alone

            of_task = [tasks[start:stop] for start, stop in spans]
            find_page(error, leaves, of_task, of_leaf, lambda leaf, page: self._decode(leaf, [page], pool))
            raise

    def take(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None = None
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read scattered rows: as `read` does, through the native engine where it can.

        Parameters, results and errors are those of `read`.
        """
        begun = time.perf_counter()
        batches, counts = self._read_natively(nodes, rows, pool, is_scan=False)
        counts.seconds = time.perf_counter() - begun
        return batches, counts

    def take_noted(
        self, nodes: Sequence[ColumnNode], rows: Any, first: int, schema: pa.Schema, state: FileState | None = None
    ) -> pa.Table | None:
        """Read few rows of pages that were read before, in one native call.

        Parameters
        ----------
        nodes
            As for `read`.
        rows
            Row numbers of any kind.
        first
            The number of the file's first row.
        schema
            Of the table: columns are those of `nodes`.
        state
            What tells that the file at its path is still the one that is open; None if that is not compared.

        Returns
        -------
        Table or None
            None where that is not all there is to do: `take` reads other rows, and says what is wrong.
        """
        last = self._last_noted
        if last is None or last[0] is not nodes:
            wanted = self.plan_of(nodes)
            noted = self._noted.get(wanted)
            if noted is None:
                return None
            # The same object for takes of all columns; a list might change.
            self._last_noted = (nodes, wanted, noted) if isinstance(nodes, tuple) else None
        else:
            _, wanted, noted = last
        opened, source = noted(), self.source
        place = None if opened is None else positional_of(source)
        if opened is None or place is None or place.files is not None:
            self._last_noted = None
            return None
        where = (rows, first, self.num_rows), (source, place), self.runtime
        taken = take_noted(wanted, opened, *where, _INT32_MAX, schema, state)
        if not isinstance(taken, Refusal):
            return taken
        if taken.blame in (Blame.CALLER, Blame.OFFSETS):
            return None  # the file has changed, or rows are read in parts
        raise self.error_of(taken, wanted)

    def take_with_blobs(self, nodes: Sequence[ColumnNode], rows: RowRanges) -> tuple[pa.RecordBatch, ReadCounts] | None:
        """Read scattered rows with few bytes of blobs in place of their descriptors, all of it by the native engine.

        Parameters
        ----------
        nodes, rows
            As for `read`.

        Returns
        -------
        tuple or None
            The rows as callers see them, and what was touched. None where the engine refuses: `take` can say why.
        """
        source = self.source
        data_stop = self.file.footer.data_stop
        wanted = self._blob_read_plans.of(nodes, lambda: ReadPlan.of(nodes, blob_limits(data_stop, self.runtime)))
        place = positional_of(source)
        if place is None or not len(rows) or len(wanted.plans) < len(wanted.leaves):
            return None
        num_rows = rows.num_rows
        with located(path=self.file.name):
            found = self.find_pages(wanted, rows)
            try:
                done = take_leaves(
                    wanted, found.pages, (rows, num_rows), (source, place), self.runtime, None, 1, _INT32_MAX
                )
                found.keep_counted(self.runtime.indices)
                if not isinstance(done, list) or None in done:
                    return None
                return wanted.batch(wanted.decoded(done), num_rows), ReadCounts(found.pages.num_pages, wanted.paths)
            except (ResourceLimitError, CorruptPageError, UnsupportedError):
                return None

    def _read_natively(
        self, nodes: Sequence[ColumnNode], rows: RowRanges, pool: pa.MemoryPool | None, *, is_scan: bool
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Let the engine read what it can. Windows of a scan share the threads, a take has all of them."""
        wanted = self.plan_of(nodes)
        if not rows.starts.size:
            with located(path=self.file.name):
                return [wanted.no_rows()], ReadCounts(0, wanted.paths)
        if not wanted.leaves:
            return [batch_of(nodes, {}, rows.num_rows)], ReadCounts(0, ())
        if not wanted.plans:
            return self._read(nodes, rows, pool, {})
        try:
            if len(wanted.plans) < MANY_COLUMNS:
                return self._read_planned(nodes, wanted, rows, pool, is_scan=is_scan)
            with making_objects(len(wanted.plans)):
                return self._read_planned(nodes, wanted, rows, pool, is_scan=is_scan)
        except LanceError as error:
            located(path=self.file.name).fill(error)
            raise

    def _refuse_unread(self, wanted: ReadPlan, found: PagesAtHand) -> None:
        from lance_arrow.scan.refused_rows import refuse_unread  # noqa: PLC0415 - for errors, and layouts of strangers

        refuse_unread(self, wanted, found)

    def _read_planned(
        self,
        nodes: Sequence[ColumnNode],
        wanted: ReadPlan,
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        *,
        is_scan: bool,
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        source, num_rows = self.source, rows.num_rows
        place: Positional | Refusal | None = positional_of(source)
        num_threads = 1 if is_scan else self.runtime.settings.num_threads
        beside = _Beside()
        pages, found = self.pages_with(wanted, rows)
        if place is None:
            place, pages = self._fetched(wanted, pages, found, rows, pool, beside)
        if isinstance(place, Refusal):
            done: Taken = place
        else:
            where = (rows, num_rows), (source, place), self.runtime
            done = take_leaves(wanted, pages, *where, pool, num_threads, _INT32_MAX)
        if found is not None:
            found.keep_counted(self.runtime.indices)
        if isinstance(done, pa.RecordBatch):
            return [done], ReadCounts(pages.num_pages, wanted.paths)
        if isinstance(done, Refusal) and (done.blame != Blame.OFFSETS or num_rows == 1):
            raise self.error_of(done, wanted)
        if isinstance(done, Refusal) or (num_rows > 1 and wanted.has_many_bytes(done)):
            return self._read_parts(nodes, halves(rows), pool), ReadCounts(pages.num_pages, wanted.paths)
        decoded = {**wanted.decoded(done), **beside.decoded}
        num_pages = pages.num_pages + beside.num_pages
        return self._completed(nodes, wanted, decoded, rows, pool, num_pages, found)

    def error_of(self, refusal: Refusal, wanted: ReadPlan) -> BaseException:
        """Return the error of leaves that the engine refused."""
        from lance_arrow.scan.refused_rows import error_of  # noqa: PLC0415 - for errors alone

        return error_of(refusal, wanted.plans, self)

    def _completed(
        self,
        nodes: Sequence[ColumnNode],
        wanted: ReadPlan,
        decoded: dict[int, DecodedLeaf | pa.Array],
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        num_pages: int,
        found: PagesFound | None,
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Let layouts of strangers read what the engine did not."""
        num_rows, loaded = rows.num_rows, {} if found is None else found.loaded
        if len(decoded) == len(wanted.leaves):
            return [wanted.batch(decoded, num_rows)], ReadCounts(num_pages, wanted.paths)
        if found is not None:
            self._refuse_unread(wanted, found.at_hand)
            parts = found.at_hand.by_reader(wanted.plans, rows)
            if len(parts) > 1:
                return self._read_parts(nodes, parts, pool), ReadCounts(num_pages, wanted.paths)
        if not decoded:
            return self._read(nodes, rows, pool, loaded)
        others = [leaf for leaf in wanted.leaves if leaf.column not in decoded]
        batch, more_pages = self._decode_leaves(
            others, rows, pool, lambda rest: wanted.batch({**decoded, **rest}, num_rows), loaded
        )
        if batch is None:
            return self._read_parts(nodes, halves(rows), pool), ReadCounts(num_pages + more_pages, wanted.paths)
        return [batch], ReadCounts(num_pages + more_pages, wanted.paths)

    def _fetched(
        self,
        wanted: ReadPlan,
        pages: PagesWithRows,
        found: PagesFound | None,
        rows: RowRanges,
        pool: pa.MemoryPool | None,
        beside: _Beside,
    ) -> tuple[Positional | Refusal, PagesWithRows]:
        """Fetch what the engine needs of a far file, while the layouts read the leaves that are theirs.

        Both wait for waves of requests. What the layouts have decoded goes to `beside`.
        """
        from lance_arrow.scan.far_leaves import fetched  # noqa: PLC0415 - for far files alone

        at_hand = None if found is None else found.at_hand

        def fetch() -> tuple[Positional | Refusal, PagesWithRows]:
            return fetched(wanted, pages, at_hand, rows, self.source, self.runtime)

        natively = {plan.leaf.column for plan in wanted.plans}
        if at_hand is not None:
            left = left_to_layouts(wanted.plans, at_hand)
            natively -= {leaf.column for leaf in left}
            if left:
                self._refuse_unread(wanted, at_hand)
        others = [leaf for leaf in wanted.leaves if leaf.column not in natively]
        if not others or not natively:
            return fetch()

        def decode() -> tuple[Positional | Refusal, PagesWithRows] | None:
            decoded, beside.num_pages = self._decode_leaves(others, rows, pool, dict, {})
            beside.decoded = decoded or {}
            return None

        place, _ = self.runtime.side_by_side(lambda call: call(), [fetch, decode])
        assert place is not None
        return place

    def keep_indices(self, nodes: Sequence[ColumnNode], rows: RowRanges | None = None) -> None:
        wanted = self.plan_of(nodes)
        if not wanted.plans:
            super().keep_indices(nodes, rows)
            return
        rows = RowRanges.one(0, self.num_rows) if rows is None else rows
        with located(path=self.file.name):
            natively = [plan.leaf for plan in wanted.plans]
            is_near = positional_of(self.source) is not None
            found = self._pages_of(natively, rows)
            found.keep(self.runtime.indices)
            others = [leaf for leaf in self._readable(nodes) if leaf not in natively]
            if not is_near and len(rows):
                from lance_arrow.scan.far_leaves import fetched  # noqa: PLC0415 - for far files alone

                others += left_to_layouts(wanted.plans, found)
                pages = PagesWithRows(wanted.forms, found.wanted)
                fetched(wanted, pages, found, rows, self.source, self.runtime, indices_only=True)
                found.count(self.runtime.indices)
            self._load_indices(others, rows)

    def pages_with(self, wanted: ReadPlan, rows: RowRanges) -> tuple[PagesWithRows, PagesFound | None]:
        """Find the pages that hold the rows, natively where all were noted; else return how they were found, too."""
        noted = self._noted.get(wanted)
        opened = None if noted is None else noted()
        pages = None if opened is None else opened.find(rows.starts, rows.stops)
        if pages is not None:
            return pages, None
        found = self.find_pages(wanted, rows)
        return found.pages, found

    def find_pages(self, wanted: ReadPlan, rows: RowRanges) -> PagesFound:
        """Find the pages that hold the rows; those of columns that are read again are noted."""
        leaves = [plan.leaf for plan in wanted.plans]
        found = self._pages_of(leaves, rows)
        if found.lists is not None or wanted.counts_structs:
            # Rows do not tell which pages below lists they need, or are not those that pages count.
            return PagesFound(PagesWithRows(wanted.forms, found.wanted, found.lists), found, None)
        opened = None
        if wanted in self._noted:
            noted = self._noted[wanted]
            opened = None if noted is None else noted()
            if opened is None:
                opened = OpenPages(wanted.forms, [meta.page_starts for meta in self.metas(leaves)])
                # The cache keeps it, as it keeps the pages.
                self.runtime.indices.put_view((self._token, wanted), opened)
                self._noted[wanted] = ref(opened)
        else:
            if len(self._noted) >= _MAX_NOTED:
                self._noted = {}
            self._noted[wanted] = None
        return PagesFound(PagesWithRows(wanted.forms, found.wanted), found, opened)

    def _pages_of(self, leaves: Sequence[LeafNode], rows: RowRanges) -> PagesAtHand:
        """The pages that hold the rows, as the engine reads them."""
        return pages_at_hand(self, leaves, self.metas(leaves), rows)

    def _decode(self, leaf: LeafNode, pages: list[LoadedPage], pool: pa.MemoryPool | None) -> DecodedLeaf:
        allocator = Allocator(self.runtime.settings.limits, pool)
        structure = unravel([page.levels for page in pages], leaf.offset_bits, leaf.dimensions, allocator)
        return DecodedLeaf(_values(leaf, pages, structure[0], allocator), structure)

    def decode_pages(
        self, leaf: LeafNode, pages: list[LoadedPage], pool: pa.MemoryPool | None
    ) -> tuple[NodeStructure, LeafBuffers | pa.Array]:
        """Decode pages that know of nothing above their column."""
        allocator = Allocator(self.runtime.settings.limits, pool)
        (own,) = unravel([page.levels for page in pages], (0,), (0,), allocator)
        return own, _values(leaf, pages, own, allocator)

    def _read_parts(
        self, nodes: Sequence[ColumnNode], parts: Sequence[RowRanges], pool: pa.MemoryPool | None
    ) -> list[pa.RecordBatch]:
        return [batch for part in parts for batch in self.read(nodes, part, pool)[0]]


def _values(
    leaf: LeafNode, pages: list[LoadedPage], own: NodeStructure, allocator: Allocator
) -> LeafBuffers | pa.Array:
    if leaf.leaf.items is not None:
        from lance_arrow.arrays.dictionaries import decode_dictionary  # noqa: PLC0415 - for dictionaries alone

        return decode_dictionary(pages, leaf, own, allocator)
    return decode_values(pages, leaf.leaf.shape, allocator)
