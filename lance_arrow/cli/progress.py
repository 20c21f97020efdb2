"""A progress bar on stderr, where a terminal shows it; nothing into files and pipes, nothing on stdout."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

Report = Callable[[int, int | None], None]


@contextmanager
def progress(title: str, unit: str) -> Iterator[Report]:
    """Show a bar while the block runs; what it yields takes how much is done, and of how much (None: unknown).

    Parameters
    ----------
    title
        What is done.
    unit
        ``"bytes"`` or ``"rows"``.
    """
    counted: ProgressColumn = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), counted, TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=False) as shown:
        task = shown.add_task(title, total=None)

        def report(done: int, total: int | None) -> None:
            shown.update(task, completed=done, total=total)

        yield report
