"""One random table, written by us and read by both: what came of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from canonical import difference
from compare import Outcome, compare_file
from numpy.typing import NDArray
from random_tables import Case, random_case
from ways import some_rows
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow
from lance_arrow.arrays.column_tree import column_tree
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.errors import LanceError, UnsupportedError
from lance_arrow.io import open_source

PRESETS = ("default", "default", "fast", "compact")
PAGE_BYTES = (8 << 20, 8 << 20, 1 << 16, 4096)
ROWS_PER_ZONE = (8192, 1, 7, 100, None)


def write_case(
    case: Case, path: Path, version: str, rng: np.random.Generator, presets: tuple[str, ...] = PRESETS
) -> None:
    """Write the batches of `case` with options that `rng` decides on."""
    with lance_arrow.LanceWriter(
        path,
        case.table.schema,
        file_version=version,
        preset=str(rng.choice(presets)),
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


def compare_plain(witness: Witness, folder: Path, version: str, seed: int) -> Outcome:
    """Compare a table whose buffers are not compressed by request, for releases that know no scheme of later ones."""
    return compare_written(witness, folder, version, seed, wishes=False)


def compare_written(witness: Witness, folder: Path, version: str, seed: int, wishes: bool = True) -> Outcome:
    """Write the table of `seed` by us, read it with both, compare every column and way of reading, and rows taken.

    What the reference cannot read of its own file of the same table, it need not read of ours.
    """
    outcome = Outcome()
    case = random_case(seed, version, wishes)
    path = folder / f"{version}-{seed}.lance"
    rng = np.random.default_rng([seed, 4])
    try:
        try:
            write_case(case, path, version, rng, PRESETS if wishes else PRESETS[:1])
        except UnsupportedError as error:
            outcome.refused = error.message[:200]
            return outcome
        except LanceError as error:
            outcome.failures.append(f"write: {error!r}"[:1000])
            return outcome
        # Only packed tables have columns that the reference reads otherwise than they were given.
        compare_file(witness, path, case.expected, np.random.default_rng(seed), outcome)
        if outcome.reference_differs:
            _judge(witness, path, version, case, outcome)
        _compare_rows(witness, path, version, case, rng, outcome)
    finally:
        path.unlink(missing_ok=True)
    return outcome


def _judge(witness: Witness, written: Path, version: str, case: Case, outcome: Outcome) -> None:
    """Differences are ours unless the reference has them with its own file too."""
    path = written.with_name("own.lance")
    for text in list(outcome.reference_differs):
        name = text.split(":", 1)[0]
        if name in case.expected.column_names and not _reads_its_own(witness, written, path, case, version, name):
            continue
        if name == "file" and not _opens_its_own(witness, path, case, version):
            continue
        outcome.reference_differs.remove(text)
        outcome.failures.append(f"the reference: {text}")


def _reads_its_own(witness: Witness, written: Path, path: Path, case: Case, version: str, name: str) -> bool:
    """Whether the reference reads its own files: as it likes to write them, and with the page borders of ours.

    It sums up what pages tell differently of nulls (all valid here, nullable there) the wrong way.
    """
    expected = case.expected.select([name])
    ways = _ways(written, case, [name])
    return all(_reads(witness, table, path, version, expected, options) for table, options in ways)


def _opens_its_own(witness: Witness, path: Path, case: Case, version: str) -> bool:
    """Whether the reference has words for the schema at all."""
    try:
        witness.write(case.table, path, version, slices=case.slices, **case.writer_options)
        witness.schema(path)
    except (WitnessRefused, WitnessDied):
        return False
    finally:
        path.unlink(missing_ok=True)
    return True


def _ways(written: Path, case: Case, names: list[str]) -> list[tuple[pa.Table, dict[str, Any]]]:
    """Tables and options for the reference's own files: as it likes to write, and with the page borders of ours.

    Older releases find no column that stands behind a packed one, so what stands beside the columns belongs to it.
    """
    usual = {"slices": case.slices, **case.writer_options}
    ways: list[tuple[pa.Table, dict[str, Any]]] = [(case.table.select(names), usual), (case.table, usual)]
    expected = case.expected.select(names)
    borders = sorted({border for name in names for border in _page_borders(written, name)})
    pieces = [expected.slice(start, stop - start) for start, stop in pairwise(borders)]
    if len(pieces) > 1:
        ways.append((pa.concat_tables([_joined(piece) for piece in pieces]), {"data_cache_bytes": 1}))
    return ways


def _joined(table: pa.Table) -> pa.Table:
    """Make one batch of a table, where Arrow can: it joins no dictionaries with null items."""
    try:
        return table.combine_chunks()
    except pa.ArrowInvalid:
        return table


def _reads(
    witness: Witness, table: pa.Table, path: Path, version: str, expected: pa.Table, options: dict[str, Any]
) -> bool:
    try:
        witness.write(table, path, version, **options)
        theirs = witness.read(path, expected.column_names)
        theirs.validate(full=True)
    except (WitnessRefused, WitnessDied, pa.ArrowInvalid):
        return False
    finally:
        path.unlink(missing_ok=True)
    return difference(expected.column(0), theirs.column(0), types=False) is None


def _page_borders(path: Path, name: str) -> list[int]:
    """Rows where a page of any leaf of a column begins, and the number of rows."""
    with LanceFileReader(open_source(str(path))) as file:
        tree = column_tree(file.schema, file.leaves)
        (root,) = [root for root in tree if root.field.name == name]
        leaves = list(root.leaves())
        metas = file.columns([leaf.column for leaf in leaves])
        starts = [meta.page_starts // leaf.lengths_per_row for meta, leaf in zip(metas, leaves, strict=True)]
    return sorted({int(start) for one in starts for start in one})


def _compare_rows(
    witness: Witness, path: Path, version: str, case: Case, rng: np.random.Generator, outcome: Outcome
) -> None:
    """Let the reference take rows of our file; where it cannot, of its own too."""
    expected = case.expected
    rows = np.unique(some_rows(expected.num_rows, rng))
    differing = {text.split(":", 1)[0] for text in outcome.reference_differs}
    names = [name for name in expected.column_names if name not in differing]
    if not len(rows) or not names:
        return
    alone = [[name] for name in names if _has_tuples(expected.schema.field(name).type)]
    together = [name for name in names if [name] not in alone]
    for some in [*alone, *([together] if together else [])]:
        problems = _taken_wrong(witness, path, expected, rows, some)
        if not problems:
            continue
        own_problems: set[str] = set()
        own = path.with_name("own.lance")
        for table, options in _ways(path, case, some):
            try:
                witness.write(table, own, version, **options)
                own_problems.update(_taken_wrong(witness, own, expected, rows, some))
            except WitnessRefused:
                own_problems.update(problems)
            finally:
                own.unlink(missing_ok=True)
        for name, problem in problems.items():
            text = f"{name}: the reference takes {rows.tolist()[:20]}: {problem}"[:1000]
            (outcome.reference_differs if name in own_problems else outcome.failures).append(text)


def _taken_wrong(
    witness: Witness, path: Path, expected: pa.Table, rows: NDArray[np.int64], names: list[str]
) -> dict[str, str]:
    """Return what is wrong with rows that the reference takes, by column; all columns at once where it refuses."""
    try:
        taken = witness.take(path, rows.tolist(), names)
    except (WitnessRefused, WitnessDied) as error:
        return {", ".join(names): str(error)}
    found = {name: difference(expected.column(name), taken.column(name), rows, types=False) for name in names}
    return {name: problem for name, problem in found.items() if problem is not None}


def _has_tuples(type_: pa.DataType) -> bool:
    """Whether there are fixed-size lists of structs: the reference takes no such column together with others."""
    if pa.types.is_fixed_size_list(type_) and pa.types.is_struct(type_.value_type):
        return True
    return any(_has_tuples(type_.field(i).type) for i in range(type_.num_fields))
