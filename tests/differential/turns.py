"""Writers of one table that take turns: this package, and releases of the reference in processes of their own.

A writer keeps what it opened until it opens again, so that it may commit from a version that others have left behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from operations import rows_of
from witness import Witness, WitnessDied, WitnessRefused

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError, InvalidArgumentError

ADDRESSES = ("_rowid", "_rowaddr")
ROWS_PER_FILE = 4
FAILURES = ("all columns in a record batch must have the same length",)
"""Of releases themselves: 6.0.0 does a merge again, and takes a fragment for another one of its number."""
Told = Mapping[str, Any]
"""What an operation does, as `referee.applied` knows it."""


class Refused(Exception):
    """A writer did not do an operation.

    Parameters
    ----------
    text
        Its own words.
    is_conflict
        Whether it says that another commit was in the way.
    """

    def __init__(self, text: str, *, is_conflict: bool) -> None:
        super().__init__(text)
        self.is_conflict = is_conflict


class Writer(Protocol):
    """One who reads and writes a table."""

    name: str

    def create(self, path: Path, rows: pa.Table, file_version: str, *, has_stable_row_ids: bool) -> None:
        """Make a table of `rows`."""

    def open(self, path: Path) -> tuple[int, list[str]]:
        """Open the newest version for the operations to come; return its number and columns."""

    def act(self, told: Told) -> None:
        """Do an operation from what was opened last. Raises `Refused`."""

    def read(self, path: Path, version: int) -> pa.Table:
        """Read all rows of a version, with their ids and addresses."""


class Ours:
    """This package."""

    name = "ours"

    def __init__(self) -> None:
        self._table: LanceTable | None = None

    def create(self, path: Path, rows: pa.Table, file_version: str, *, has_stable_row_ids: bool) -> None:
        LanceTable.create(
            path,
            rows,
            file_version=file_version,
            max_rows_per_file=ROWS_PER_FILE,
            enable_stable_row_ids=has_stable_row_ids,
        )

    def open(self, path: Path) -> tuple[int, list[str]]:
        self._table = LanceTable.open(path)
        return self._table.version, self._table.schema.names

    def act(self, told: Told) -> None:
        assert self._table is not None
        try:
            self._act(self._table, told)
        except CommitConflictError as error:
            raise Refused(str(error), is_conflict=True) from error
        except InvalidArgumentError as error:
            # Another one dropped the column, or added it.
            raise Refused(str(error), is_conflict="column" in told["do"]) from error

    def _act(self, table: LanceTable, told: Told) -> None:
        do = told["do"]
        if do == "append":
            table.append(rows_of(told["keys"], told["number"]), max_rows_per_file=ROWS_PER_FILE)
        elif do == "overwrite":
            table.overwrite(rows_of(told["keys"], told["number"]), max_rows_per_file=ROWS_PER_FILE)
        elif do == "delete":
            table.delete(_hit(told))
        elif do == "update":
            table.update({"n": "n + 1"}, _hit(told))
        elif do == "merge":
            merge = table.merge(rows_of(told["keys"], told["number"]), on="id")
            merge.when_matched_update_all().when_not_matched_insert_all().execute()
        elif do == "compact":
            table.compact(target_rows_per_fragment=told["rows"])
        elif do == "add_column":
            table.add_columns({told["name"]: "id * 2"})
        elif do == "drop_column":
            table.drop_columns([told["name"]])
        elif do == "restore":
            table.restore(told["version"])
        else:
            table.update_config({f"k{told['number']}": "v"})

    def read(self, path: Path, version: int) -> pa.Table:
        table = LanceTable.open(path, version=version)
        return table.to_table(columns=[*table.schema.names, *ADDRESSES])


class Theirs:
    """A release of the reference.

    Parameters
    ----------
    name
        Its number.
    witness
        A process of an environment that has it.
    """

    def __init__(self, name: str, witness: Witness) -> None:
        self.name, self.witness = name, witness

    def create(self, path: Path, rows: pa.Table, file_version: str, *, has_stable_row_ids: bool) -> None:
        self.witness.write_directory(
            rows,
            path,
            file_version,
            max_rows_per_file=ROWS_PER_FILE,
            enable_stable_row_ids=has_stable_row_ids,
            enable_v2_manifest_paths=True,
        )

    def open(self, path: Path) -> tuple[int, list[str]]:
        return self.witness.hold(path, "held")

    def act(self, told: Told) -> None:
        try:
            self.witness.change_held("held", _step(told))
        except (WitnessRefused, WitnessDied) as error:
            text = str(error)
            is_known = any(one in text for one in FAILURES)
            raise Refused(text, is_conflict=is_known or "conflict" in text.lower()) from error

    def read(self, path: Path, version: int) -> pa.Table:
        return self.witness.read_version(path, version, with_row_id=True, with_row_address=True)


def _step(told: Told) -> dict[str, Any]:
    """Say an operation as the worker of a `Witness` knows it."""
    do = told["do"]
    if do in ("append", "overwrite"):
        rows = rows_of(told["keys"], told["number"])
        return {"do": do, "rows": rows, "max_rows_per_file": ROWS_PER_FILE}
    if do == "delete":
        return {"do": "delete", "predicate": _hit(told)}
    if do == "update":
        return {"do": "update", "updates": {"n": "n + 1"}, "where": _hit(told)}
    if do == "merge":
        return {"do": "merge", "on": "id", "rows": rows_of(told["keys"], told["number"])}
    if do == "compact":
        return {"do": "compact", "target_rows_per_fragment": told["rows"]}
    if do == "add_column":
        return {"do": "add_columns", "transforms": {told["name"]: "id * 2"}}
    if do == "drop_column":
        return {"do": "drop_columns", "columns": [told["name"]]}
    if do == "restore":
        return {"do": "restore", "version": told["version"]}
    return {"do": "update_config", "values": {f"k{told['number']}": "v"}}


def _hit(told: Told) -> str:
    return f"id % {told['by']} = {told['rest']}"
