"""Receipts: what a read did, for eyes and for `lance_read_finished`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadReport:
    """Counts of one read.

    Parameters
    ----------
    files, pages, rows
        Files opened, pages from which at least one row was decoded, rows handed out.
    requests, requested_bytes, fetched_bytes
        Calls to the source, bytes the plan wanted, bytes that were fetched (gaps included).
    columns
        Dotted paths of the leaves that were decoded.
    filter
        The predicate that arrived with the scan, printed; None when there was none.
    seconds
        Wall time.
    """

    files: int = 0
    pages: int = 0
    rows: int = 0
    requests: int = 0
    requested_bytes: int = 0
    fetched_bytes: int = 0
    columns: tuple[str, ...] = ()
    filter: str | None = None
    seconds: float = 0.0
