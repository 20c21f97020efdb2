"""`PlainPages`: rows of natively written leaves of one file, which become one page of each leaf.

batches ──► held until the end of the file ──► LeafPages: pages, bounds, checksums, metadata ──► FileWriter
                 └──► `take`: too many rows for one page: the rows go `RowWriter`'s way
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.page_split import MAX_PAGE_LEVELS
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.engine import LeafPages
from lance_arrow.errors import located
from lance_arrow.files.plain_leaves import PlainPlan
from lance_arrow.statistics.zone_bounds import fixed_bounds
from lance_arrow.statistics.zone_builder import ZoneBuilder

_PIECE_BYTES = 4 << 20
"""Encoded bytes that are held at once."""


class PlainPages:
    """Rows of the leaves of a `PlainPlan`.

    Parameters
    ----------
    file
        Where pages go.
    plan
        The leaves.
    page_bytes
        Most bytes of a page.
    """

    def __init__(self, file: FileWriter, plan: PlainPlan, page_bytes: int) -> None:
        self._file = file
        self.plan = plan
        self._most_rows = min(8 * page_bytes // plan.most_bits, MAX_PAGE_LEVELS)
        self._held: list[pa.RecordBatch] = []
        self._num_rows = 0
        self._pages: LeafPages | None = None

    @property
    def held_bytes(self) -> int:
        """Bytes of the rows that are held."""
        return self._num_rows * self.plan.row_bytes

    def has_room(self, num_rows: int, most_bytes: int) -> bool:
        """Return whether rows still fit one page of each leaf, and all of them so many bytes."""
        num_rows += self._num_rows
        return num_rows <= self._most_rows and num_rows * self.plan.row_bytes <= most_bytes

    def hold(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Add rows: batches of the plan's columns."""
        self._held += batches
        self._num_rows += sum(batch.num_rows for batch in batches)

    def take(self) -> list[pa.RecordBatch]:
        """Return the held rows, and hold them no more."""
        held, self._held = self._held, []
        self._num_rows = 0
        return held

    def place(self) -> list[tuple[int, pa.Array]]:
        """Write all pages but those that only Python can encode; return these leaves and their values."""
        self._pages = LeafPages(self.plan.native, self._file.records, self._file.sums)
        held, num_rows = self._held, self._num_rows
        if not num_rows:
            return []
        self._held = []
        if len(held) > 1:
            held = pa.Table.from_batches(held).combine_chunks().to_batches()
        (batch,) = held
        asked: list[tuple[int, pa.Array]] = []
        leaf = 0
        while leaf < len(self.plan.leaves):
            data, leaf, left = self._pages.encode(batch, leaf, self._file.position, _PIECE_BYTES)
            if data:
                self._file.append(data)
            asked += [(number, batch.column(number)) for number in left]
        return asked

    def describe(self, page_bytes: dict[int, int]) -> None:
        """Write zone maps and describe the columns; `page_bytes` has the bytes of the pages that Python encoded."""
        assert self._pages is not None
        plan, file = self.plan, self._file
        region, others = self._pages.zone_maps(plan.with_zones, plan.without_zones, file.position)
        if region:
            file.append_zone_maps(region)
        for number in others:
            one = plan.leaves[number]
            with located(column=one.leaf.path):
                mins, maxs, counts, num_bytes = self._pages.zones(number)
                zones = ZoneBuilder(one.leaf, one.rows_per_zone)
                zones.add_bounds(fixed_bounds(one.leaf.storage, mins, maxs, counts), self._num_rows)
                data = zones.encode(page_bytes.get(number, num_bytes))
            description = plan.encoder.column(zones.rows_per_zone)
            file.set_column(one.leaf.column, description, [np.frombuffer(data, np.uint8)])
