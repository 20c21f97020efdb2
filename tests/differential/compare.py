"""One random table, written by the reference and read by both: what came of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from canonical import difference
from random_tables import random_case
from ways import disagreement
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow
from lance_arrow.errors import LanceError, UnsupportedError


@dataclass
class Outcome:
    """What one table showed; a table without failures, refusals and unsupported columns is equal.

    Parameters
    ----------
    refused
        Why the reference did not write the table; nothing was compared then.
    reference_differs
        Columns that the reference wrote or read other than they were given. Ours must then equal one of both, or
        the column counts as `undecided`.
    unsupported
        Reasons of our `UnsupportedError`, one per column; the others were compared.
    failures
        Wrong values and other errors.
    """

    refused: str | None = None
    reference_differs: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    compared: int = 0

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self))


def compare_unsliced(witness: Witness, folder: Path, version: str, seed: int) -> Outcome:
    """Compare a table whose arrays all begin at their first value, for releases that wrote what is before it too."""
    return compare(witness, folder, version, seed, sliced=False)


def compare(witness: Witness, folder: Path, version: str, seed: int, sliced: bool = True) -> Outcome:
    """Write the table of `seed` with the reference, read it with both, compare every column and way of reading."""
    outcome = Outcome()
    case = random_case(seed, version)
    path = folder / f"{version}-{seed}.lance"
    try:
        try:
            if sliced:
                witness.write(case.table, path, version, slices=case.slices, **case.writer_options)
            else:
                witness.write(case.expected, path, version, **case.writer_options)
        except (WitnessRefused, WitnessDied) as error:
            outcome.refused = _short(str(error))
            return outcome
        compare_file(witness, path, case.expected, np.random.default_rng(seed), outcome)
    finally:
        path.unlink(missing_ok=True)
    return outcome


def compare_file(witness: Witness, path: Path, expected: pa.Table, rng: np.random.Generator, outcome: Outcome) -> None:
    """Read `path` with both, compare every column with `expected` and every way of reading with it."""
    try:
        file = lance_arrow.LanceFile(path)
    except UnsupportedError as error:
        outcome.unsupported.append(_reason(error))
        return
    with file:
        _check(outcome, "schema", lambda: _compare_schemas(witness, path, file, outcome))
        _check(outcome, "rows", lambda: _say(file.num_rows == expected.num_rows, f"{file.num_rows} rows"))
        readable = []
        for name in expected.column_names:
            before = len(outcome.failures) + len(outcome.unsupported)
            _check(outcome, name, lambda name=name: _compare_column(witness, path, file, expected, name, outcome))
            if len(outcome.failures) + len(outcome.unsupported) == before and name not in outcome.undecided:
                readable.append(name)
        outcome.compared = len(readable)
        if readable:
            columns = {name: file.read(columns=[name]).column(name) for name in readable}
            _check(outcome, "together", lambda: disagreement(witness, path, file, columns, rng))


def _compare_schemas(witness: Witness, path: Path, file: lance_arrow.LanceFile, outcome: Outcome) -> str | None:
    try:
        reference = witness.schema(path)
    except (WitnessRefused, WitnessDied) as error:
        outcome.reference_differs.append(_short(f"file: {error}"))
        return None
    return _say(file.schema.equals(reference, check_metadata=True), f"schema {file.schema}, expected {reference}")


def _compare_column(
    witness: Witness, path: Path, file: lance_arrow.LanceFile, expected: pa.Table, name: str, outcome: Outcome
) -> str | None:
    given = expected.column(name)
    theirs, change = None, None
    try:
        theirs = witness.read(path, [name]).column(name)
    except (WitnessRefused, WitnessDied) as error:
        change = str(error)
    else:
        try:
            theirs.validate(full=True)
        except pa.ArrowInvalid as error:
            theirs, change = None, f"not valid: {error}"
        else:
            # The wire keeps fewer names and nullabilities than Arrow.
            change = difference(given, theirs, types=False)
    if change is not None:
        outcome.reference_differs.append(_short(f"{name}: {change}"))
    try:
        table = file.read(columns=[name])
    except UnsupportedError:
        raise
    except LanceError as error:
        if change is None:
            raise
        outcome.undecided.append(name)
        outcome.reference_differs.append(_short(f"{name}: ours {error!r}"))
        return None
    table.validate(full=True)
    ours = table.column(name)
    found = difference(given, ours, types=False)
    if found is None or (theirs is not None and difference(theirs, ours) is None):
        return None
    if change is not None:
        outcome.undecided.append(name)
        outcome.reference_differs.append(_short(f"{name}: ours {found}"))
        return None
    return found


def _check(outcome: Outcome, what: str, compare_it: Callable[[], str | None]) -> None:
    try:
        found = compare_it()
    except UnsupportedError as error:
        outcome.unsupported.append(_reason(error))
    # Whatever else is raised is what this looks for.
    except Exception as error:  # noqa: BLE001
        outcome.failures.append(f"{what}: {error!r}"[:1000])
    else:
        if found is not None:
            outcome.failures.append(f"{what}: {found}"[:1000])


def _say(holds: bool, text: str) -> str | None:
    return None if holds else text


def _reason(error: UnsupportedError) -> str:
    return error.message[:120]


def _short(text: str) -> str:
    return " ".join(text.split())[:240]
