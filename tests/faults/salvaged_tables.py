"""Damages random tables, salvages them, and compares each saved row with the original at its place.

`python tests/faults/salvaged_tables.py --count 200`: each table has a few fragments, deleted rows and an added column.
We count the share of values that a salvage saves, beside the share that `LanceTable` alone returns: all, or none.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "differential"), str(HERE.parent / "support")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
from canonical import difference  # noqa: E402
from random_tables import random_case  # noqa: E402
from salvaged import SHOWN_FAILURES, VERSIONS, Tally  # noqa: E402

from lance_arrow import LanceTable  # noqa: E402
from lance_arrow.errors import LanceError, UnsupportedError  # noqa: E402
from lance_arrow.files.salvaging.row_runs import as_mask, union  # noqa: E402
from lance_arrow.table.salvaging.reports import FragmentReport, TableSalvageReport  # noqa: E402
from lance_arrow.table.salvaging.table_salvage import TableSalvage  # noqa: E402

KINDS = ("missing", "changed", "cut off", "sector zeroed")
FOLDERS = {"data": "data file", "_deletions": "deletion file", "_versions": "newest manifest"}
SECTOR = 4096


@dataclass(frozen=True, slots=True)
class Whole:
    """A sound table: its live rows by version and fragment."""

    path: Path
    fragments: dict[int, dict[int, pa.Table]]

    @classmethod
    def of(cls, path: Path) -> Whole:
        versions = {}
        for version in range(1, LanceTable.open(path).version + 1):
            table = LanceTable.open(path, version=version)
            rows, at, found = table.to_table(), 0, {}
            for fragment in table.manifest.fragments:
                assert fragment.num_rows is not None
                found[fragment.id] = rows.slice(at, fragment.num_rows)
                at += fragment.num_rows
            versions[version] = found
        return cls(path, versions)

    def num_values(self) -> int:
        """Values of the newest version."""
        return sum(rows.num_rows * rows.num_columns for rows in self.fragments[max(self.fragments)].values())


def _made(path: Path, seed: int, rng: np.random.Generator) -> bool:
    """Make a table; False where its version has no such columns."""
    version = VERSIONS[seed % len(VERSIONS)]
    rows = random_case(seed, version).table
    if not rows.num_rows:
        return False
    options = {"file_version": version, "page_bytes": int(rng.choice([4096, 8 << 20]))}
    key = pa.field("key", pa.int64(), nullable=False)
    rows = rows.add_column(0, key, pa.array(np.arange(rows.num_rows)))
    cuts = [0, *np.sort(rng.integers(0, rows.num_rows, int(rng.integers(1, 4)))).tolist(), rows.num_rows]
    table = None
    try:
        for start, stop in pairwise(cuts):
            part = rows.slice(start, stop - start)
            if table is None:
                table = LanceTable.create(path, part, **options)
            elif part.num_rows:
                table.append(part, page_bytes=options["page_bytes"])
    except UnsupportedError:
        shutil.rmtree(path, ignore_errors=True)
        return False
    assert table is not None
    if rng.random() < 0.7:
        table.delete(f"key % {int(rng.integers(2, 9))} = 1")
    if rng.random() < 0.5:
        table.add_columns({"twice": "key * 2"})
    if rng.random() < 0.5:
        table.delete(f"key > {int(rng.integers(rows.num_rows))}")
    return True


def _damage(path: Path, rng: np.random.Generator) -> str | None:
    """Damage one file, and name the damage; None where there is no such file."""
    folder = list(FOLDERS)[int(rng.integers(len(FOLDERS)))]
    files = sorted((path / folder).glob("*")) if (path / folder).is_dir() else []
    if not files:
        return None
    # Names of newer manifests come first.
    file = files[0] if folder == "_versions" else files[int(rng.integers(len(files)))]
    kind = KINDS[int(rng.integers(len(KINDS)))]
    content = bytearray(file.read_bytes())
    at = int(rng.integers(max(len(content), 1)))
    if kind == "missing":
        file.unlink()
    elif kind == "cut off":
        file.write_bytes(content[:at])
    else:
        start, size = (at, 4) if kind == "changed" else (at // SECTOR * SECTOR, SECTOR)
        size = min(size, len(content) - start)
        content[start : start + size] = rng.bytes(size) if kind == "changed" else bytes(size)
        file.write_bytes(content)
    return f"{FOLDERS[folder]} {kind}"


def salvaged(seed: int, folder: Path) -> tuple[str, Tally, list[str]]:
    """Damage one table and salvage it; returns the kind of damage, counts, and what is wrong with the saved rows."""
    rng = np.random.default_rng((seed, 43))
    path = folder / "table"
    shutil.rmtree(path, ignore_errors=True)
    if not _made(path, seed, rng):
        return "none", Tally(), []
    try:
        whole = Whole.of(path)
    except UnsupportedError:
        # As in `salvaged.py`.
        return "none", Tally(), []
    kind = _damage(path, rng)
    if kind is None:
        return "none", Tally(), []
    tally = Tally(files=1, values=whole.num_values())
    try:
        table = LanceTable.open(path)
        tally.by_read = tally.values if table.to_table() is not None and table.version == max(whole.fragments) else 0
    except LanceError:
        pass
    found: list[str] = []
    for lost in ("null", "skip"):
        try:
            salvage = TableSalvage(path, lost=lost)
            saved, report = salvage.read(), salvage.report
        except LanceError:
            tally.refused += lost == "null"
            continue
        wrong, num_values = _compared(whole, saved, report)
        found += [f"seed {seed} {kind} {lost}: {one}" for one in wrong]
        # An older version may have more rows.
        tally.saved += min(num_values, tally.values) if lost == "null" else 0
    return kind, tally, found


def _compared(whole: Whole, saved: pa.Table, report: TableSalvageReport) -> tuple[list[str], int]:
    """Say what is wrong with saved rows, and count the values among them that are not lost."""
    said = [] if report.is_proven else ["unproven rows were returned"]
    fragments = whole.fragments[report.version]
    at = num_values = 0
    for one in report.fragments:
        rows = saved.slice(at, one.rows_saved)
        at += one.rows_saved
        kept = _kept(one, fragments[one.id].num_rows)
        if rows.num_rows != len(kept):
            said.append(f"fragment {one.id} has {rows.num_rows} rows, the report leaves {len(kept)}")
            continue
        for name in saved.column_names:
            lost = [cause.rows for cause in report.lost if _is_of(cause, one.id, name)]
            is_lost = _live(one, union(lost))[kept] if len(kept) else np.zeros(0, np.bool_)
            if rows[name].filter(pa.array(is_lost)).null_count != np.count_nonzero(is_lost):
                said.append(f"fragment {one.id} has values of {name} where they are lost")
            wrong = difference(fragments[one.id][name], rows[name].filter(pa.array(~is_lost)), kept[~is_lost])
            if wrong is not None:
                said.append(f"fragment {one.id} column {name}: {wrong}")
            num_values += int(np.count_nonzero(~is_lost))
    return said if at == saved.num_rows else [*said, "rows are of no fragment"], num_values


def _is_of(cause: object, fragment: int, name: str) -> bool:
    column = cause.column
    return cause.fragment == fragment and column is not None and column.split(".")[0] == name


def _live(one: FragmentReport, runs: list[tuple[int, int]]) -> np.ndarray:
    """Whether each live row of a fragment is in runs of rows of its files."""
    assert one.num_rows is not None
    deleted = one.deleted or []
    num_physical = one.num_rows + sum(stop - start for start, stop in deleted)
    return as_mask(runs, (0, num_physical))[~as_mask(deleted, (0, num_physical))]


def _kept(one: FragmentReport, num_live: int) -> np.ndarray:
    """Numbers of the saved rows among the live ones of the fragment."""
    if one.deleted is None:
        return np.zeros(0, np.int64)
    is_left_out = _live(one, one.left_out)
    assert len(is_left_out) == num_live
    return np.flatnonzero(~is_left_out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    tallies: dict[str, Tally] = defaultdict(Tally)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            kind, tally, wrong = salvaged(seed, Path(folder))
            tallies[kind].add(tally)
            failures += wrong
    for kind, tally in sorted(tallies.items()):
        if tally.files:
            print(f"{kind:30} {tally}")
    print(f"{len(failures)} failures", *failures[:SHOWN_FAILURES], sep="\n  ")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
