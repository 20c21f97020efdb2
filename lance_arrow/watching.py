"""`receipts()`: the reports of the reads that finish while a block runs, without a plugin of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import overload

from lance_arrow.runtime import Runtime, default_runtime
from lance_arrow.spi.hookspecs import hookimpl
from lance_arrow.spi.reports import ReadReport


class Receipts(Sequence[ReadReport]):
    """Reports of reads, in the order in which the reads finished.

    Threads may finish reads while another one looks.

    Examples
    --------
    >>> with lance_arrow.receipts() as found:
    ...     table = lance_arrow.read_table("flights.lance")
    >>> len(found), found.total.rows
    (1, 100)
    """

    def __init__(self) -> None:
        self._reports: list[ReadReport] = []

    @hookimpl
    def lance_read_finished(self, report: ReadReport) -> None:
        """Keep a report; the runtime calls this."""
        self._reports.append(report)

    @property
    def total(self) -> ReadReport:
        """All reports as one; see `ReadReport.total`."""
        return ReadReport.total(list(self._reports))

    def clear(self) -> None:
        """Forget the reports so far."""
        self._reports.clear()

    @overload
    def __getitem__(self, index: int) -> ReadReport: ...

    @overload
    def __getitem__(self, index: slice) -> list[ReadReport]: ...

    def __getitem__(self, index: int | slice) -> ReadReport | list[ReadReport]:
        return self._reports[index]

    def __len__(self) -> int:
        return len(self._reports)

    def __repr__(self) -> str:
        total = self.total
        return (
            f"Receipts({len(self)} reads: {total.files:,} files, {total.rows:,} rows, {total.pages:,} pages, "
            f"{total.requests:,} requests, {total.fetched_bytes:,} bytes)"
        )


@contextmanager
def receipts(runtime: Runtime | None = None) -> Iterator[Receipts]:
    """Collect a report of every read that finishes before the block ends.

    Parameters
    ----------
    runtime
        Whose reads; the default runtime when None. Reads by all threads of this process count, those of other processes
        (Spark's workers, Dask's) do not.

    Returns
    -------
    context manager of Receipts
        A sequence of `ReadReport`; ``.total`` adds them up. One read of a `LanceFile` or a `LanceTable` gives one
        report, a scan by `pyarrow.dataset` one for each file. A scan that is abandoned gives its report when its
        iterator is closed.

    Notes
    -----
    Counting costs time: files are opened one by one that a filtered scan would otherwise leave out natively.

    Examples
    --------
    >>> with lance_arrow.receipts() as found:
    ...     table = lance_arrow.read_table("flights.lance", columns=["id"])
    >>> found.total.files, found.total.rows
    (1, 100)
    """
    found = Receipts()
    manager = (runtime if runtime is not None else default_runtime()).plugins.manager
    manager.register(found)
    try:
        yield found
    finally:
        manager.unregister(found)
