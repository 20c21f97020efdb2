"""Compare files of other releases of the reference with what each release reads itself.

`python tests/differential/releases.py 4.0.0=/path/to/python 12.0.0=/path/to/python`: each interpreter has that release
installed. The columns of the matrix and random tables are written and read by the release; the values given to it, its
own reading and ours must agree as in `run.py`. With `--written`, random tables are written by us and read by both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import columns  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from compare import Outcome, compare, compare_file  # noqa: E402
from run import VERSIONS, Summary, report  # noqa: E402
from witness import Witness, WitnessDied, WitnessRefused  # noqa: E402
from written import compare_plain, compare_written  # noqa: E402

ROW_COUNTS = (1, 5_000)
NUM_RANDOM = 300
# Where 2.3 still was another format, without planar pages.
BEFORE_PLANAR = ("4.0.0", "8.0.0")
# Whose 2.1 was a draft that no later one reads (see drafts.py). They know no LZ4, and zstd in another frame only: what
# later releases compress on request, they cannot read either.
FIRST_OF_2_0 = ("0.20.0",)


def written(witness: Witness, folder: Path, table: pa.Table, version: str) -> Iterator[tuple[pa.Table, Path | str]]:
    """Write `table`, in parts where the release refuses a column; yield each part with its file or the refusal."""
    path = folder / "file.lance"
    try:
        witness.write(table, path, version)
    except (WitnessRefused, WitnessDied) as error:
        if table.num_columns == 1:
            yield table, f"{table.column_names[0]}: {error}"
            return
        middle = table.num_columns // 2
        for names in (table.column_names[:middle], table.column_names[middle:]):
            yield from written(witness, folder, table.select(names), version)
        return
    yield table, path
    path.unlink()


def matrix(witness: Witness, folder: Path, version: str, summary: Summary) -> None:
    """Compare every column of the matrix: types, null densities, row counts, encoding options."""
    for group in columns.GROUPS:
        for num_rows in ROW_COUNTS:
            for nulls in columns.NULLS:
                name = f"{group}-{num_rows}-{nulls}"
                table = columns.table(group, version, num_rows, nulls)
                for part, path in written(witness, folder, table, version):
                    outcome = Outcome()
                    if isinstance(path, str):
                        outcome.refused = path
                    else:
                        compare_file(witness, path, part, np.random.default_rng(num_rows), outcome)
                    summary.add(f"{name} {part.column_names[0]}", asdict(outcome))


def compare_release(
    release: str, python: str, versions: list[str], num_random: int, is_written: bool
) -> Iterator[Summary]:
    """Yield the counts of the matrix and of random tables for each version; of our own random tables alone."""
    kinds = ("written",) if is_written else ("matrix", "random")
    by_us = compare_plain if release in FIRST_OF_2_0 else compare_written
    compare_one = by_us if is_written else compare
    if is_written and release in BEFORE_PLANAR:
        versions = [version for version in versions if version != "2.3"]
    if release in FIRST_OF_2_0:
        versions = [version for version in versions if version == "2.0"]
    for version in versions:
        with tempfile.TemporaryDirectory() as folder:
            witness = Witness(Path(folder), timeout_seconds=60, python=python)
            try:
                for kind in kinds:
                    started = time.perf_counter()
                    summary = Summary(
                        f"{release} {version} {kind}", f"releases.py {release}={python}, {version} {kind}"
                    )
                    if kind == "matrix":
                        matrix(witness, Path(folder), version, summary)
                    else:
                        for seed in range(num_random):
                            summary.add(seed, asdict(compare_one(witness, Path(folder), version, seed)))
                    summary.seconds = time.perf_counter() - started
                    yield summary
            finally:
                witness.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", nargs="+", help="RELEASE=PYTHON")
    parser.add_argument("--version", action="append", choices=VERSIONS, help="file version; default all")
    parser.add_argument("--random", type=int, default=NUM_RANDOM, help="random tables per release and version")
    parser.add_argument("--written", action="store_true", help="random tables that we write")
    parser.add_argument("--reasons", action="store_true", help="also print why a release refused or differs")
    options = parser.parse_args()
    failed = False
    for pair in options.release:
        release, _, python = pair.partition("=")
        for summary in compare_release(
            release, python, options.version or list(VERSIONS), options.random, options.written
        ):
            report([summary], options.reasons)
            sys.stdout.flush()
            failed |= bool(summary.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
