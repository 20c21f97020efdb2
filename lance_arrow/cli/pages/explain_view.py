"""`explain`: what a scan would read, what it did read, and a page on which both are drawn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lance_arrow.arrow_dataset import opening
from lance_arrow.arrow_dataset.scan_plan import ScanPlan
from lance_arrow.cli.pages.page_command import PageReport, check_output
from lance_arrow.cli.render import ErrorReport, error_report
from lance_arrow.cli.table_data import choose
from lance_arrow.cli.targets import Target
from lance_arrow.errors import InvalidArgumentError, LanceError, TableNotFoundError, VersionNotFoundError
from lance_arrow.manifests.path_kinds import PathKind
from lance_arrow.spi import ReadReport
from lance_arrow.watching import receipts

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset


_ARGUMENTS = (InvalidArgumentError, TableNotFoundError, VersionNotFoundError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSummary:
    """What a scan did read, from its receipt.

    Parameters
    ----------
    rows
        Rows that satisfy the filter.
    seconds
        By the clock.
    files, zones_read, zones_pruned, pages, requests, fetched_bytes
        As in `ReadReport`.
    decoded_rows
        Rows that were decoded of each column.
    """

    rows: int
    seconds: float
    files: int
    zones_read: int
    zones_pruned: int
    pages: int
    requests: int
    fetched_bytes: int
    decoded_rows: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainReport:
    """A plan, and what the scan did read.

    Parameters
    ----------
    path
        The file, table or folder.
    plan
        The plan.
    read
        None unless the scan was run.
    """

    path: str
    plan: ScanPlan
    read: ReadSummary | None


def explain(
    target: Target,
    *,
    filter: str | None,
    columns: Sequence[str] | None,
    runs: bool,
    html: bool,
    output: Path | None,
) -> ExplainReport | PageReport:
    """Plan a scan of a file, a table or a folder of files; run it on request.

    Raises
    ------
    InvalidArgumentError
        There is no such column or version, the filter does not fit, or `output` is another kind of file.
    LanceError
        The target is damaged, and no page is asked for, which would say so.
    OSError
        The target cannot be read, or `output` not be written.
    """
    if output is not None:
        check_output(output)
    if not html:
        dataset = _opened(target)
        plan = dataset.explain(filter, columns)
        read = _run(dataset, filter, columns) if runs else None
        return ExplainReport(path=target.place.name, plan=plan, read=read)
    page, wrong = _page(target, filter, columns, runs=runs)
    if output is not None:
        output.write_text(page, encoding="ascii")
    return PageReport(
        path=target.place.name,
        output=None if output is None else str(output),
        size_bytes=len(page),
        problems=wrong,
        html=page if output is None else None,
    )


def _page(
    target: Target, filter: str | None, columns: Sequence[str] | None, *, runs: bool
) -> tuple[str, list[ErrorReport]]:
    """Return a page, also about what is damaged, and what is wrong; wrong arguments are raised."""
    from lance_arrow.cli.pages.explain_page import explain_page  # noqa: PLC0415 - for pages alone
    from lance_arrow.cli.pages.page_parts import document, problems  # noqa: PLC0415 - for pages alone

    wrong: list[ErrorReport] = []
    read = None
    try:
        dataset = _opened(target)
        plan = dataset.explain(filter, columns)
    except _ARGUMENTS:
        raise
    except LanceError as error:
        wrong.append(error_report(error))
        return document(target.place.name, [problems(wrong)]), wrong
    try:
        read = _run(dataset, filter, columns) if runs else None
    except _ARGUMENTS:
        raise
    except LanceError as error:
        wrong.append(error_report(error))
    report = ExplainReport(path=target.place.name, plan=plan, read=read)
    return explain_page(report, dataset, filter, wrong), wrong


def _opened(target: Target) -> LanceDataset:
    if target.kind() is not PathKind.TABLE:
        return opening.dataset(target.uri, storage_options=target.storage_options)
    choice = choose(target.version, target.branch)
    return opening.dataset(
        target.uri,
        version=choice.version,
        tag=choice.tag,
        branch=choice.branch,
        storage_options=target.storage_options,
    )


def _run(dataset: LanceDataset, filter: str | None, columns: Sequence[str] | None) -> ReadSummary:
    started = time.perf_counter()
    with receipts() as found:
        num_rows = sum(batch.num_rows for batch in dataset.to_batches(columns=columns, filter=filter))
    seconds = time.perf_counter() - started
    total = ReadReport.total(list(found))
    return ReadSummary(
        rows=num_rows,
        seconds=seconds,
        files=total.files,
        zones_read=total.zones_read,
        zones_pruned=total.zones_pruned,
        pages=total.pages,
        requests=total.requests,
        fetched_bytes=total.fetched_bytes,
        # Threads finish columns in any order.
        decoded_rows=dict(sorted(total.decoded_rows.items())),
    )
