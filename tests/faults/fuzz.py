"""Reads damaged files: only rows, or a `LanceError`; no crash, no hang, no memory on a word, no other rows.

`nox -s fuzz -- --minutes 30` or `-- --count 100000 --workers 2` runs it long; `test_fuzz.py` a short form. A worker
process reads one damaged file after the other within `bounded`; each is made from (seed, number) alone, so that
``--replay SEED NUMBER`` makes it again.

Every third file is one that this package wrote, with checksums that are not computed again: doors give the right rows,
or an error. The others are of every writer, mostly without checksums, or with ones that fit the damage: only takes and
scans of one file are compared.

Most files are small (`fuzz_seeds`), and are asked at few doors. One in 64 is large: pages of many chunks, and codecs
that need them.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "mutants"), str(HERE.parent / "support")]

import flipped  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as pads  # noqa: E402
from bounded import SETTINGS  # noqa: E402
from fuzz_damage import damaged  # noqa: E402
from fuzz_runs import Mutant, arguments, run, work  # noqa: E402
from fuzz_seeds import SMALL, write_seeds  # noqa: E402
from same import difference, take_rows, whole  # noqa: E402
from witness import Witness  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.files.salvaging.file_salvage import FileSalvage  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402

LARGEST_FILTERED = 100_000
"""A damaged file may promise any number of rows, and a filter asks for all."""
STRICT = replace(SETTINGS, prove_row_indices=True)
OURS_EVERY = 3
OTHERS_EVERY = 4
"""Doors besides the strict one are asked of one small file in so many."""
LARGE_EVERY = 64
"""Reading a large one takes as long as reading twenty small ones."""
_OUTSIDE = re.compile("does not fit in precision|is not within the acceptable range|a whole number of days")


class OutsideTypeError(Exception):
    """A decimal is beyond its precision, or a time is no time of a day."""


def check_values(rows: pa.Table | pa.RecordBatch) -> None:
    """Check what no reader may give, and raise `OutsideTypeError` for numbers that their type does not allow."""
    outside = None
    for column in rows.columns:
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            if _OUTSIDE.search(str(error)) is None:
                raise
            outside = error
    if outside is not None:
        raise OutsideTypeError from outside


def filters(schema: pa.Schema) -> list[pc.Expression]:
    """Predicates that zone maps are asked for, of the first columns."""
    found = []
    for field in list(schema)[:3]:
        column = pc.field(field.name)
        found.append(column.is_valid())
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            found.append(column > pa.scalar(5).cast(field.type))
            found.append(column.isin(pa.array(range(0, 90, 5)).cast(field.type)))
        elif pa.types.is_string(field.type):
            found.append(column == "text 7")
            found.append(column.isin([f"text {number}" for number in range(0, 90, 5)]))
            found.append(pc.match_substring(column, "t 7"))
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


def attempt_small(path: Path, content: bytes, strict: Runtime, number: int) -> str:
    """Read a small damaged file strictly, through a file or memory, or ask one of the other doors."""
    turn = number // OURS_EVERY
    path.write_bytes(content)
    try:
        if turn % OTHERS_EVERY == 0:
            DOORS[turn // OTHERS_EVERY % len(DOORS)](path, content)
            return "read otherwise"
        return _read_and_taken(path if turn & 4 else content, strict, turn)
    except LanceError as error:
        return type(error).__name__


def _read_and_taken(source: Path | bytes, strict: Runtime, turn: int) -> str:
    """Read a file, before or after some takes by the same reader; takes give the rows that a read gives."""
    taken = []
    with lance_arrow.LanceFile(source, runtime=strict) as file:
        table = file.read() if turn & 1 else None
        every = patterns(file.num_rows)
        for rows in (every[turn % len(every)], every[(turn // 7 + 1) % len(every)]):
            taken.append((_taken(file, rows), rows))
        table = file.read() if table is None else table
    check_values(table)
    for found, rows in taken:
        if not isinstance(found, LanceError):
            _compare(table, found, rows)
    return next((type(found).__name__ for found, _ in taken if isinstance(found, LanceError)), "read")


def _take(path: Path, content: bytes) -> None:
    with lance_arrow.LanceFile(content) as file:
        for rows in patterns(file.num_rows):
            _taken(file, rows)
        for batch in file.to_batches(batch_size=100):
            check_values(batch)
            if batch.num_rows * 50 < file.num_rows:
                break


def _scan(path: Path, content: bytes) -> None:
    fragment = lance_arrow.LanceFormat().make_fragment(pa.py_buffer(content))
    dataset = pads.FileSystemDataset([fragment], fragment.physical_schema, lance_arrow.LanceFormat())
    check_values(dataset.head(200))


def _filter(path: Path, content: bytes) -> None:
    with lance_arrow.LanceFile(path) as file:
        if file.num_rows < LARGEST_FILTERED:
            for one in filters(file.schema):
                check_values(file.read(filter=one))
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
        check_values(table)
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
    check_values(table)
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
    strict, held = _runtimes(), Path(tempfile.gettempdir()) / f"damaged-{os.getpid()}-{number}"
    rng = np.random.default_rng([seed, number])
    is_large = number % LARGE_EVERY == 0
    read: Callable[[], str]
    if number % OURS_EVERY == 0:
        ours = flipped.whole_files() if is_large else flipped.small_files()
        whole = ours[int(rng.integers(len(ours)))]
        content, what = damaged(whole.content, rng, sealed=False)
        name, read = whole.name, functools.partial(judged, whole, held, content, number, is_large=is_large)
    else:
        names, contents = _wholes(folder if is_large else folder / SMALL)
        chosen = int(rng.integers(len(names)))
        content, what = damaged(contents[chosen], rng)
        name, read = (
            names[chosen],
            functools.partial(attempt if is_large else attempt_small, held, content, strict, number),
        )
    return Mutant(name, what, len(content), functools.partial(_removed, held, read))


def _removed(held: Path, read: Callable[[], str]) -> str:
    # Each mutant has a path of its own: clocks of filesystems are too slow to tell two files of one path apart.
    try:
        return read()
    except OutsideTypeError:
        # Without checksums a damaged precision is a precision: reads give the numbers that lie there.
        if lance_arrow.verify(held).ok:
            raise
        return "reported by verify"
    finally:
        held.unlink(missing_ok=True)


def judged(whole: flipped.Whole, path: Path, content: bytes, number: int, *, is_large: bool) -> str:
    """Read a damaged file of ours at some doors: right rows, or an error."""
    turn = number // OURS_EVERY
    most_doors = 3 if is_large else 1
    is_verified = is_large or turn % OTHERS_EVERY == 0
    outcomes = flipped.attempt(whole, path, content, number, LanceError, most_doors=most_doors, is_verified=is_verified)
    found = set(outcomes.values())
    if not found <= {"right", "noticed"}:
        raise AssertionError(f"other rows, or other errors: {outcomes}")
    return f"ours {min(found)}"


def main() -> int:
    options = arguments(__doc__).parse_args()
    if options.work:
        folder, seed, first, count, seconds = options.work
        make_one = functools.partial(make, Path(folder), int(seed))
        work(make_one, int(seed), int(first), int(count), float(seconds))
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
