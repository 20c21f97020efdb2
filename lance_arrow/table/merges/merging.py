"""`TableMerge`, `TableMergeInsert`: update, delete or insert rows by keys, in one version.

table rows ─► key ─► in the source?  yes: update, delete, fail or leave     no: delete or leave
source rows whose key no table row has: insert or leave
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError, NotPicklableError
from lance_arrow.scan.predicates import Predicate
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.operations.edit_result import EditResult


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeClauses:
    """Actions of a merge.

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
        """Check that an action changes rows, and that matched rows have one at most.

        Raises
        ------
        InvalidArgumentError
            No action changes rows, or matched rows have several actions.
        """
        if sum((self.updates, self.deletes, self.fails)) > 1:
            raise InvalidArgumentError("matched rows have several actions: choose one of update, delete and fail")
        if not (self.updates or self.deletes or self.inserts or self.deletes_others):
            raise InvalidArgumentError(
                "this merge would change no rows: add an action, such as when_matched_update_all()"
            )


MergeRun = Callable[[MergeClauses, Any, "pa.Schema | None", int, "str | None", bool], EditResult]


class MergeActions:
    """What a merge does with rows that match, and with those that do not; each method returns this object.

    Parameters
    ----------
    on
        Names of the key columns.
    """

    def __init__(self, on: str | Sequence[str]) -> None:
        names = (on,) if isinstance(on, str) else tuple(on) if isinstance(on, (list, tuple)) else ()
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise InvalidArgumentError(f"on is {on!r}, expected names of key columns", detail=on)
        self._said: dict[str, Any] = {"on": names}

    def when_matched_update_all(self, condition: Predicate | None = None) -> Self:
        """Update matched rows of the table with the values of the source.

        Parameters
        ----------
        condition
            SQL, or an expression, over structs ``source`` and ``target`` (``"source.stamp > target.stamp"``). Only
            matches that satisfy it are updated; all when None. The other matches change nothing.
        """
        return self._say(updates=True, update_condition=condition)

    def when_matched_delete(self) -> Self:
        """Delete matched rows of the table."""
        return self._say(deletes=True)

    def when_matched_fail(self) -> Self:
        """Raise an error, and change nothing, if a row of the table has a key of the source."""
        return self._say(fails=True)

    def when_not_matched_insert_all(self) -> Self:
        """Insert the rows of the source whose key is not in the table."""
        return self._say(inserts=True)

    def when_not_matched_by_source_delete(self, expr: Predicate | None = None) -> Self:
        """Delete the rows of the table whose key is not in the source.

        Parameters
        ----------
        expr
            Predicate, as for `LanceTable.delete`. Only rows that satisfy it are deleted; all when None.
        """
        return self._say(deletes_others=True, others_condition=expr)

    def _clauses(self) -> MergeClauses:
        """Return the actions, checked; errors are those of `MergeClauses.check`."""
        clauses = MergeClauses(**self._said)
        clauses.check()
        return clauses

    def _say(self, **what: Any) -> Self:
        self._said.update(what)
        return self

    def __reduce__(self) -> tuple[object, ...]:
        name = type(self).__name__
        raise NotPicklableError(
            f"a {name} moves the table object that it was made from; pickle the LanceTable and the rows, and describe "
            "the merge in the process that runs it"
        )

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={' '.join(str(value).split())}" for name, value in self._said.items())
        return f"{type(self).__name__}({said})"


class TableMerge(MergeActions):
    """A merge of rows into a table by keys. Get one from `LanceTable.merge`, add actions, and call `execute`.

    Parameters
    ----------
    run
        Function that runs the merge.
    source
        Rows, as for `write_table`. Columns that it lacks keep their values in updated rows, and are null in inserted
        ones.
    on
        Names of the key columns.
    schema, cast
        As for `LanceTable.merge`.
    """

    def __init__(
        self,
        run: MergeRun,
        source: Any,
        on: str | Sequence[str],
        schema: pa.Schema | None = None,
        *,
        cast: bool = False,
    ) -> None:
        super().__init__(on)
        self._run = run
        self._source = source
        self._schema = schema
        self._casts = cast

    def execute(self, *, max_rows_per_file: int = DEFAULT_ROWS_PER_FILE, message: str | None = None) -> EditResult:
        """Run the merge, commit one version, and move the table object to it.

        Returns
        -------
        EditResult
            ``num_inserted_rows``, ``num_updated_rows``, ``num_deleted_rows``.

        Raises
        ------
        InvalidArgumentError
            The actions contradict each other, or the source does not fit. A row matches although `when_matched_fail`
            forbids it. Several rows of the source would update one row of the table.
        CommitConflictError
            Another writer replaced the table, or changed its columns. If others changed the same fragments, or added
            rows, the merge runs again on the newest version instead.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.
        """
        return self._run(self._clauses(), self._source, self._schema, max_rows_per_file, message, self._casts)


class TableMergeInsert(MergeActions):
    """A merge whose rows are named last, as pylance spells it. Get one from `LanceTable.merge_insert`.

    Parameters
    ----------
    run
        Function that runs the merge.
    on
        Names of the key columns.
    """

    def __init__(self, run: MergeRun, on: str | Sequence[str]) -> None:
        super().__init__(on)
        self._run = run

    def execute(
        self,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        cast: bool = False,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> EditResult:
        """Run the merge with some rows, commit one version, and move the table object to it.

        It can be run again with other rows.

        Parameters
        ----------
        data, schema, cast
            As `source`, `schema` and `cast` of `LanceTable.merge`.
        max_rows_per_file, message
            As for `LanceTable.create`.

        Returns
        -------
        EditResult
            ``num_inserted_rows``, ``num_updated_rows``, ``num_deleted_rows``.

        Raises
        ------
        InvalidArgumentError, CommitConflictError, UnsupportedError, CorruptManifestError
            As `TableMerge.execute`.
        """
        return self._run(self._clauses(), data, schema, max_rows_per_file, message, cast)
