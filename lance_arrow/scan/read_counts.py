"""Counts of one read while it goes on, and the `ReadReport` that plugins get when it is done.

`Receipt` counts a read of one file, `TableWatch` one of several files of a table.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.io import MeteredSource, ReadStats
from lance_arrow.runtime import Runtime
from lance_arrow.scan.row_reader import ReadCounts
from lance_arrow.spi import ReadReport

if TYPE_CHECKING:
    from lance_arrow.pruning.zone_pruning import PruneResult
    from lance_arrow.scan.open_file import OpenFile


class Tally:
    """What was decoded so far; threads share it."""

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


class Receipt:
    """Counts of one read, from now on.

    Parameters
    ----------
    source
        What is read.
    runtime
        Whose plugins get the report.
    columns
        Dotted paths of the leaves that may be decoded.
    filter
        The predicate, printed.
    """

    def __init__(
        self, source: MeteredSource, runtime: Runtime, columns: tuple[str, ...], filter: str | None = None
    ) -> None:
        self._source, self._runtime, self._columns, self._filter = source, runtime, columns, filter
        self._started = time.perf_counter()
        self._before = source.snapshot()
        self._zones = (0, 0, 0)
        self._zone_seconds = 0.0
        self._is_due = runtime.is_watched
        self.tally = Tally()

    def note_pruning(self, prune_result: PruneResult, *, sure_are_read: bool = True) -> None:
        """Note what zones said; whether rows of those that are sure are read all the same."""
        read = prune_result.zones_total - prune_result.zones_pruned - (0 if sure_are_read else prune_result.zones_all)
        self._zones = prune_result.zones_total, prune_result.zones_pruned, read
        self._zone_seconds = time.perf_counter() - self._started

    def sent_after(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches, and send the report after the last one, or when the consumer stops."""
        num_rows = 0

        def counted() -> Iterator[pa.RecordBatch]:
            nonlocal num_rows
            for batch in batches:
                num_rows += batch.num_rows
                yield batch

        yield from ended_by(counted(), lambda: self.send(num_rows))

    def send(self, num_rows: int) -> None:
        """Tell plugins what the read took, once, if any listened from the start; `num_rows` were handed out."""
        if not self._is_due:
            return
        self._is_due = False
        stats = self._source.snapshot() - self._before
        total, pruned, read = self._zones
        self._runtime.finished(
            ReadReport(
                files=1,
                pages=self.tally.pages,
                rows=num_rows,
                decoded_rows=dict(self.tally.decoded_rows),
                zones_total=total,
                zones_pruned=pruned,
                zones_read=read,
                requests=stats.requests,
                requested_bytes=stats.bytes_wanted,
                fetched_bytes=stats.bytes_fetched,
                columns=self._columns,
                filter=self._filter,
                seconds=time.perf_counter() - self._started,
                stage_seconds={"zones": self._zone_seconds, "rows": self.tally.seconds, "requests": stats.seconds},
            )
        )


@dataclass(slots=True)
class _Seen:
    opened: OpenFile
    before: ReadStats


class TableWatch:
    """Counts of one read of several files."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._seen: dict[int, _Seen] = {}
        self._rows = 0
        self.tally = Tally()
        self._tallies = [self.tally]
        self._zones = [0, 0]
        self._joined_files = 0
        self._joined = ReadStats()

    def see(self, opened: Sequence[OpenFile]) -> None:
        """Count what is asked of files from now on."""
        for one in opened:
            self._seen.setdefault(id(one), _Seen(one, one.source.snapshot()))

    def follow(self, tally: Tally) -> None:
        """Count what is decoded, now and later."""
        if tally is not UNWATCHED.tally:
            self._tallies.append(tally)

    def count(self, num_rows: int) -> None:
        """Count rows that were handed out."""
        self._rows += num_rows

    def read_joined(self, num_files: int, stats: ReadStats) -> None:
        """Count a read of small files that are held in memory: `stats` tells what it took to bring them there."""
        self._joined_files += num_files
        self._joined = self._joined + stats

    def note_pruning(self, prune_result: PruneResult) -> None:
        """Count what zones said of a filter."""
        self._zones[0] += prune_result.zones_total
        self._zones[1] += prune_result.zones_pruned

    def report(self, nodes: Sequence[ColumnNode], filter: str | None) -> ReadReport:
        """Sum up."""
        stats = [seen.opened.source.snapshot() - seen.before for seen in self._seen.values()]
        decoded: Counter[str] = Counter()
        for tally in self._tallies:
            decoded.update(tally.decoded_rows)
        num_files = len(stats) + self._joined_files
        stats.append(self._joined)
        return ReadReport(
            files=num_files,
            pages=sum(tally.pages for tally in self._tallies),
            rows=self._rows,
            decoded_rows=dict(decoded),
            zones_total=self._zones[0],
            zones_pruned=self._zones[1],
            zones_read=self._zones[0] - self._zones[1],
            requests=sum(one.requests for one in stats),
            requested_bytes=sum(one.bytes_wanted for one in stats),
            fetched_bytes=sum(one.bytes_fetched for one in stats),
            columns=tuple(dict.fromkeys(leaf.path for node in nodes for leaf in node.leaves())),
            filter=filter,
            seconds=time.perf_counter() - self._started,
            stage_seconds={
                "requests": sum(one.seconds for one in stats),
                "rows": sum(tally.seconds for tally in self._tallies),
            },
        )


def ended_by(batches: Iterator[pa.RecordBatch], send: Callable[[], None]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and call `send` after the last one, or when the consumer stops before; not when reading fails."""
    try:
        yield from batches
    except GeneratorExit:
        send()
        raise
    send()


class _NoTally(Tally):
    def add(self, counts: ReadCounts, num_rows: int) -> None:
        """Count nothing."""


class _NoReceipt(Receipt):
    """Of reads whose reports nobody gets: nothing is counted, and takes of one row do not wait for it."""

    def __init__(self) -> None:
        self.tally = _NoTally()

    def note_pruning(self, prune_result: PruneResult, *, sure_are_read: bool = True) -> None:
        """Note nothing."""

    def sent_after(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches."""
        return iter(batches)

    def send(self, num_rows: int) -> None:
        """Tell nobody."""


UNWATCHED: Receipt = _NoReceipt()
"""The receipt of every read while no plugin looks at receipts."""
