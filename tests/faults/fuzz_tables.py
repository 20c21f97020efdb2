"""Reads damaged tables, and writes to them: only rows, or a `LanceError`; no crash, no hang, no other rows.

`nox -s fuzz_tables -- --count 10000 --workers 2` runs it long; `test_fuzz_tables.py` a short form. A worker process
damages a copy of one of the tables of `fuzz_table_seeds`, within `bounded`, four times the bytes of the whole table
being right. ``--replay SEED NUMBER`` makes a damage again, with the tables that ``--seeds FOLDER`` kept.

What each door gives for the whole table is known. A table that this package wrote, with checksums that were not
computed again, gives the same after damage, or an error.
"""

from __future__ import annotations

import functools
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "mutants"), str(HERE.parent / "support")]

import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute as pc  # noqa: E402
from bounded import SETTINGS  # noqa: E402
from fuzz_runs import Mutant, arguments, run, work  # noqa: E402
from fuzz_table_damage import REFERENCES, Damage, damage, kind_of  # noqa: E402
from fuzz_table_seeds import OURS, write_tables  # noqa: E402
from witness import Witness  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow import LanceTable  # noqa: E402
from lance_arrow import runtime as runtimes  # noqa: E402
from lance_arrow.errors import CorruptFileError, CorruptManifestError, LanceError  # noqa: E402
from lance_arrow.runtime import Runtime  # noqa: E402
from lance_arrow.table.salvaging.table_salvage import TableSalvage  # noqa: E402

Answer = Any
SAYS = "says"
"""Doors that give what `_refs` says, which people edit: it has no checksum."""
NUM_DOORS = 3
DEAR = {"salvage": 6, "append": 3, "delete": 4, "dataset": 3, "scanner": 3, "filter": 3, "verify": 3, "rows": 2}
"""Doors that take so many times as long as the others, and are asked so many times less."""
SETTINGS_OF_TABLES = replace(SETTINGS, commit_seconds=1.0)
WANTED = pc.field("key") >= 40
GONE = pc.field("key") == 41


def opened(path: Path, **choice: Any) -> LanceTable:
    return LanceTable.open(path, allow_external_bases=True, **choice)


def described(path: Path) -> Answer:
    table = opened(path)
    described = table.schema.to_string(), table.version, dict(table.config), dict(table.metadata)
    return described, table.indices, len(table.manifest.fragments), table.manifest.timestamp


def history(path: Path) -> Answer:
    """What made each version; a transaction that cannot be read is left out, which counts as noticed."""
    found = opened(path).history()
    if any(one.operation is None for one in found):
        raise CorruptManifestError("a transaction cannot be read")
    return [(one.version, one.operation, one.num_rows, one.message, one.timestamp) for one in found]


def with_ids(path: Path) -> pa.Table:
    table = opened(path)
    return table.to_table(columns=["key", "_rowid", "_rowaddr"])


def filtered(path: Path) -> Answer:
    table = opened(path)
    return table.to_table(["text"], filter=WANTED), table.count_rows(WANTED)


def dataset(path: Path) -> pa.Table:
    return lance_arrow.dataset(path, allow_external_bases=True).to_table(filter=WANTED)


def scanned(path: Path) -> pa.Table:
    """As an engine does: a few columns in small batches, then some rows."""
    found = lance_arrow.dataset(path, allow_external_bases=True)
    batches = pa.Table.from_batches(found.scanner(columns=["key"], batch_size=37).to_batches())
    return pa.concat_tables([batches, found.head(20, columns=["key"])])


def tags(path: Path) -> Answer:
    table = opened(path)
    return {name: tag.version for name, tag in table.tags.items()}, sorted(table.branches)


def appended(path: Path) -> pa.Table:
    """Rows after an append: what is written on a damaged table must be right, too."""
    table = opened(path)
    is_key = [field.name == "key" and field.type == pa.int64() for field in table.schema]
    columns = [
        pa.array([900, 901]) if is_one else pa.nulls(2, field.type)
        for field, is_one in zip(table.schema, is_key, strict=True)
    ]
    table.append(pa.Table.from_arrays(columns, schema=table.schema))
    return opened(path).to_table()


def deleted(path: Path) -> pa.Table:
    opened(path).delete(GONE)
    return opened(path).to_table()


def salvaged(path: Path, *, allow_unchecked: bool) -> pa.Table:
    """Salvage with proofs, or what decodes; a report of losses is an error."""
    found = TableSalvage(path, lost="skip", allow_unchecked=allow_unchecked, allow_external_bases=True)
    rows = found.read()
    assert rows.num_rows == found.report.rows_saved
    if not found.report.ok:
        raise CorruptFileError(f"lost: {found.report.lost} {found.report.unreadable}")
    return rows


@dataclass(frozen=True)
class Whole:
    """A sound table: its files, and what each door gives.

    Parameters
    ----------
    folder
        Where it lies.
    files
        Bytes by paths below it.
    doors, answers
        What is asked, and what comes of it.
    """

    folder: Path
    files: dict[str, bytes]
    doors: dict[str, Callable[[Path], Answer]]
    answers: dict[str, Answer]

    def write(self, copy: Path) -> None:
        """Write the files again, elsewhere."""
        for folder in {Path(path).parent for path in self.files}:
            (copy / folder).mkdir(parents=True, exist_ok=True)
        for path, content in self.files.items():
            (copy / path).write_bytes(content)

    @property
    def num_bytes(self) -> int:
        return sum(map(len, self.files.values()))

    @property
    def is_ours(self) -> bool:
        return self.folder.name.startswith(OURS)


