"""One random table, written by us and read by both: what came of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from canonical import difference
from compare import Outcome, compare_file
from random_tables import Case, random_case
from ways import some_rows
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow
from lance_arrow.errors import LanceError, UnsupportedError

PRESETS = ("default", "default", "fast", "compact")
PAGE_BYTES = (8 << 20, 8 << 20, 1 << 16, 4096)
ROWS_PER_ZONE = (8192, 1, 7, 100, None)


def write_case(case: Case, path: Path, version: str, rng: np.random.Generator) -> None:
    """Write the batches of `case` with options that `rng` decides on."""
    with lance_arrow.LanceWriter(
        path,
        case.table.schema,
        file_version=version,
        preset=str(rng.choice(PRESETS)),
        page_bytes=int(rng.choice(PAGE_BYTES)),
        rows_per_zone=ROWS_PER_ZONE[rng.integers(0, len(ROWS_PER_ZONE))],
        checksums=bool(rng.random() < 0.8),
    ) as writer:
        if case.slices is None:
            for batch in case.table.to_batches():
                writer.write(batch)
            return
        whole = case.table.combine_chunks()
        for start, stop in case.slices:
            writer.write(whole.slice(start, stop - start))


def compare_written(witness: Witness, folder: Path, version: str, seed: int) -> Outcome:
    """Write the table of `seed` by us, read it with both, compare every column and way of reading, and rows taken.

    What the reference cannot read of its own file of the same table, it need not read of ours.
    """
    outcome = Outcome()
    case = random_case(seed, version)
    path = folder / f"{version}-{seed}.lance"
    rng = np.random.default_rng([seed, 4])
    try:
        try:
            write_case(case, path, version, rng)
        except UnsupportedError as error:
            outcome.refused = error.message[:200]
            return outcome
        except LanceError as error:
            outcome.failures.append(f"write: {error!r}"[:1000])
            return outcome
        # Only packed tables have columns that the reference reads otherwise than they were given.
        compare_file(witness, path, case.expected, np.random.default_rng(seed), outcome)
        if outcome.reference_differs:
            _judge(witness, folder, version, case, outcome)
        _compare_rows(witness, path, case.expected, rng, outcome)
    finally:
        path.unlink(missing_ok=True)
    return outcome


def _judge(witness: Witness, folder: Path, version: str, case: Case, outcome: Outcome) -> None:
    """Differences are ours unless the reference has them with its own file too."""
    path = folder / "own.lance"
    for text in list(outcome.reference_differs):
        name = text.split(":", 1)[0]
        if name in case.expected.column_names and not _reads_its_own(witness, path, case, version, name):
            continue
        outcome.reference_differs.remove(text)
        outcome.failures.append(f"the reference: {text}")


def _reads_its_own(witness: Witness, path: Path, case: Case, version: str, name: str) -> bool:
    expected = case.expected.select([name])
    try:
        witness.write(case.table.select([name]), path, version, slices=case.slices, **case.writer_options)
        theirs = witness.read(path, [name])
        theirs.validate(full=True)
    except (WitnessRefused, WitnessDied, pa.ArrowInvalid):
        return False
    finally:
        path.unlink(missing_ok=True)
    return difference(expected.column(name), theirs.column(name), types=False) is None


def _compare_rows(witness: Witness, path: Path, expected: pa.Table, rng: np.random.Generator, outcome: Outcome) -> None:
    """Let the reference take rows of our file."""
    rows = np.unique(some_rows(expected.num_rows, rng))
    differing = {text.split(":", 1)[0] for text in outcome.reference_differs}
    names = [name for name in expected.column_names if name not in differing]
    if not len(rows) or not names:
        return
    try:
        taken = witness.take(path, rows.tolist(), names)
    except (WitnessRefused, WitnessDied) as error:
        outcome.failures.append(f"the reference takes {rows.tolist()[:20]}: {error}"[:1000])
        return
    for name in names:
        found = difference(expected.column(name), taken.column(name), rows, types=False)
        if found is not None:
            outcome.failures.append(f"the reference takes {rows.tolist()[:20]}: {name}: {found}"[:1000])
