"""`ReadCounts`, `Receipt`: counts of a read while it goes on, and the `ReadReport` that plugins get when it is done."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.io import ReadStats
from lance_arrow.runtime import Runtime
from lance_arrow.spi import ReadReport

if TYPE_CHECKING:
    from lance_arrow.pruning.zone_pruning import PruneResult
    from lance_arrow.scan.open_file import OpenFile


@dataclass(slots=True, eq=False)
class ReadCounts:
    """Counts of one call: decoded pages, dotted paths of the leaves, and seconds."""

    pages: int
    columns: tuple[str, ...]
    seconds: float = 0.0

    def joined(self, other: ReadCounts) -> ReadCounts:
        """Return the counts of both."""
        return ReadCounts(self.pages + other.pages, (*self.columns, *other.columns), self.seconds + other.seconds)


class Tally:
    """Counts of decoded pages and rows; threads share them."""

    def __init__(self) -> None:
        self.pages = 0
        self.seconds = 0.0
        self.decoded_rows: dict[str, int] = {}
        self._lock = Lock()

    def add(self, counts: ReadCounts, num_rows: int) -> None:
        """Count one read of `num_rows` rows."""
        with self._lock:
            self.pages += counts.pages
            self.seconds += counts.seconds
            for column in counts.columns:
                self.decoded_rows[column] = self.decoded_rows.get(column, 0) + num_rows


@dataclass(slots=True)
class _Seen:
    opened: OpenFile
    before: ReadStats


class Receipt:
    """Counts of one read, of one file or of several, from now on; threads share it.

    Parameters
    ----------
    runtime
        Whose plugins get the report.
    nodes
        (Pruned) columns that may be decoded.
    filter
        The predicate; the report has its text.
    """

    def __init__(self, runtime: Runtime, nodes: Sequence[ColumnNode], filter: object | None = None) -> None:
        self._runtime, self._filter = runtime, filter
        self._columns = tuple(dict.fromkeys(leaf.path for node in nodes for leaf in node.leaves()))
        self._started = time.perf_counter()
        self._seen: dict[int, _Seen] = {}
        self._num_held, self._held = 0, ReadStats()
        self._zones = [0, 0, 0]
        self._zone_seconds = 0.0
        self._rows = 0
        self._is_due = True
        self._lock = Lock()
        self.tally = Tally()

    def see(self, opened: Sequence[OpenFile]) -> None:
        """Count what is asked of files from now on, and what it took to bring those here that are held in memory."""
        with self._lock:
            for one in opened:
                if id(one) in self._seen:
                    continue
                self._seen[id(one)] = _Seen(one, one.source.snapshot())
                if one.fetched is not None:
                    self._add_held(one.fetched.requests, one.fetched)

    def see_held(self, num_files: int, stats: ReadStats) -> None:
        """Count files that are held in memory: `stats` tells what it took to bring them there."""
        with self._lock:
            self._add_held(num_files, stats)

    def _add_held(self, num_files: int, stats: ReadStats) -> None:
        self._num_held += num_files
        self._held = self._held + stats

    def note_pruning(self, prune_result: PruneResult, seconds: float, *, sure_are_read: bool = True) -> None:
        """Note what zones said, after how long; whether rows of those that are sure are read all the same."""
        read = prune_result.zones_total - prune_result.zones_pruned - (0 if sure_are_read else prune_result.zones_all)
        with self._lock:
            for number, count in enumerate((prune_result.zones_total, prune_result.zones_pruned, read)):
                self._zones[number] += count
            self._zone_seconds += seconds

    def count(self, num_rows: int) -> None:
        """Count rows that were handed out."""
        with self._lock:
            self._rows += num_rows

    def sent_after(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches, and send the report after the last one, or when the consumer stops; not when reading fails."""
        try:
            for batch in batches:
                self.count(batch.num_rows)
                yield batch
        except GeneratorExit:
            self.send()
            raise
        self.send()

    def send(self) -> None:
        """Tell plugins what the read took, once, if any listened from the start."""
        with self._lock:
            if not self._is_due:
                return
            self._is_due = False
        own = [seen for seen in self._seen.values() if seen.opened.fetched is None]
        # Of joined far files, pages are read after their ends.
        read_on = [seen for seen in self._seen.values() if seen in own or seen.opened.source.coalescing.is_far]
        stats = [self._held, *(seen.opened.source.snapshot() - seen.before for seen in read_on)]
        total, pruned, read = self._zones
        paces = {
            str(one.opened.source.coalescing.pace) for one in read_on if one.opened.source.coalescing.pace is not None
        }
        self._runtime.finished(
            ReadReport(
                files=len(own) + self._num_held,
                pages=self.tally.pages,
                rows=self._rows,
                decoded_rows=dict(self.tally.decoded_rows),
                zones_total=total,
                zones_pruned=pruned,
                zones_read=read,
                requests=sum(one.requests for one in stats),
                requested_bytes=sum(one.bytes_wanted for one in stats),
                fetched_bytes=sum(one.bytes_fetched for one in stats),
                store="; ".join(sorted(paces)) or None,
                columns=self._columns,
                filter=None if self._filter is None else str(self._filter),
                seconds=time.perf_counter() - self._started,
                stage_seconds={
                    "zones": self._zone_seconds,
                    "rows": self.tally.seconds,
                    "requests": sum(one.seconds for one in stats),
                },
            )
        )


class _NoTally(Tally):
    def add(self, counts: ReadCounts, num_rows: int) -> None:
        """Count nothing."""


class _NoReceipt(Receipt):
    """Of reads whose reports nobody gets: nothing is counted, and takes of one row do not wait for it."""

    def __init__(self) -> None:
        self.tally = _NoTally()

    def see(self, opened: Sequence[OpenFile]) -> None:
        """See nothing."""

    def see_held(self, num_files: int, stats: ReadStats) -> None:
        """See nothing."""

    def note_pruning(self, prune_result: PruneResult, seconds: float, *, sure_are_read: bool = True) -> None:
        """Note nothing."""

    def count(self, num_rows: int) -> None:
        """Count nothing."""

    def sent_after(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the batches."""
        return iter(batches)

    def send(self) -> None:
        """Tell nobody."""


UNWATCHED: Receipt = _NoReceipt()
"""The receipt of every read while no plugin looks at receipts."""


def receipt_for(runtime: Runtime, nodes: Sequence[ColumnNode], filter: object | None = None) -> Receipt:
    """Begin to count a read of some columns, if a plugin looks at receipts."""
    return Receipt(runtime, nodes, filter) if runtime.is_watched else UNWATCHED
