"""Old and new together: this package and releases of the reference write one table by turns, from stale versions too.

`python tests/differential/together.py ours 14.0.2 4.0.0=/path/to/python`: each interpreter has that release installed;
without one, it is this interpreter's. A seed decides who opens, who commits and what. After each turn, the rows are
those of the operation done to the version before (`referee.applied`), and this package, the release that wrote and
another one read the same rows, ids and addresses. What is not so is printed with the line that repeats it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support"), str(HERE.parent / "simulation")]

import pyarrow as pa  # noqa: E402
from operations import FIRST_KEYS, REFUSING, REPLACING, rows_of  # noqa: E402
from referee import State, applied  # noqa: E402
from turns import ADDRESSES, Ours, Refused, Theirs, Told, Writer  # noqa: E402
from witness import Witness, WitnessDied, WitnessRefused  # noqa: E402

from lance_arrow import LanceTable  # noqa: E402
from lance_arrow.errors import InvalidArgumentError  # noqa: E402
from lance_arrow.table.history import VersionMeta  # noqa: E402

OPERATIONS = (
    "append", "append", "append", "delete", "delete", "update", "update", "merge", "merge", "compact", "compact",
    "add_column", "drop_column", "overwrite", "restore", "config",
)  # fmt: skip
FILE_VERSIONS = ("2.0", "2.1", "2.2")
TURNS = 14
FORGET_ROW_IDS = ("4", "6", "7", "8", "9", "10")
"""Releases whose restore takes the next row id of the restored version: ids of rows that came later are given again."""


class DifferentError(AssertionError):
    """Two who read or write the table do not agree."""


class KeyTwiceError(Exception):
    """The reference merged a key that another commit had added since: it does not compare keys."""


class Together:
    """One table.

    Parameters
    ----------
    writers
        Who take turns.
    path
        Where the table is made.
    seed
        Of all choices.
    counts
        Gets what was done, refused and compared.
    """

    def __init__(self, writers: Sequence[Writer], path: Path, seed: int, counts: Counter[str]) -> None:
        self._chance = random.Random(f"together {seed}")
        self._writers, self._path, self._counts = writers, path, counts
        self.log: list[str] = []
        self._states: dict[tuple[str, int], State] = {}
        self._owners: dict[int, int] = {}
        self._is_stable = self._chance.random() < 0.6
        self._opened: dict[str, tuple[int, list[str]]] = {}
        self._newest = 0
        self._may_repeat_ids = False

    def run(self, num_turns: int = TURNS) -> None:
        """Make the table, take turns, and let everyone read the last version."""
        try:
            maker, version = self._chance.choice(self._writers), self._chance.choice(FILE_VERSIONS)
            self.log.append(f"created by {maker.name}, {version}, stable {self._is_stable}")
            maker.create(self._path, rows_of(list(FIRST_KEYS), 0), version, has_stable_row_ids=self._is_stable)
            self._newest, first = 1, self._read(Ours(), 1)
            self._states["", 1] = first
            self._owners = {row_id: key for key, row_id in first.row_ids.items()}
            self._compare_readers(maker)
            for number in range(1, num_turns + 1):
                self._turn(number)
            for reader in self._writers:
                self._compare_with(reader)
        except Exception as error:
            error.add_note("\n".join(self.log))
            raise

    def _turn(self, number: int) -> None:
        writer = self._chance.choice(self._writers)
        if writer.name not in self._opened:
            self._open(writer)
        version, columns = self._opened.pop(writer.name)
        told = self._told(number, version, columns)
        self.log.append(f"{self._newest}: {writer.name}, from {version}: {told}")
        refusal = None
        try:
            writer.act(told)
        except Refused as error:
            refusal = error
            self.log.append(f"  refused: {str(error)[:300]}")
        made = self._made()
        self._counts[f"{writer.name}: {told['do']}{' refused' if refusal else ''}"] += 1
        self._counts["versions"] += len(made)
        done = [one for one in made if _operation(one) != "reserve_fragments"]
        if refusal is not None:
            self._judge(writer, told, version, refusal)
        elif not done:
            self._check_idle(told, version)
        if len(done) > (refusal is None):
            raise DifferentError(f"{told} was {'refused' if refusal else 'done once'}, and made {done}")
        if told["do"] == "restore" and refusal is None and writer.name.split(".")[0] in FORGET_ROW_IDS:
            self._may_repeat_ids = True
        if told["do"] == "merge" and version < self._newest and writer.name != Ours.name:
            keys = [row["id"] for row in Ours().read(self._path, self._newest + len(made)).to_pylist()]
            if {key for key in keys if keys.count(key) > 1} & set(told["keys"]):
                raise KeyTwiceError
        self._check(told, version, made)
        self._compare_readers(writer)
        if self._chance.random() < 0.7:
            # Others may commit before its next turn.
            self._open(writer)

    def _open(self, writer: Writer) -> None:
        found = self._opened[writer.name] = writer.open(self._path)
        if found[0] != self._newest:
            raise DifferentError(f"{writer.name} opened version {found[0]}, not {self._newest}")

    def _told(self, number: int, version: int, columns: list[str]) -> dict[str, Any]:
        chance = self._chance
        do = chance.choice(OPERATIONS)
        extra = sorted(name for name in columns if name.startswith("c"))
        if do == "merge" and extra:
            # The source has the first columns alone.
            do = "update"
        if do == "drop_column" and not extra:
            do = "add_column"
        told = {"do": do, "number": number}
        if do in ("append", "overwrite"):
            return {**told, "keys": [1000 * number + at for at in range(chance.randrange(1, 6))]}
        if do in ("delete", "update"):
            by = chance.choice((2, 3, 5, 1000))
            return {**told, "by": by, "rest": chance.randrange(min(by, 8))}
        if do == "merge":
            keys = {chance.randrange(10), chance.randrange(10), chance.randrange(20, 23), 1000 * number}
            return {**told, "keys": sorted(keys)}
        if do == "compact":
            return {**told, "rows": chance.choice((6, 100))}
        if do == "add_column":
            return {**told, "name": f"c{number}"}
        if do == "drop_column":
            return {**told, "name": chance.choice(extra)}
        if do == "restore":
            return {**told, "line": "", "version": chance.choice([known for _, known in self._states])}
        return told

    def _made(self) -> list[VersionMeta]:
        found = [one for one in LanceTable.open(self._path).history() if one.version > self._newest][::-1]
        if [one.version for one in found] != list(range(self._newest + 1, self._newest + 1 + len(found))):
            raise DifferentError(f"versions {[one.version for one in found]} after {self._newest}")
        return found

    def _judge(self, writer: Writer, told: Told, version: int, refusal: Refused) -> None:
        """A refusal needs a commit in between; ours one that this operation cannot follow."""
        since = [one for one in LanceTable.open(self._path).history() if version < one.version <= self._newest]
        if not refusal.is_conflict or not since:
            raise DifferentError(f"{writer.name} refused {told} from version {version}: {refusal}") from refusal
        if writer.name == Ours.name:
            refusing = REFUSING.get(told["do"], REPLACING)
            is_named = isinstance(refusal.__cause__, InvalidArgumentError)
            if not is_named and not any(_operation(one) in refusing for one in since):
                raise DifferentError(f"ours refused {told} although it can follow: {refusal}") from refusal

    def _check(self, told: Told, version: int, made: list[VersionMeta]) -> None:
        """Compare each new version with the operation, made from `version`, done to the one before."""
        for one in made:
            before, found = self._states["", one.version - 1], self._read(Ours(), one.version)
            if one.transaction is None:
                raise DifferentError(f"version {one.version} has no transaction that can be read")
            is_reserved = _operation(one) == "reserve_fragments"
            # The reference does not say what it read first: it is what the writer had opened, or a later version.
            expected = [
                applied({"do": "nothing"} if is_reserved else told, before, self._states["", read], self._states)
                for read in range(version, one.version)
            ]
            if not any((found.columns, found.rows) == (state.columns, state.rows) for state in expected):
                raise DifferentError(f"version {one.version}: {_differences(found, expected[0])}")
            if self._is_stable:
                self._check_ids(told, before, found)
            self._states["", one.version] = found
            self._newest = one.version

    def _check_idle(self, told: Told, version: int) -> None:
        """An operation that made no version has nothing to do."""
        now = self._states["", self._newest]
        done = applied(told, now, self._states["", version], self._states)
        if told["do"] not in ("delete", "update", "compact") or (done.columns, done.rows) != (now.columns, now.rows):
            raise DifferentError(f"{told} was acknowledged, and made no version")
        self._counts["operations that had nothing to do"] += 1

    def _check_ids(self, told: Told, before: State, found: State) -> None:
        for key, row_id in found.row_ids.items():
            if self._owners.setdefault(row_id, key) != key and not self._may_repeat_ids:
                raise DifferentError(f"row id {row_id} was that of row {self._owners[row_id]}, and is that of {key}")
            if told["do"] not in ("overwrite", "restore") and before.row_ids.get(key, row_id) != row_id:
                raise DifferentError(f"row {key} had the id {before.row_ids[key]}, and has {row_id}")

    def _read(self, reader: Writer, version: int) -> State:
        rows = reader.read(self._path, version).to_pylist()
        columns = frozenset(rows[0]) - set(ADDRESSES) if rows else frozenset()
        if not rows:
            columns = frozenset(LanceTable.open(self._path, version=version).schema.names)
        ids = {row["id"]: row.pop("_rowid") for row in rows}
        for row in rows:
            del row["_rowaddr"]
        if len(ids) != len(rows) or len(set(ids.values())) != len(rows):
            raise DifferentError(f"version {version} has a row, or an id, twice: {rows} {ids}")
        return State(columns, {row["id"]: row for row in rows}, ids)

    def _compare_readers(self, writer: Writer) -> None:
        readers = {one.name: one for one in (writer, self._chance.choice(self._writers))}
        for reader in readers.values():
            self._compare_with(reader)

    def _compare_with(self, reader: Writer) -> None:
        if reader.name == Ours.name:
            return
        ours = Ours().read(self._path, self._newest)
        try:
            theirs = reader.read(self._path, self._newest)
        except (WitnessRefused, WitnessDied) as error:
            raise DifferentError(f"{reader.name} cannot read version {self._newest}: {error}") from error
        self._counts[f"versions read by {reader.name}"] += 1
        self._counts["rows compared"] += ours.num_rows
        if sorted(ours.column_names) != sorted(theirs.column_names) or not _are_equal(ours, theirs):
            raise DifferentError(
                f"{reader.name} reads version {self._newest} otherwise: {theirs.to_pylist()}, ours {ours.to_pylist()}"
            )


def _differences(found: State, expected: State) -> str:
    wrong = {
        key: (found.rows.get(key), expected.rows.get(key))
        for key in found.rows.keys() | expected.rows.keys()
        if found.rows.get(key) != expected.rows.get(key)
    }
    return f"columns {sorted(found.columns)}, expected {sorted(expected.columns)}; key: (found, expected) {wrong}"


def _are_equal(ours: pa.Table, theirs: pa.Table) -> bool:
    return ours.to_pylist() == theirs.select(ours.column_names).to_pylist()


def _operation(version: VersionMeta) -> str:
    return "" if version.transaction is None else version.transaction.operation


def main() -> int:
    """Write tables together."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("writers", nargs="+", help="ours, RELEASE or RELEASE=PYTHON; three a table")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    differing = 0
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        all_writers: list[Writer] = []
        for pair in options.writers:
            release, _, python = pair.partition("=")
            held = Ours() if release == Ours.name else Theirs(release, Witness(folder, python=python or sys.executable))
            all_writers.append(held)
        for seed in range(options.first, options.first + options.tables):
            path = folder / f"{seed}.lance"
            # Few at once meet more often; the first one always takes part.
            writers = [all_writers[0], *random.Random(seed).sample(all_writers[1:], min(len(all_writers) - 1, 2))]
            try:
                Together(writers, path, seed, counts).run(options.turns)
            except KeyTwiceError:
                counts["tables that ended when the reference merged a key twice"] += 1
            except Exception as error:  # noqa: BLE001 - what went wrong is told, and the next table begins
                differing += 1
                print(
                    f"--first {seed} --tables 1: {type(error).__name__}: {error}",
                    *error.__notes__,
                    sep="\n",
                    flush=True,
                )
            shutil.rmtree(path, ignore_errors=True)
        for one in all_writers:
            if isinstance(one, Theirs):
                one.witness.close()
    for name, count in sorted(counts.items()):
        print(f"  {count} {name}")
    seconds = time.perf_counter() - begun
    print(f"{options.tables} tables, {counts['versions']} versions, {differing} differ, {seconds:.0f} s")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
