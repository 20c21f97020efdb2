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
    Task,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

Report = Callable[[int, int | None], None]


class RowRate(ProgressColumn):
    """Rows a second."""

    def render(self, task: Task) -> Text:
        """Return the rate of the last seconds; nothing before it is known."""
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else f"{rate:,.0f} rows/s", style="progress.data.speed")


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
    are_bytes = unit == "bytes"
    counted: ProgressColumn = DownloadColumn() if are_bytes else MofNCompleteColumn()
    rate: ProgressColumn = TransferSpeedColumn() if are_bytes else RowRate()
    # Time left, and in the end time taken.
    clock = TimeRemainingColumn(compact=True, elapsed_when_finished=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), counted, rate, clock)
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=False) as shown:
        task = shown.add_task(title, total=None)

        def report(done: int, total: int | None) -> None:
            shown.update(task, completed=done, total=total)

        yield report
