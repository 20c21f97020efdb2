"""`PlainPages`: rows of natively written leaves of one file, which become pages of each leaf.

batches ──► LeafPages: rows of each leaf ──► LeafJob: full pages, encoded by threads
                                                └──► pages, bounds, checksums ──► FileWriter
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.page_split import MAX_PAGE_LEVELS
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.engine import LeafJob, LeafPages
from lance_arrow.errors import located
from lance_arrow.files.plain_leaves import PlainPlan
from lance_arrow.spi import VariableWidth
from lance_arrow.statistics.zone_bounds import fixed_bounds, string_bounds
from lance_arrow.statistics.zone_builder import ZoneBuilder

if TYPE_CHECKING:
    from lance_arrow.files.writer_plan import LeafPlan

JOB_BYTES = 1 << 20
"""Values of the pages that a thread encodes in one call, unless one page has more."""


class LeftLeaf(NamedTuple):
    """A leaf that is not written natively any more.

    Parameters
    ----------
    number, plan
        The leaf.
    zones, num_bytes, num_rows
        Of its placed pages; `zones` are None without a zone map.
    arrays
        The next rows of its column.
    """

    number: int
    plan: LeafPlan
    zones: ZoneBuilder | None
    num_bytes: int
    num_rows: int
    arrays: list[pa.Array]


class PlainPages:
    """Rows and pages of the leaves of a `PlainPlan`.

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
        self._pages = LeafPages(plan.native, page_bytes, MAX_PAGE_LEVELS, file.records, file.sums)
        self._num_rows = 0

    @property
    def held_bytes(self) -> int:
        """Memory of the rows that are no page yet."""
        return self._pages.held_bytes

    def hold(self, batches: Sequence[pa.RecordBatch]) -> None:
        """Add rows: batches of the plan's columns."""
        for batch in batches:
            self._num_rows += batch.num_rows
            self._pages.hold(batch)

    def full(self) -> list[LeafJob]:
        """Return the pages that are full."""
        return self._pages.jobs(JOB_BYTES)

    def largest(self, most_left: int) -> list[LeafJob]:
        """End the largest pages until at most `most_left` bytes are held; return them."""
        self._pages.take_largest(most_left)
        return self.full()

    def rest(self) -> list[LeafJob]:
        """End all pages; return them."""
        return self.largest(-1)

    def place(self, job: LeafJob) -> Iterator[int]:
        """Write encoded pages; yields the number of each that was encoded in Python when it is to be added."""
        number = 0
        while True:
            data, number = self._pages.place(job, number, self._file.position)
            if data:
                self._file.append(data)
            if number == len(job):
                return
            yield number
            number += 1

    def add_bytes(self, number: int, num_bytes: int) -> None:
        """Count the bytes of a page of a leaf that was encoded in Python."""
        self._pages.add_bytes(number, num_bytes)

    def describe(self) -> None:
        """Write zone maps, and describe the columns."""
        plan, file = self.plan, self._file
        region, others = self._pages.zone_maps(plan.with_zones, plan.without_zones, file.position)
        if region:
            file.append_zone_maps(region)
        for number in others:
            one = plan.leaves[number]
            with located(column=one.leaf.path):
                zones = self._zones(number, self._num_rows)
                data = zones.encode(self._pages.num_bytes(number))
            description = plan.encoder.column(zones.rows_per_zone)
            file.set_column(one.leaf.column, description, [np.frombuffer(data, np.uint8)])

    def _zones(self, number: int, num_rows: int) -> ZoneBuilder:
        """Return the bounds of the placed pages of a leaf, which have so many rows."""
        one = self.plan.leaves[number]
        zones = ZoneBuilder(one.leaf, one.rows_per_zone)
        if not num_rows:
            return zones
        if isinstance(one.leaf.leaf.shape, VariableWidth):
            bounds = string_bounds(one.leaf.storage, *self._pages.string_zones(number))
        else:
            bounds = fixed_bounds(one.leaf.storage, *self._pages.zones(number))
        zones.add_bounds(bounds, num_rows)
        return zones

    def take(self, type_of: Callable[[LeafPlan], pa.DataType]) -> Iterator[LeftLeaf]:
        """Return what is written of each leaf, and the rows that are not: others go on from there.

        `type_of` returns the type of the column of a leaf.
        """
        rest: dict[int, list[tuple[LeafJob, int]]] = {}
        for job in self.rest():
            for page, leaf in enumerate(job.leaves):
                rest.setdefault(leaf, []).append((job, page))
        for number, plan in enumerate(self.plan.leaves):
            own = rest.get(number, [])
            num_rows = own[0][0].first_row(own[0][1]) if own else self._num_rows
            arrays = [array for job, page in own for array in job.arrays(page, type_of(plan))]
            zones = self._zones(number, num_rows) if plan.rows_per_zone else None
            yield LeftLeaf(number, plan, zones, self._pages.num_bytes(number), num_rows, arrays)
