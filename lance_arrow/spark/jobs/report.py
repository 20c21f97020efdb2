"""`JobReport`: result of a job on a table, as text and as plain values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import SparkSession

_DESCRIPTION = "spark.job.description"

OnProgress = Callable[[str], None]
"""Gets a line of text when a step of a job begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReport:
    """Result of a job.

    Parameters
    ----------
    job
        Its name.
    uri
        The table.
    version_before, version_after
        Newest versions; None where there was no table. The same where there was nothing to do.
    seconds
        How long it took.
    counts
        Counts by name: ``rows_written``, ``files_written``, ``rows_quarantined``, ``zones_pruned`` ...
    problems
        Problems, a line each; empty if there is none.
    notes
        Facts that are not problems, a line each: fragments that an index kept out of a rewrite, indices that
        were dropped.
    """

    job: str
    uri: str
    version_before: int | None
    version_after: int | None
    seconds: float
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there is no problem."""
        return not self.problems

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "ok": self.ok, "problems": list(self.problems), "notes": list(self.notes)}

    def __str__(self) -> str:
        was = "" if self.version_before == self.version_after else f"{self.version_before} -> "
        counted = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in self.counts.items())
        lines = [f"{self.job} {self.uri}: version {was}{self.version_after}, {self.seconds:.1f} s; {counted}"]
        return "\n".join([*lines, *self.problems, *self.notes])


class Stopwatch:
    """Times a job, passes its steps to `on_progress`, and makes its report."""

    def __init__(self, job: str, on_progress: OnProgress | None) -> None:
        self._job, self._on_progress = job, on_progress
        self._begun = time.perf_counter()
        self._said = ""
        self._attempts = 0

    def attempt(self) -> int:
        """Count an attempt, and return how many there were before it: others committed first."""
        self._attempts += 1
        return self._attempts - 1

    @contextmanager
    def shown(self, spark: SparkSession | None, table: str) -> Iterator[None]:
        """Describe Spark's jobs within a block by the table and the step, for its UI and its history.

        Parameters
        ----------
        spark
            The session. Spark Connect has no descriptions.
        table
            Name of the table.
        """
        context = getattr(spark, "sparkContext", None)
        if context is None:
            yield
            return
        before = context.getLocalProperty(_DESCRIPTION)
        context.setLocalProperty(_DESCRIPTION, f"lance {self._job} {table}: {self._said}")
        try:
            yield
        finally:
            context.setLocalProperty(_DESCRIPTION, before)

    def step(self, said: str) -> None:
        """Say that a step begins."""
        self._said = said
        if self._on_progress is not None:
            self._on_progress(f"{self._job}: {said}")

    def report(
        self,
        uri: str,
        version_before: int | None,
        version_after: int | None,
        counts: Mapping[str, int],
        *,
        problems: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> JobReport:
        """Return the report at the end of the job; parameters are those of `JobReport`."""
        return JobReport(
            job=self._job,
            uri=uri,
            version_before=version_before,
            version_after=version_after,
            seconds=round(time.perf_counter() - self._begun, 3),
            counts=counts,
            problems=problems,
            notes=notes,
        )
