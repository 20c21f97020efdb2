"""`ReadReport`: counts and times of one read, for `receipts` and for the hook `lance_read_finished`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """Counts of one read.

    Parameters
    ----------
    files, pages, rows
        Files opened, pages from which at least one row was decoded, rows handed out.
    decoded_rows
        Number of decoded rows of each leaf, by its dotted path. Columns of the filter are decoded where zone maps leave
        rows, other columns where the filter leaves rows.
    zones_total, zones_pruned, zones_read
        Zones of the filter's columns, zones in which no row can satisfy the filter, and zones with decoded rows. A
        count decodes no row of zones in which every row satisfies the filter. All 0 without a filter or zone maps.
    requests, requested_bytes, fetched_bytes
        Calls to the source, bytes that the plan needed, bytes that were fetched, with gaps.
    store
        How fast the store was taken to be: latency, and bandwidth of a connection. None for files that are not in one.
    columns
        Dotted paths of the leaves that were decoded.
    filter
        Text of the predicate; None if there was none.
    seconds
        Wall time.
    stage_seconds
        Time by stage, summed over threads. ``zones``: reading and judging zone maps. ``rows``: fetching and decoding
        rows, also those that the filter then left out. ``requests``: waiting for the source, a part of the other two.
    """

    files: int = 0
    pages: int = 0
    rows: int = 0
    decoded_rows: Mapping[str, int] = field(default_factory=dict)
    zones_total: int = 0
    zones_pruned: int = 0
    zones_read: int = 0
    requests: int = 0
    requested_bytes: int = 0
    fetched_bytes: int = 0
    store: str | None = None
    columns: tuple[str, ...] = ()
    filter: str | None = None
    seconds: float = 0.0
    stage_seconds: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def total(cls, reports: Sequence[ReadReport]) -> ReadReport:
        """Sum up reports.

        Counts and times are sums; a file that two reads opened counts twice. `columns` names each column once. `filter`
        is None unless all reports have the same one. `store` is that of the last report that has one.
        """
        decoded: Counter[str] = Counter()
        stages: Counter[str] = Counter()
        for report in reports:
            decoded.update(report.decoded_rows)
            stages.update(report.stage_seconds)
        filters = {report.filter for report in reports}
        return cls(
            files=sum(report.files for report in reports),
            pages=sum(report.pages for report in reports),
            rows=sum(report.rows for report in reports),
            decoded_rows=dict(decoded),
            zones_total=sum(report.zones_total for report in reports),
            zones_pruned=sum(report.zones_pruned for report in reports),
            zones_read=sum(report.zones_read for report in reports),
            requests=sum(report.requests for report in reports),
            requested_bytes=sum(report.requested_bytes for report in reports),
            fetched_bytes=sum(report.fetched_bytes for report in reports),
            store=next((report.store for report in reversed(reports) if report.store is not None), None),
            columns=tuple(dict.fromkeys(column for report in reports for column in report.columns)),
            filter=filters.pop() if len(filters) == 1 else None,
            seconds=sum(report.seconds for report in reports),
            stage_seconds=dict(stages),
        )
