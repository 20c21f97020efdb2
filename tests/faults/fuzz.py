"""Reads damaged files: only rows, or a `LanceError`; no crash, no hang, no memory on a word, no other rows.

`nox -s fuzz -- --minutes 30` or `-- --count 100000 --workers 2` runs it long; `test_fuzz.py` a short form. A worker
process reads one damaged file after the other within `bounded`; each is made from (seed, number) alone, so that
``--replay SEED NUMBER`` makes it again.

Every third file is one that this package wrote, with checksums that are not computed again: three doors give the right
rows, or an error. The others are of every writer, mostly without checksums, or with ones that fit the damage: only
takes and scans of one file are compared.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import columns  # noqa: E402
import flipped  # noqa: E402
import forged  # noqa: E402
import forged_arrays  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as pads  # noqa: E402
from bounded import SETTINGS  # noqa: E402
from fuzz_damage import damaged  # noqa: E402
from fuzz_runs import Mutant, arguments, run, work  # noqa: E402
from same import difference, take_rows, whole  # noqa: E402
from witness import Witness, WitnessRefused  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.files.salvaging.file_salvage import FileSalvage  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402

LARGEST_FILTERED = 100_000
"""A damaged file may promise any number of rows, and a filter asks for all."""
STRICT = replace(SETTINGS, prove_row_indices=True)
OURS_EVERY = 3
# Arrow calls the values of these invalid by themselves: damaged values are not for us to judge.
JUDGED = ("time", "date64", "decimal")


def write_seeds(
    folder: Path,
    witness: Witness,
    versions: Sequence[str] = columns.OLD_AND_NEW,
    nulls_of: Sequence[str] = ("some", "none"),
) -> int:
    """Write small files: of the reference, all types and encodings of every version, and of the forge."""
    for version in versions:
        for group in columns.GROUPS:
            for nulls in nulls_of:
                cases = [case for case in columns.cases(group, version, 300, nulls) if not _is_judged(case, nulls)]
                for start in range(0, len(cases), 6):
                    _write(
                        cases[start : start + 6],
                        nulls,
                        version,
                        folder / f"{version}-{group}-{nulls}-{start}.lance",
                        witness,
                    )
    for name, file in {**forged.GOOD, **forged_arrays.GOOD, **forged_arrays.PRE_RELEASE}.items():
        (folder / f"forged-{name}.lance").write_bytes(file.build())
    for version in ("2.1", "2.2", "2.3"):
        _write_ours(folder / f"ours-{version}.lance", version)
    return len(list(folder.glob("*.lance")))


def _is_judged(case: columns.ColumnCase, nulls: str) -> bool:
    return any(word in str(case.build(3, nulls).type) for word in JUDGED)


def _write(cases: list[columns.ColumnCase], nulls: str, version: str, path: Path, witness: Witness) -> None:
    arrays = [case.build(300, nulls) for case in cases]
    fields = [case.field_for(array, nulls) for case, array in zip(cases, arrays, strict=True)]
    try:
        witness.write(pa.table(arrays, schema=pa.schema(fields)), path, version)
    except WitnessRefused:
        path.unlink(missing_ok=True)


def _write_ours(path: Path, version: str) -> None:
    """A file with zone maps and checksums, in pages of a few rows."""
    rng = np.random.default_rng(18)
    numbers = np.sort(rng.integers(-1000, 1000, 600))
    table = pa.table(
        {
            "number": pa.array(numbers, mask=rng.random(600) < 0.1),
            "text": [f"text {number}" for number in numbers],
            "real": numbers / 7,
            "lists": [[int(number)] * (row % 4) for row, number in enumerate(numbers)],
        }
    )
    lance_arrow.write_table(table, path, file_version=version, rows_per_zone=128, page_bytes=2048)


def filters(schema: pa.Schema) -> list[pc.Expression]:
    """Predicates that zone maps are asked for, of the first columns."""
    found = []
    for field in list(schema)[:3]:
        column = pc.field(field.name)
        found.append(column.is_valid())
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            found.append(column > pa.scalar(5).cast(field.type))
        elif pa.types.is_string(field.type):
            found.append(column == "text 7")
    return found


def attempt(path: Path, content: bytes, strict: Runtime, number: int) -> str:
    """Read strictly, and at one of the other doors; return what came of it. Errors of other kinds are raised.

    The strict reads go through a file, the others mostly through memory: the native engine reads both. One door more
    for each mutant finds more in an hour than all doors for fewer mutants.
    """
    path.write_bytes(content)
    outcome = _strictly(path, strict)
    with contextlib.suppress(LanceError):
        DOORS[number // OURS_EVERY % len(DOORS)](path, content)
    return outcome


def _take(path: Path, content: bytes) -> None:
    with lance_arrow.LanceFile(content) as file:
        for rows in patterns(file.num_rows):
            _taken(file, rows)
        for batch in file.to_batches(batch_size=100):
            batch.validate(full=True)
            if batch.num_rows * 50 < file.num_rows:
                break


def _scan(path: Path, content: bytes) -> None:
    fragment = lance_arrow.LanceFormat().make_fragment(pa.py_buffer(content))
    dataset = pads.FileSystemDataset([fragment], fragment.physical_schema, lance_arrow.LanceFormat())
    dataset.head(200).validate(full=True)


def _filter(path: Path, content: bytes) -> None:
    with lance_arrow.LanceFile(path) as file:
        if file.num_rows < LARGEST_FILTERED:
            for one in filters(file.schema):
                file.read(filter=one).validate(full=True)
                pads.dataset(path, format=lance_arrow.LanceFormat()).count_rows(filter=one)


def _salvage(path: Path, content: bytes) -> None:
    """Save what can be saved, also without proof: this ends, and the rows can be read."""
    for lost in ("null", "skip"):
        try:
            with FileSalvage(content, lost=lost, allow_unchecked=True) as found:
                if found.report.rows_saved < LARGEST_FILTERED:
                    assert found.read().num_rows == found.report.rows_saved
        except LanceError:
            pass


DOORS = (_take, _scan, _filter, _salvage)


def _strictly(path: Path, strict: Runtime) -> str:
    """Scan, then take rows in many patterns with another reader: where both are read, they must be equal."""
    refusals, table = set(), None
    try:
        with lance_arrow.LanceFile(path, runtime=strict) as file:
            table = file.read()
        table.validate(full=True)
    except LanceError as error:
        refusals.add(type(error).__name__)
    try:
        with lance_arrow.LanceFile(path, runtime=strict) as file:
            for rows in patterns(file.num_rows):
                taken = _taken(file, rows)
                if isinstance(taken, LanceError):
                    refusals.add(type(taken).__name__)
                elif table is not None:
                    _compare(table, taken, rows)
    except LanceError as error:
        return type(error).__name__
    return min(refusals, default="read")


def patterns(num_rows: int) -> list[np.ndarray]:
    """Rows to take: ends, one run, all, every third, single ones out of order and twice, the borders of chunks."""
    if num_rows <= 0:
        return [np.zeros(0, np.int64)]
    # A damaged file may promise any number of rows: the patterns stay small.
    last, some = num_rows - 1, min(num_rows, 2000)
    rng = np.random.default_rng(num_rows)
    borders = np.array([at + shift for at in (8, 64, 256, 1024) for shift in (-1, 0, 1)])
    return [
        np.array([0, last, num_rows // 2, num_rows // 3]),
        np.arange(num_rows // 3, min(num_rows // 3 + 40, num_rows)),
        np.arange(some),
        np.arange(some)[::3],
        rng.integers(0, num_rows, 25),
        np.minimum(borders, last),
        np.array([last]),
    ]


def _taken(file: lance_arrow.LanceFile, rows: np.ndarray) -> pa.Table | LanceError:
    """One refused take must not hide the others."""
    try:
        table = file.take(rows)
    except LanceError as error:
        return error
    table.validate(full=True)
    return table


def _compare(table: pa.Table, taken: pa.Table, rows: np.ndarray) -> None:
    """A take under a proven row index gives the rows of a scan."""
    for name, left, right in zip(table.column_names, table.columns, taken.columns, strict=True):
        found = difference(take_rows(whole(left), rows), whole(right))
        if found is not None:
            raise AssertionError(f"a take of {rows.tolist()[:8]} of column {name!r} differs from the scan: {found}")


@functools.cache
def _runtimes() -> Runtime:
    """Let this process read within the bounds, and return a runtime that trusts no row index."""
    runtimes._default = Runtime(SETTINGS)
    return Runtime(STRICT)


@functools.cache
def _wholes(folder: Path) -> tuple[list[str], list[bytes]]:
    paths = sorted(folder.glob("*.lance"))
    return [path.name for path in paths], [path.read_bytes() for path in paths]


def make(folder: Path, seed: int, number: int) -> Mutant:
    """The damaged file of (seed, number)."""
    strict, held = _runtimes(), folder / f"damaged-{os.getpid()}"
    rng = np.random.default_rng([seed, number])
    if number % OURS_EVERY == 0:
        whole = flipped.whole_files()[int(rng.integers(len(flipped.whole_files())))]
        content, what = damaged(whole.content, rng, sealed=False)
        return Mutant(whole.name, what, len(content), lambda: judged(whole, held, content, number))
    names, contents = _wholes(folder)
    chosen = int(rng.integers(len(names)))
    content, what = damaged(contents[chosen], rng)
    return Mutant(names[chosen], what, len(content), lambda: attempt(held, content, strict, number))


def judged(whole: flipped.Whole, path: Path, content: bytes, number: int) -> str:
    """Read a damaged file of ours at three doors: right rows, or an error."""
    outcomes = flipped.attempt(whole, path, content, number, LanceError, most_doors=3)
    found = set(outcomes.values())
    if not found <= {"right", "noticed"}:
        raise AssertionError(f"other rows, or other errors: {outcomes}")
    return f"ours {min(found)}"


def main() -> int:
    options = arguments(__doc__).parse_args()
    if options.work:
        folder, seed, first, count, seconds = options.work
        make_one = functools.partial(make, Path(folder), int(seed))
        try:
            work(make_one, int(seed), int(first), int(count), float(seconds))
        finally:
            (Path(folder) / f"damaged-{os.getpid()}").unlink(missing_ok=True)
        return 0
    with tempfile.TemporaryDirectory() as made:
        folder = options.seeds or Path(made)
        folder.mkdir(exist_ok=True)
        if not any(folder.glob("*.lance")):
            witness = Witness(folder)
            print(write_seeds(folder, witness), "files", flush=True)
            witness.close()
        if options.replay:
            mutant = make(folder, *options.replay)
            print(mutant.name, "|", mutant.what, "|", mutant.read())
            return 0
        return run(HERE / "fuzz.py", folder, functools.partial(make, folder, options.seed), options)


if __name__ == "__main__":
    sys.exit(main())
