"""`TableMerge`: rows of a source matched with those of a table by keys, and what becomes of each; one version.

table rows ─► key ─► in the source?  yes: update, delete, fail or leave     no: delete or leave
source rows whose key no table row has: insert or leave
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.data_files import DEFAULT_ROWS_PER_FILE


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClauses:
    """What a merge does.

    Parameters
    ----------
    on
        Key columns.
    updates, update_condition
        Whether matched rows of the table take the source's values, and which of them.
    deletes
        Whether matched rows of the table are deleted.
    fails
        Whether a matched row is an error.
    inserts
        Whether rows of the source without a match are added.
    deletes_others, others_condition
        Whether rows of the table without a match are deleted, and which of them.
    """

    on: tuple[str, ...]
    updates: bool = False
    update_condition: Predicate | None = None
    deletes: bool = False
    fails: bool = False
    inserts: bool = False
    deletes_others: bool = False
    others_condition: Predicate | None = None

    def check(self) -> None:
        """Refuse what says nothing, or two things of the same rows.

        Raises
        ------
        InvalidArgumentError
            It does.
        """
        if sum((self.updates, self.deletes, self.fails)) > 1:
            raise InvalidArgumentError("say one thing of matched rows: update, delete or fail")
        if not (self.updates or self.deletes or self.inserts or self.deletes_others):
            raise InvalidArgumentError("this merge would never change anything: say what is to be done with rows")


MergeRun = Callable[[MergeClauses, Any, "pa.Schema | None", int, "str | None"], dict[str, int]]


class TableMerge:
    """A merge that is being described; `execute` does it. Get one from `LanceTable.merge`.

    Parameters
    ----------
    run
        Does it.
    source
        Rows, as `write_table` takes them; columns that are left out keep their values where rows are updated, and are
        null where they are inserted.
    on
        Key columns.
    schema
        Schema of an iterable of batches that may be empty.
    """

    def __init__(self, run: MergeRun, source: Any, on: str | Sequence[str], schema: pa.Schema | None = None) -> None:
        names = (on,) if isinstance(on, str) else tuple(on) if isinstance(on, (list, tuple)) else ()
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise InvalidArgumentError(f"on is {on!r}, expected names of key columns", detail=on)
        self._run = run
        self._source = source
        self._schema = schema
        self._said: dict[str, Any] = {"on": names}

    def when_matched_update_all(self, condition: Predicate | None = None) -> TableMerge:
        """Let matched rows of the table take the values that the source has for them.

        Parameters
        ----------
        condition
            Which of them: SQL, or an expression, over structs ``source`` and ``target``
            (``"source.stamp > target.stamp"``); all when None. The others stay, and are not inserted either.
        """
        return self._say(updates=True, update_condition=condition)

    def when_matched_delete(self) -> TableMerge:
        """Delete matched rows of the table."""
        return self._say(deletes=True)

    def when_matched_fail(self) -> TableMerge:
        """Refuse the whole merge when a row of the table has a key of the source."""
        return self._say(fails=True)

    def when_not_matched_insert_all(self) -> TableMerge:
        """Add the rows of the source whose key no row of the table has."""
        return self._say(inserts=True)

    def when_not_matched_by_source_delete(self, expr: Predicate | None = None) -> TableMerge:
        """Delete rows of the table whose key no row of the source has.

        Parameters
        ----------
        expr
            Which of them: a predicate as for `LanceTable.delete`; all when None.
        """
        return self._say(deletes_others=True, others_condition=expr)

    def execute(self, *, max_rows_per_file: int = DEFAULT_ROWS_PER_FILE, message: str | None = None) -> dict[str, int]:
        """Do it, in one version, which the handle moves to.

        Returns
        -------
        dict
            ``num_inserted_rows``, ``num_updated_rows``, ``num_deleted_rows``.

        Raises
        ------
        InvalidArgumentError
            The clauses contradict each other; a row that must not match does; several rows of the source would update
            one row of the table; the source does not fit.
        CommitConflictError
            Another writer replaced the table, or changed its columns. Where others changed the same fragments, or added
            rows, the merge is done again on the newest version.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        """
        clauses = MergeClauses(**self._said)
        clauses.check()
        return self._run(clauses, self._source, self._schema, max_rows_per_file, message)

    def _say(self, **what: Any) -> TableMerge:
        self._said.update(what)
        return self

    def __repr__(self) -> str:
        return f"TableMerge({self._said})"
