"""`PlainPages`: rows of natively written leaves of one file, which become one page of each leaf.

batches ──► held until the end of the file ──► LeafPages: pages, bounds, checksums, metadata ──► FileWriter
                 └──► `take`: too many rows for one page: the rows go `RowWriter`'s way
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.page_split import MAX_PAGE_LEVELS
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.engine import LeafPages
from lance_arrow.errors import located
from lance_arrow.files.plain_leaves import PlainPlan
from lance_arrow.spi import VariableWidth
from lance_arrow.statistics.zone_bounds import fixed_bounds, string_bounds
from lance_arrow.statistics.zone_builder import ZoneBuilder

if TYPE_CHECKING:
    from lance_arrow.files.writer_plan import LeafPlan

_PIECE_BYTES = 4 << 20
"""Encoded bytes that are held at once."""
_MOST_STRING_BYTES = 256 << 10
"""Larger pages of strings are compressed, which is chosen in Python and done by several threads."""


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
        self._most_string_bytes = min(page_bytes, _MOST_STRING_BYTES)
        self._num_leaves = len(plan.leaves)
        self._string_bytes = self._largest_bytes = 0
        self._held: list[pa.RecordBatch] = []
        self._num_rows = 0
        self._pages: LeafPages | None = None

    @property
    def held_bytes(self) -> int:
        """Bytes of the rows that are held."""
        return self._num_rows * self.plan.row_bytes + self._string_bytes

    @property
    def leaves(self) -> Sequence[LeafPlan]:
        """The leaves that are still written natively."""
        return self.plan.leaves[: self._num_leaves]

    @property
    def num_tops(self) -> int:
        """How many columns are still written natively, the first of the plan's."""
        return len(self.plan.tops) if self._num_leaves == len(self.plan.leaves) else self.plan.num_fixed_tops

    def has_room(self, num_rows: int, most_bytes: int) -> bool:
        """Return whether rows still fit one page of each leaf, and all of them so many bytes.

        If they do, and there are strings, `has_room_for_strings` is asked as well.
        """
        num_rows += self._num_rows
        return num_rows <= self._most_rows and num_rows * self.plan.row_bytes + self._string_bytes <= most_bytes

    def has_room_for_strings(self, batches: Sequence[pa.RecordBatch], most_bytes: int) -> bool:
        """Count the strings of batches; return whether they fit small pages, and all held rows so many bytes."""
        if self._num_leaves == self.plan.num_fixed:
            return True
        for batch in batches:
            total, largest = self.plan.native.string_bytes(batch)
            self._string_bytes += total
            self._largest_bytes += largest
        return self._largest_bytes <= self._most_string_bytes and self.held_bytes <= most_bytes

    def hold(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Add rows: batches of the plan's columns."""
        self._held += map(self._own, batches)
        self._num_rows += sum(batch.num_rows for batch in batches)

    def take_strings(self) -> tuple[Sequence[LeafPlan], list[pa.RecordBatch]]:
        """Write no columns with strings natively any more; return their leaves, and the held rows of all columns."""
        held, leaves = self._held, self.leaves[self.plan.num_fixed :]
        self._num_leaves = self.plan.num_fixed
        self._string_bytes = 0
        self._held = list(map(self._own, held))
        return leaves, held

    def _own(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Drop the columns that are not written natively any more: their bytes belong to who writes them."""
        return batch if batch.num_columns == self.num_tops else batch.select(range(self.num_tops))

    def take(self) -> list[pa.RecordBatch]:
        """Return the held rows, and hold them no more."""
        held, self._held = self._held, []
        self._num_rows = self._string_bytes = 0
        return held

    def place(self) -> list[tuple[int, pa.Array]]:
        """Write all pages but those that only Python can encode; return these leaves and their columns."""
        self._pages = LeafPages(self.plan.native, self._num_leaves, self._file.records, self._file.sums)
        held, num_rows = self._held, self._num_rows
        if not num_rows:
            return []
        self._held = []
        if len(held) > 1:
            held = pa.Table.from_batches(held).combine_chunks().to_batches()
        (batch,) = held
        asked: list[tuple[int, pa.Array]] = []
        leaf = 0
        while leaf < self._num_leaves:
            data, leaf, left = self._pages.encode(batch, leaf, self._file.position, _PIECE_BYTES)
            if data:
                self._file.append(data)
            asked += [(number, batch.column(self.plan.places[number])) for number in left]
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
                read, bound = self._pages.zones, fixed_bounds
                if isinstance(one.leaf.leaf.shape, VariableWidth):
                    read, bound = self._pages.string_zones, string_bounds
                *sides, num_bytes = read(number)
                zones = ZoneBuilder(one.leaf, one.rows_per_zone)
                zones.add_bounds(bound(one.leaf.storage, *sides), self._num_rows)
                data = zones.encode(page_bytes.get(number, num_bytes))
            description = plan.encoder.column(zones.rows_per_zone)
            file.set_column(one.leaf.column, description, [np.frombuffer(data, np.uint8)])