def whole(folder: Path, copy: Path) -> Whole:
    """Ask a sound table at every door."""
    files = {str(one.relative_to(folder)): one.read_bytes() for one in sorted(folder.rglob("*")) if one.is_file()}
    ids = with_ids(folder)["_rowid"].to_pylist()
    first = opened(folder).history()[-1].version
    some, rows = ids[::7] + ids[:1], [0, 5, len(ids) - 1, 3]
    doors: dict[str, Callable[[Path], Answer]] = {
        "open": described,
        "history": history,
        "count": lambda path: opened(path).count_rows(),
        "rows": lambda path: opened(path).to_table(),
        "ids": with_ids,
        "filter": filtered,
        "dataset": dataset,
        "scanner": scanned,
        "take": lambda path: opened(path).take(rows),
        "take by id": lambda path: opened(path).take_row_ids(some),
        "first version": lambda path: opened(path, version=first).to_table(),
        f"tags, as _refs {SAYS}": tags,
        "verify": lambda path: lance_arrow.verify(path).ok,
        "salvage": lambda path: salvaged(path, allow_unchecked=not folder.name.startswith(OURS)),
    }
    if opened(folder).tags:
        doors[f"tag, as _refs {SAYS}"] = lambda path: opened(path, tag="early").to_table()
    if opened(folder).branches:
        doors[f"branch, as _refs {SAYS}"] = lambda path: opened(path, branch="side").to_table()
    # Last, since they change the copy.
    doors |= {"append": appended, "delete": deleted}
    found = Whole(folder, files, doors, {})
    found.write(copy)
    found.answers.update({name: ask(copy) for name, ask in doors.items()})
    shutil.rmtree(copy)
    return found


def attempt(table: Whole, harm: Damage, copy: Path, number: int) -> str:
    """Ask a damaged copy at some doors. Errors other than `LanceError` are raised, and so are other rows.

    Which doors, `number` decides: few doors for many mutants find more in an hour than all doors for few.

    Raises
    ------
    AssertionError
        A door gave something else than for the sound table, without an error.
    """
    table.write(copy)
    try:
        harm.do(copy)
        chosen = asked(table, random.Random(number))
        outcomes = {
            name: _outcome(ask, copy, table.answers[name]) for name, ask in table.doors.items() if name in chosen
        }
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    found = set(outcomes.values())
    if table.is_ours and not harm.is_silent_fault:
        is_refs = kind_of(harm.path) == REFERENCES
        silent = [name for name, one in outcomes.items() if one == "other" and not (is_refs and SAYS in name)]
        if silent:
            raise AssertionError(f"other rows, without an error, by {silent}; all doors: {outcomes}")
        return "ours noticed" if "error" in found else "ours right"
    return "error" if "error" in found else "read" if found == {"same"} else "read otherwise"


def asked(table: Whole, chance: random.Random) -> set[str]:
    """Choose doors."""
    names = list(table.doors)
    found = set(chance.choices(names, [1 / DEAR.get(name, 1) for name in names], k=NUM_DOORS))
    # What a delete gives was found behind the append.
    return found | {"append"} if "delete" in found else found


def _outcome(ask: Callable[[Path], Answer], copy: Path, expected: Answer) -> str:
    try:
        answer = ask(copy)
    except LanceError:
        return "error"
    if answer is False and expected is True:
        # `verify` tells by its report.
        return "error"
    return "same" if same(answer, expected) else "other"


def same(answer: Answer, expected: Answer) -> bool:
    """Whether answers are equal; tables by their rows."""
    if isinstance(expected, tuple):
        return len(answer) == len(expected) and all(map(same, answer, expected))
    if isinstance(expected, pa.Table):
        return bool(answer.equals(expected))
    return bool(answer == expected)


@functools.cache
def _wholes(folder: Path) -> list[Whole]:
    runtimes._default = Runtime(SETTINGS_OF_TABLES)
    with tempfile.TemporaryDirectory() as made:
        return [whole(one, Path(made) / one.name) for one in sorted(folder.glob("*.lance"))]


def make(folder: Path, seed: int, number: int) -> Mutant:
    """The damaged table of (seed, number)."""
    rng = np.random.default_rng([seed, number])
    tables = _wholes(folder)
    table = tables[int(rng.integers(len(tables)))]
    harm = damage(table.files, rng)
    # A path of its own: clocks of filesystems are too slow to tell two files of one path apart.
    copy = Path(tempfile.gettempdir()) / f"damaged-{os.getpid()}-{number}.lance"
    return Mutant(table.folder.name, harm.what, table.num_bytes, lambda: attempt(table, harm, copy, number))


def main() -> int:
    options = arguments(__doc__).parse_args()
    with tempfile.TemporaryDirectory() as made:
        if options.work:
            folder, seed, first, count, seconds = options.work
            make_one = functools.partial(make, Path(folder), int(seed))
            work(make_one, int(seed), int(first), int(count), float(seconds))
            return 0
        folder = options.seeds or Path(made) / "tables"
        folder.mkdir(exist_ok=True)
        if not any(folder.glob("*.lance")):
            witness = Witness(folder)
            print(write_tables(folder, witness), "tables", flush=True)
            witness.close()
        if options.replay:
            mutant = make(folder, *options.replay)
            print(mutant.name, "|", mutant.what, "|", mutant.read())
            return 0
        make_one = functools.partial(make, folder, options.seed)
        return run(HERE / "fuzz_tables.py", folder, make_one, options)


if __name__ == "__main__":
    sys.exit(main())
