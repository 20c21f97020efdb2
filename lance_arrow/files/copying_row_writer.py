"""`CopyingRowWriter`: a `RowWriter` whose pages may also come from other files, as they are.

CopiedRows ──► columns with large pages ──► StoredPages: bytes, compared with checksums ──► FileWriter
      │                └──► zone maps that fit, or values to bound ──► ZoneBuilder
      └──► other columns, decoded ──► pages, encoded as `write` does
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.container.descriptions import Description
from lance_arrow.files.copied_rows import CopiedColumn, CopiedRows, are_large_pages, copied_pages
from lance_arrow.files.row_writer import FullPage, LeafWriter, RowWriter, add_to_zones
from lance_arrow.statistics.zone_maps import ZoneMap

if TYPE_CHECKING:
    from lance_arrow.container.stored_pages import StoredPage

Decoded = Callable[[Sequence[int]], Iterator[Mapping[int, list[pa.Array]]]]
"""Decodes top-level columns, by number, as `RowWriter.write` wants their arrays."""


class CopyingRowWriter(RowWriter):
    """Writes the rows of one file; parameters are those of `RowWriter`."""

    def copy(self, rows: CopiedRows, decoded: Decoded) -> None:
        """Add rows: copy the pages of those columns that can be copied, and encode the others.

        A column is encoded, too, where rows wait that would make a small page before the copied ones.

        Parameters
        ----------
        rows
            The rows.
        decoded
            Decodes columns of them.

        Raises
        ------
        LanceError
            As `write`, `copied_pages` and reading; the file cannot be finished any more.
        """
        self.spread()
        waiting = {leaf.of.plan.top for leaf in self._leaves if _has_short_rest(leaf)}
        tops = sorted(rows.columns.keys() - waiting)
        columns = [rows.columns[top] for top in tops]
        copied = [leaf for leaf in self._leaves if leaf.of.plan.top in tops]
        others = [leaf for leaf in self._leaves if leaf.of.plan.top not in tops]
        held_bytes = sum(leaf.pages.held_bytes for leaf in copied)
        self._place([(leaf, rest) for leaf in copied if (rest := leaf.pages.rest())], held_bytes)
        unbounded = self._without_zones(columns, copied)
        wanted = sorted({leaf.of.plan.top for leaf in (*others, *unbounded)})
        for arrays in decoded(wanted) if wanted else ():
            self._hold(others, arrays)
            parts = [[FullPage(leaf.of, arrays[leaf.of.plan.top], leaf.next_row)] for leaf in unbounded]
            for _ in self._runtime.map(add_to_zones, parts):
                pass
        targets = dict(zip((source for one in columns for source in one.node.leaves()), copied, strict=True))
        for source, page in copied_pages(columns, self._runtime):
            self._add_copy(targets[source], page)
        for leaf in copied:
            leaf.next_row += rows.num_rows
        self.num_rows += rows.num_rows

    def _without_zones(self, columns: Sequence[CopiedColumn], copied: Sequence[LeafWriter]) -> list[LeafWriter]:
        """Add zone maps of columns to those of the new file; return the leaves whose values are needed instead."""
        bounded = [leaf.of.zones for leaf in copied if leaf.of.zones is not None]
        if all(zones.num_rows % zones.rows_per_zone for zones in bounded):
            # No zone map can be copied, so they are not read.
            return [leaf for leaf in copied if leaf.of.zones is not None]
        maps = [zone_map for column in columns for zone_map in column.zone_maps()]
        return [leaf for leaf, zone_map in zip(copied, maps, strict=True) if not _takes_zones(leaf, zone_map)]

    def _add_copy(self, leaf: LeafWriter, page: StoredPage) -> None:
        meta = page.meta
        leaf.of.num_bytes += int(meta.buffer_sizes.sum())
        self._file.add_page(
            leaf.of.leaf.column,
            Description(meta.message, meta.description, meta.distribution),
            page.buffers,
            length=meta.num_rows,
            priority=leaf.next_row + meta.first_row,
        )


def _has_short_rest(leaf: LeafWriter) -> bool:
    """Whether rows wait that would make a small page now."""
    num_rows = leaf.pages.held_rows
    return num_rows > 0 and not are_large_pages(1, num_rows, leaf.pages.held_bytes)


def _takes_zones(leaf: LeafWriter, zone_map: ZoneMap | None) -> bool:
    zones = leaf.of.zones
    return zones is None or (zone_map is not None and zones.add_zones(zone_map))
