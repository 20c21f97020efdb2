"""An object that is replaced while it is read: between which two requests, a seed says.

`python swapped.py --swaps 1000` counts what reads end in. A read has the rows of one version, or raises
`FileChangedError`. Rows of two versions are wrong.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from failing_stores import AVAILABLE, CLIENTS
from faulty_bucket import faulty_bucket

import lance_arrow
from lance_arrow import LanceFile
from lance_arrow.errors import FileChangedError

NUM_ROWS = 60_000
_VERSIONS = 2


def rows_of(version: int) -> pa.Table:
    """Rows of a version, whose files have equal sizes."""
    values = np.random.default_rng(7).permutation(NUM_ROWS)
    return pa.table({name: values * 10 + version for name in ("a", "b", "c")})


def take_by_file(path: str, filesystem: Any) -> pa.Table:
    """Take rows of a file that stays open, in several reads."""
    with LanceFile(path, filesystem=filesystem) as file:
        parts = [file.take(list(range(first, first + 10)), columns=["a"]) for first in (0, 30_000, 59_000)]
    return pa.concat_tables(parts)


def scan_by_file(path: str, filesystem: Any) -> pa.Table:
    """Read two columns, one after the other."""
    with LanceFile(path, filesystem=filesystem) as file:
        first = file.read(columns=["b"])
        return first.append_column("c", file.read(columns=["c"])["c"])


def scan_by_dataset(path: str, filesystem: Any) -> pa.Table:
    """Read all by a dataset."""
    return lance_arrow.dataset(path, filesystem=filesystem).to_table()


READS: dict[str, Callable[[str, Any], pa.Table]] = {
    "take": take_by_file,
    "scan": scan_by_file,
    "dataset": scan_by_dataset,
}


def versions_in(table: pa.Table) -> set[int]:
    """Versions that rows are of."""
    return {int(one) for column in table.columns for one in np.unique(column.to_numpy() % 10)}


def run_swaps(num_swaps: int, seed: int, clients: Sequence[str] = AVAILABLE) -> Counter[str]:
    """Read so often, and replace the object before one of the requests of each read."""
    counts: Counter[str] = Counter()
    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        contents = []
        for version in range(_VERSIONS):
            # Without checksums: a mixture would be found by nothing else.
            lance_arrow.write_table(rows_of(version), folder / "made.lance", checksums=False)
            contents.append((folder / "made.lance").read_bytes())
        assert len({len(one) for one in contents}) == 1
        target, hidden = folder / "bare.lance", folder / "next.lance"
        target.write_bytes(contents[0])
        with faulty_bucket(folder) as server:
            filesystems = {name: CLIENTS[name](server) for name in clients}
            present = 0
            lengths: dict[tuple[str, str], int] = {}
            for number in range(num_swaps):
                client, name = clients[number % len(clients)], generator.choice(list(READS))
                filesystem, before = filesystems[client]
                asked = [0]
                at = generator.randrange(1, lengths.get((client, name), 6) + 1)

                def swap(_: str, asked: list[int] = asked, at: int = at) -> None:
                    nonlocal present
                    asked[0] += 1
                    if asked[0] == at:
                        present = 1 - present
                        hidden.write_bytes(contents[present])
                        hidden.replace(target)

                server.refusal = swap
                try:
                    found = versions_in(READS[name](f"{before}bare.lance", filesystem))
                    outcome = "one version" if len(found) == 1 else "mixed"
                except FileChangedError:
                    outcome = "changed"
                counts[outcome] += 1
                counts["swapped"] += asked[0] >= at
                lengths[client, name] = asked[0]
    return counts


def main() -> int:
    """Run as the arguments say; 1 if rows were mixed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--swaps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts = run_swaps(given.swaps, given.seed)
    print(", ".join(f"{name} {number}" for name, number in sorted(counts.items())))
    return int(counts["mixed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
