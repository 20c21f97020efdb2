"""Advice on column options: samples an input, tries options on each column, and chooses by an objective."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lance_arrow.cli.advising.candidates import candidates, private_candidates
from lance_arrow.cli.advising.trials import Refusal, Trial, try_options
from lance_arrow.conversion.readers import inspect, read_parts
from lance_arrow.conversion.sources import find_sources
from lance_arrow.errors import InvalidArgumentError, did_you_mean
from lance_arrow.runtime import default_runtime

_TAKEN_ROWS = 100
_MOST_BYTES = 64 << 20
"""Bytes of the sample in memory, in all columns: rows with pictures are large."""
_FILE_VERSIONS = ("2.1", "2.2", "2.3")
# Results that differ less are equal: sizes of samples, and times of a busy machine.
_MARGINS = {"size": 1.02, "scan": 1.15, "take": 1.15}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnAdvice:
    """What was tried on a column.

    Parameters
    ----------
    column, type
        Its name and Arrow type.
    default, best
        The default options, and those to write it with.
    trials
        All results, the best of the objective first; results equal to others in bytes and codecs are left out.
    refused
        Options that do not fit it.
    """

    column: str
    type: str
    default: Trial
    best: Trial
    trials: list[Trial]
    refused: list[Refusal]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdviceReport:
    """Advice on all columns.

    Parameters
    ----------
    path
        What was read.
    objective
        ``size``, ``scan`` or ``take``.
    num_rows
        Rows of the sample.
    file_version
        Of the files that were written.
    columns
        Advice on each column.
    not_tried
        Installed private codecs and layouts that were not asked for.
    column_options
        Options of columns for which the default is not the best.
    python
        The call that writes with these options.
    """

    path: str
    objective: str
    num_rows: int
    file_version: str
    columns: list[ColumnAdvice]
    not_tried: list[str]
    column_options: dict[str, dict[str, Any]]
    python: str


def advise(
    path: str,
    *,
    objective: str = "size",
    columns: Sequence[str] | None = None,
    num_rows: int = 65_536,
    file_version: str = "2.2",
    tries_private: bool = False,
    storage_options: Mapping[str, Any] | None = None,
) -> AdviceReport:
    """Try the installed codecs and layouts on the first rows of an input.

    Parameters
    ----------
    path
        What `lance_arrow.convert` reads.
    objective
        What to choose by: ``size``, ``scan`` or ``take``. Results within 2 % of bytes, or 15 % of time, are equal. The
        default wins if it is among them, then scan time for ``size``, and bytes for the other two.
    columns
        Names of columns; all by default.
    num_rows
        Most rows to try with; rows of 64 MiB in all are enough.
    file_version
        Version of the written files.
    tries_private
        Whether to try codecs and layouts that other readers do not have.
    storage_options
        Options for the filesystem of a URL.

    Raises
    ------
    FileNotFoundError
        There is nothing at `path`.
    InvalidArgumentError
        It is of no known format, has no rows or no such column, or `file_version` has no such codecs.
    CorruptFileError
        It cannot be read.
    """
    if file_version not in _FILE_VERSIONS:
        raise InvalidArgumentError(
            f"file_version is {file_version!r}, expected one of {', '.join(_FILE_VERSIONS)}", detail=file_version
        )
    sample = _sample(path, columns, num_rows, storage_options)
    runtime = default_runtime()
    private = [str(one.get("codec") or one.get("layout")) for one in private_candidates(runtime)]
    rows = sorted(random.Random(0).sample(range(sample.num_rows), min(_TAKEN_ROWS, sample.num_rows)))
    found: list[ColumnAdvice] = []
    with tempfile.TemporaryDirectory(prefix="lance-arrow-advise-") as folder:
        for name in sample.column_names:
            column = sample.select([name])
            field = column.schema.field(0)
            options = [*candidates(runtime), *(private_candidates(runtime, field.type) if tries_private else ())]
            # The first write of a process imports modules, so it is not measured.
            unmeasured: list[dict[str, Any]] = [] if found else [{}]
            answers = [
                try_options(column, one, Path(folder), file_version=file_version, rows=rows)
                for one in (*unmeasured, *options)
            ]
            found.append(_advice(field, answers[len(unmeasured) :], objective))
    chosen = {one.column: one.best.options for one in found if one.best.options}
    return AdviceReport(
        path=path,
        objective=objective,
        num_rows=sample.num_rows,
        file_version=file_version,
        columns=found,
        not_tried=[] if tries_private else private,
        column_options=chosen,
        python=_python(chosen, file_version, set(private)),
    )


def _sample(
    path: str, columns: Sequence[str] | None, num_rows: int, storage_options: Mapping[str, Any] | None
) -> pa.Table:
    """Read the first rows of the first input that has some."""
    for one in find_sources(path, storage_options=storage_options).inputs:
        facts = inspect(one, {}, lambda _: None)
        names = facts.schema.names if columns is None else list(columns)
        for name in names:
            if name not in facts.schema.names:
                raise InvalidArgumentError(
                    f"column {name!r} does not exist; columns: {', '.join(facts.schema.names)}"
                    f"{did_you_mean(name, facts.schema.names)}",
                    path=one.name,
                )
        batches, rows_left, bytes_left = [], num_rows, _MOST_BYTES
        for part, _ in read_parts(one, facts, names):
            batch = part.select(names).slice(0, rows_left)
            if batch.nbytes > bytes_left:
                batch = batch.slice(0, max(len(batch) * bytes_left // batch.nbytes, 1))
            batches.append(batch)
            rows_left -= len(batch)
            bytes_left -= batch.nbytes
            if rows_left <= 0 or bytes_left <= 0 or len(batch) < len(part):
                break
        if rows_left < num_rows:
            return pa.Table.from_batches(batches)
    raise InvalidArgumentError("there are no rows to try codecs on", path=path)


def _advice(field: pa.Field, answers: Sequence[Trial | Refusal], objective: str) -> ColumnAdvice:
    trials = [one for one in answers if isinstance(one, Trial)]
    default = trials[0]
    # Options that change nothing are results of the default.
    different = {(one.num_bytes, *one.codecs): one for one in reversed(trials)}
    kept = sorted(different.values(), key=lambda one: _result(one, objective))
    return ColumnAdvice(
        column=field.name,
        type=str(field.type),
        default=default,
        best=_best(default, kept, objective),
        trials=kept,
        refused=[one for one in answers if isinstance(one, Refusal)],
    )


def _best(default: Trial, trials: Sequence[Trial], objective: str) -> Trial:
    least = min(_result(one, objective) for one in trials) * _MARGINS[objective]
    if _result(default, objective) <= least:
        return default
    second = "scan" if objective == "size" else "size"
    return min((one for one in trials if _result(one, objective) <= least), key=lambda one: _result(one, second))


def _result(trial: Trial, objective: str) -> float:
    return {"size": trial.num_bytes, "scan": trial.scan_ms, "take": trial.take_ms}[objective]


def _python(chosen: Mapping[str, Mapping[str, Any]], file_version: str, private: set[str]) -> str:
    """Return the call that writes a table with the chosen options."""
    lines = [f"    {name!r}: {dict(options)!r}," for name, options in chosen.items()]
    table = ["column_options = {", *lines, "}"] if lines else ["column_options = {}"]
    needs_permission = any(str(value) in private for options in chosen.values() for value in options.values())
    permission = ", allow_private_encodings=True" if needs_permission else ""
    call = f'lance_arrow.write_table(table, "new.lance", file_version="{file_version}", column_options=column_options'
    return "\n".join([*table, f"{call}{permission})"])
