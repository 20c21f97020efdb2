"""Reads damaged files for as long as wanted: only rows, or a `LanceError`; no crash, no hang, no memory on a word.

`nox -s fuzz -- --minutes 30` runs it long; `test_fuzz.py` a short form. A worker process reads one damaged file after
the other under a limit of memory and of time; each is made from (seed, number) alone, so that ``--replay SEED NUMBER``
makes it again.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import columns  # noqa: E402
import forged  # noqa: E402
import forged_arrays  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
import pyarrow.dataset as pads  # noqa: E402
from fuzz_damage import damaged  # noqa: E402
from same import difference, take_rows, whole  # noqa: E402
from witness import Witness, WitnessRefused  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import LanceError  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402
from lance_arrow.settings import MEBIBYTE, Limits, Settings  # noqa: E402

MEMORY_BYTES = 3 << 30
CASE_SECONDS = 20
LARGEST_FILTERED = 100_000
"""A damaged file may promise any number of rows, and a filter asks for all."""
LIMITS = Limits(
    max_batch_bytes=128 * MEBIBYTE,
    max_value_bytes=64 * MEBIBYTE,
    max_dictionary_bytes=64 * MEBIBYTE,
    max_chunk_bytes=32 * MEBIBYTE,
    max_expanded_bytes=128 * MEBIBYTE,
    max_metadata_bytes=64 * MEBIBYTE,
)
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


def attempt(path: Path, content: bytes, strict: Runtime) -> str:
    """Read at every door; return what came of it. Whatever is not a `LanceError` is raised.

    The strict reads go through a file, the others through memory: the native engine reads both.
    """
    path.write_bytes(content)
    outcome = _strictly(path, strict)
    try:
        with lance_arrow.LanceFile(content) as file:
            for rows in patterns(file.num_rows):
                _taken(file, rows)
            for batch in file.to_batches(batch_size=100):
                batch.validate(full=True)
                if batch.num_rows * 50 < file.num_rows:
                    break
        fragment = lance_arrow.LanceFormat().make_fragment(pa.py_buffer(content))
        dataset = pads.FileSystemDataset([fragment], fragment.physical_schema, lance_arrow.LanceFormat())
        dataset.head(200).validate(full=True)
        with lance_arrow.LanceFile(path) as file:
            if file.num_rows < LARGEST_FILTERED:
                for one in filters(file.schema):
                    file.read(filter=one).validate(full=True)
                    pads.dataset(path, format=lance_arrow.LanceFormat()).count_rows(filter=one)
    except LanceError:
        pass
    return outcome


def _strictly(path: Path, strict: Runtime) -> str:
    """Take rows in many patterns, then scan: where both are read, they must be equal."""
    try:
        with lance_arrow.LanceFile(path, runtime=strict) as file:
            takes = [(rows, _taken(file, rows)) for rows in patterns(file.num_rows)]
            table = file.read()
    except LanceError as error:
        return type(error).__name__
    table.validate(full=True)
    refusals = set()
    for rows, taken in takes:
        if isinstance(taken, LanceError):
            refusals.add(type(taken).__name__)
        else:
            _compare(table, taken, rows)
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


def make(folder: Path, seed: int, number: int) -> tuple[str, bytes, str]:
    """The damaged file of (seed, number): name of the whole one, bytes, what was done."""
    rng = np.random.default_rng([seed, number])
    names = sorted(folder.glob("*.lance"))
    path = names[int(rng.integers(len(names)))]
    content, what = damaged(path.read_bytes(), rng)
    return path.name, content, what


def work(folder: Path, seed: int, first: int, count: int, seconds: float) -> int:
    """The worker: read damaged files number `first` and on; print each number before it is read, failures as JSON."""
    if "ASAN_OPTIONS" not in os.environ:
        # The shadow of AddressSanitizer alone takes terabytes of addresses; its own options limit memory.
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    settings = Settings(limits=LIMITS, num_threads=1)
    runtimes._default = Runtime(settings)
    strict = Runtime(Settings(limits=LIMITS, num_threads=1, prove_row_indices=True))
    outcomes: Counter[str] = Counter()
    stop = time.monotonic() + seconds
    held = folder / f"damaged-{os.getpid()}"
    for number in range(first, first + count):
        if time.monotonic() > stop:
            break
        print(f"trying {number}", flush=True)
        name, content, what = make(folder, seed, number)
        signal.alarm(CASE_SECONDS)
        try:
            outcomes[attempt(held, content, strict)] += 1
        # Whatever is not a LanceError is what this looks for.
        except Exception as error:  # noqa: BLE001
            trace = traceback.format_exc()[-1800:]
            print(
                json.dumps(
                    {
                        "file": name,
                        "seed": seed,
                        "number": number,
                        "damage": what,
                        "error": repr(error)[:500],
                        "trace": trace,
                    }
                ),
                flush=True,
            )
        signal.alarm(0)
    held.unlink(missing_ok=True)
    print(json.dumps({"outcomes": outcomes}), flush=True)
    return 0


def run(folder: Path, seed: int, count: int, seconds: float) -> tuple[Counter[str], list[dict]]:
    """Start workers until all is read or the time is over; a crash or hang is a failure, and the next one goes on."""
    outcomes: Counter[str] = Counter()
    failures: list[dict] = []
    first, stop = 0, time.monotonic() + seconds
    while first < count and time.monotonic() < stop:
        command = [
            sys.executable,
            str(HERE / "fuzz.py"),
            "--work",
            str(folder),
            str(seed),
            str(first),
            str(count - first),
        ]
        left = stop - time.monotonic()
        done = subprocess.run([*command, str(left)], capture_output=True, text=True, timeout=left + 120, check=False)
        lines = done.stdout.splitlines()
        results = [json.loads(line) for line in lines if line.startswith("{")]
        failures += [one for one in results if "error" in one]
        for one in results:
            outcomes.update(one.get("outcomes", {}))
        if done.returncode == 0:
            break
        last = max((int(line.split()[1]) for line in lines if line.startswith("trying")), default=first)
        what = "hung" if done.returncode == -signal.SIGALRM else f"ended with {done.returncode}"
        name, _, damage = make(folder, seed, last)
        failures.append(
            {"file": name, "seed": seed, "number": last, "damage": damage, "error": what, "trace": done.stderr[-1500:]}
        )
        outcomes["lost with a worker"] += last - first
        first = last + 1
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to read")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="which damages")
    parser.add_argument("--seeds", type=Path, help="folder of whole files, kept; made anew without")
    parser.add_argument("--replay", type=int, nargs=2, metavar=("SEED", "NUMBER"), help="read one damaged file again")
    parser.add_argument("--work", nargs=5, metavar="ARGUMENT", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        folder, *numbers, seconds = options.work
        return work(Path(folder), *map(int, numbers), float(seconds))
    with tempfile.TemporaryDirectory() as made:
        folder = options.seeds or Path(made)
        folder.mkdir(exist_ok=True)
        if not any(folder.glob("*.lance")):
            witness = Witness(folder)
            print(write_seeds(folder, witness), "files", flush=True)
            witness.close()
        if options.replay:
            name, content, what = make(folder, *options.replay)
            strict = Runtime(Settings(limits=LIMITS, num_threads=1, prove_row_indices=True))
            print(name, "|", what, "|", attempt(Path(made) / "damaged", content, strict))
            return 0
        outcomes, failures = run(folder, options.seed, 10**9, options.minutes * 60)
        for failure in failures:
            print(json.dumps(failure, indent=1))
        print("seed", options.seed, dict(outcomes), len(failures), "failures")
        return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
