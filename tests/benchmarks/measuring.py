"""Interleaved measuring: every reader once per round, so that all of them see the same machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Samples:
    """Seconds of one reader, a number per round: by the clock, and of all threads' processor time."""

    seconds: list[float]
    cpu_seconds: list[float]

    @property
    def median_ms(self) -> float:
        return 1e3 * statistics.median(self.seconds)

    @property
    def median_cpu_ms(self) -> float:
        return 1e3 * statistics.median(self.cpu_seconds)


@dataclass(frozen=True)
class Comparison:
    """One line of the report.

    Parameters
    ----------
    table, version, case
        What was read.
    reader, ms
        Ours.
    best, best_ms
        The faster of the reference's readers.
    ratio, cpu_ratio
        Medians of ours ÷ best, round by round, by the clock and by processor time.
    other_ms, other_ratio
        Vortex, and ours ÷ Vortex.
    """

    table: str
    version: str
    case: str
    reader: str
    ms: float
    best: str
    best_ms: float
    ratio: float
    cpu_ratio: float
    other_ms: float
    other_ratio: float

    def as_dict(self) -> dict[str, Any]:
        """Plain values, rounded to what a clock can tell."""
        return {name: round(value, 4) if isinstance(value, float) else value for name, value in asdict(self).items()}

    def __str__(self) -> str:
        return (
            f"{self.table:<11} {self.version} {self.case:<10} {self.reader:<19} {self.ms:9.3f} ms | "
            f"{self.best:<17} {self.best_ms:9.3f} ms | ratio {self.ratio:5.2f} | cpu {self.cpu_ratio:5.2f} | "
            f"vortex {self.other_ms:9.3f} ms | ratio {self.other_ratio:5.2f}"
        )


def interleaved(
    calls: Mapping[str, Callable[..., object]], arguments: Sequence[Mapping[str, tuple[Any, ...]]]
) -> dict[str, Samples]:
    """Time every call once per round; the first round warms up and does not count.

    Parameters
    ----------
    calls
        By name of the reader.
    arguments
        For each round, what each call is given.
    """
    samples = {name: Samples([], []) for name in calls}
    for number, round_ in enumerate(arguments):
        # Each round begins with another reader: none of them always follows the same neighbour.
        names = list(calls)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            cpu, begun = time.process_time(), time.perf_counter()
            result = calls[name](*round_[name])
            seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
            del result
            if number:
                samples[name].seconds.append(seconds)
                samples[name].cpu_seconds.append(cpu_seconds)
    return samples


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Median of the ratios of neighbours; rounds that the clock could not resolve do not count."""
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True) if other > 0]
    return statistics.median(ratios) if ratios else float("nan")
