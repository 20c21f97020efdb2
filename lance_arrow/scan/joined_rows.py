"""`JoinedRowReader`: rows of many small files read as one, whose pages the engine opens many at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.joined_files import JoinedColumn, JoinedFiles
from lance_arrow.engine import Blame, NativePage, Refusal
from lance_arrow.errors import FileChangedError, located
from lance_arrow.runtime import Runtime, making_objects
from lance_arrow.scan.file_pages import Wrapper
from lance_arrow.scan.native_pages import PagesAtHand, page_without_index
from lance_arrow.scan.native_take import Pages
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.read_plan import ReadPlan
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.spi.layouts import OpensManyPages
from lance_arrow.spi.rows import RowRanges
from lance_arrow.statistics.zone_maps import ZoneMap, decode_zones
from lance_arrow.statistics.zone_streams import StoredZones
from lance_arrow.statistics.zone_types import COUNTS, bounds_type
from lance_arrow.structure.page_scan import PageTask, load_indices
from lance_arrow.structure.row_selection import pages_with

if TYPE_CHECKING:
    from lance_arrow.pruning.zone_predicates import ZonePredicate
    from lance_arrow.pruning.zone_pruning import PruneResult
    from lance_arrow.scan.fragments.table_zones import BoundedZones

_OBJECTS_OF_A_PAGE = 4


class JoinedOpenFile(OpenFile):
    """Joined files as one open file. Of files that are in memory no zone map is looked at: decoding takes less time."""

    rows: JoinedRowReader

    @property
    def row_starts(self) -> NDArray[np.int64]:
        """As `RowSource.row_starts`."""
        return self.rows.file.row_starts

    def prune(self, predicate: ZonePredicate | None, within: RowRanges) -> PruneResult:
        """Ask the zone maps of files whose ends are here; see `prune_rows`."""
        from lance_arrow.scan.fragments.table_zones import prune_fragment  # noqa: PLC0415 - for filters alone

        zones = {}
        for path in () if predicate is None else predicate.fields:
            found = self.bounded_zones(path)
            if found is not None:
                zones[path] = found
        return prune_fragment(zones, self.num_physical, predicate, within)

    def bounded_zones(self, path: Path) -> BoundedZones | None:
        """Return the zones of a column in all files; as `JoinedFragments.bounded_zones`."""
        from lance_arrow.scan.fragments.table_zones import BoundedZones  # noqa: PLC0415 - as above

        leaf = leaf_at(self.roots, path) if len(path) == 1 and self.rows.file.has_ends else None
        if leaf is None or leaf.column < 0 or bounds_type(leaf) is None:
            return None
        found = self.rows.zones(leaf)
        return None if found is None else BoundedZones(*found)


def opened_as_one(files: JoinedFiles, runtime: Runtime, options: ReadOptions) -> JoinedOpenFile:
    """Return joined files as one open file, without blobs."""
    source = files.apart
    if source is not None and source.coalescing.is_far:
        source.keep_in(runtime.far_bytes)
    return JoinedOpenFile(files.source, JoinedRowReader(files, runtime, options), fetched=files.fetched)


class JoinedRowReader(RowReader):
    """Rows of joined files; see `RowReader`. A page's index is kept as long as the reader.

    Parameters
    ----------
    file
        The files.
    runtime, options
        As for `RowReader`.
    """

    file: JoinedFiles  # type: ignore[assignment]

    def __init__(self, file: JoinedFiles, runtime: Runtime, options: ReadOptions | None = None) -> None:
        super().__init__(file, runtime, options)  # type: ignore[arg-type]
        self._pages: dict[int, Pages] = {}

    def divisible_bytes(self, nodes: Sequence[ColumnNode]) -> int:
        """Return 0: other files are read meanwhile, so that dividing the rows of these keeps no thread busy."""
        return 0

    def keep_indices(self, nodes: Sequence[ColumnNode], rows: RowRanges | None = None) -> None:
        """Load indices of pages, unless that is a wave of requests: windows then ask for them with their rows."""
        if not self.file.has_ends:
            super().keep_indices(nodes, rows)

    def zones(self, leaf: LeafNode) -> tuple[NDArray[np.int64], NDArray[np.int64], ZoneMap] | None:
        """Return the zones of a leaf in all files that have a zone map of it; None if none has.

        Returns
        -------
        starts, stops, zone_map
            ``(n,) int64``: first row of each zone, and the one after its last; and the ``n`` zones.

        Raises
        ------
        LanceError
            A zone map is damaged, or cannot be read.
        """
        (meta,) = self.metas([leaf])
        assert isinstance(meta, JoinedColumn)
        limits, binder = self.runtime.settings.limits, self.runtime.binder
        found: list[tuple[int, int, int, int]] = []
        for number, own in enumerate(self.file.column_buffers(leaf.column)):
            if own is None:
                continue
            described, places, sizes = own
            bound = binder.column(described.message, described.value, len(places))
            if bound.zone_map is not None and not bound.holds_descriptors:
                buffer = bound.zone_map.column_buffer
                limits.check("max_metadata_bytes", int(sizes[buffer]))
                place = int(places[buffer])
                found.append((number, bound.zone_map.rows_per_zone, place, place + int(sizes[buffer])))
        if not found:
            return None
        sides = np.array([place for _, _, *place in found], np.int64)
        buffers = self.source.read(*np.ascontiguousarray(sides.T))
        firsts = self.file.row_starts
        starts, stops, maps = [], [], []
        for (number, rows_per_zone, *_), data in zip(found, buffers, strict=True):
            first, last = int(firsts[number]), int(firsts[number + 1])
            made = decode_zones(data, leaf, limits, rows_per_zone=rows_per_zone, num_rows=last - first)
            if made is not None and made.num_zones and not made.is_repeated:
                begins = first + np.arange(made.num_zones, dtype=np.int64) * rows_per_zone
                starts.append(begins)
                stops.append(np.minimum(begins + rows_per_zone, last))
                maps.append(made)
        if not maps:
            return None
        return np.concatenate(starts), np.concatenate(stops), _as_one(maps)

    def error_of(self, refusal: Refusal, wanted: ReadPlan) -> BaseException:
        """Return the error of leaves that the engine refused; one of a file that was replaced is of its own kind."""
        if refusal.blame == Blame.SHORT and self.file.apart is not None:
            try:
                self.file.apart.check_versions()
            except FileChangedError as error:
                return error
        return super().error_of(refusal, wanted)

    def _wrappers(self, metas: Sequence[JoinedColumn]) -> Sequence[Iterable[Wrapper]]:  # type: ignore[override]
        return [
            [(described.message, described.value, num_buffers) for described, num_buffers in meta.wrappers]
            for meta in metas
        ]

    def _pages_of(self, leaves: Sequence[LeafNode], rows: RowRanges) -> PagesAtHand:
        metas, wanted = self.metas(leaves), []
        with making_objects(_OBJECTS_OF_A_PAGE * sum(len(meta.pages) for meta in metas)):
            for leaf, meta in zip(leaves, metas, strict=True):
                pages = self._pages.get(leaf.column)
                if pages is None:
                    pages = self._pages[leaf.column] = self._opened(leaf, meta)  # type: ignore[arg-type]
                numbers = pages_with(rows, meta.page_starts)
                wanted.append(pages if len(numbers) == len(pages) else [pages[number] for number in numbers])
        return PagesAtHand(wanted, are_kept=True)

    def _opened(self, leaf: LeafNode, meta: JoinedColumn) -> Pages:
        """Open the indices of all pages of a leaf, those of one description together."""
        pages = meta.pages
        natives: list[NativePage | None] = [None] * len(pages)
        alone: list[int] = []
        order = np.argsort(pages.description_of, kind="stable")
        for group in np.split(order, np.flatnonzero(np.diff(pages.description_of[order])) + 1):
            if not len(group):
                continue
            with located(column=leaf.path):
                found = self._together(leaf, meta, group)
            if found is None:
                alone += group.tolist()
                continue
            for number, native in zip(group.tolist(), found, strict=True):
                natives[number] = native
        self._open_alone(leaf, meta, alone, natives)
        buffers = zip(pages.borders[:-1].tolist(), pages.borders[1:].tolist(), strict=True)
        starts, sizes = pages.starts.tolist(), pages.sizes.tolist()
        firsts = meta.page_starts[:-1].tolist()
        return [
            (native, first_row, starts[first:stop], sizes[first:stop])
            for native, first_row, (first, stop) in zip(natives, firsts, buffers, strict=True)
        ]

    def _together(self, leaf: LeafNode, meta: JoinedColumn, group: Any) -> Sequence[NativePage] | None:
        """Open pages of one description; None where they are opened one by one, or row indices must be proven."""
        if self.runtime.indices.proves_rows:
            return None
        layout = self._bound(leaf, meta, int(group[0]))  # type: ignore[arg-type]
        pages = meta.pages
        counts = pages.borders[group + 1] - pages.borders[group]
        if not isinstance(layout, OpensManyPages) or (counts != counts[0]).any():
            return None
        places = pages.borders[group][:, None] + np.arange(counts[0])
        num_rows = meta.page_starts[group + 1] - meta.page_starts[group]
        return layout.native_pages(num_rows, pages.sizes[places])

    def _open_alone(
        self, leaf: LeafNode, meta: JoinedColumn, numbers: Sequence[int], natives: list[NativePage | None]
    ) -> None:
        tasks = []
        for number in numbers:
            layout = self._bound(leaf, meta, number)  # type: ignore[arg-type]
            natives[number] = page_without_index(layout, meta.pages.facts(number), self.runtime.indices)
            if natives[number] is None:
                page = meta.pages[number]
                tasks.append((number, PageTask(leaf.path, page, layout, RowRanges.one(0, page.num_rows))))
        if tasks:
            load_indices(self.source, [task for _, task in tasks], self.runtime.indices, with_whole_pages=False)
        for number, task in tasks:
            natives[number] = getattr(task.index, "native", None)


def _as_one(maps: Sequence[ZoneMap]) -> ZoneMap:
    """Join the zones of files: column by column, since a batch of each map takes longer than reading it."""
    arrays: dict[str, pa.Array] = {
        "min": pa.concat_arrays([one.low for one in maps]),
        "max": pa.concat_arrays([one.high for one in maps]),
    }
    for bound in ("min", "max"):
        arrays[f"{bound}_exact"] = pa.array(np.concatenate([one.are_exact(bound) for one in maps]))
    names = ("row_count",) if all(one.counts_nothing_but_values for one in maps) else COUNTS
    counts = {name: np.concatenate([one.counts(name) for one in maps]) for name in names}
    return ZoneMap.stored(StoredZones(len(arrays["min"]), arrays, counts), 1, is_repeated=False)
