"""`TableEdits`: the half of `LanceTable` that makes new versions of an existing table."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from lance_arrow.datasets.predicates import Predicate
from lance_arrow.datasets.table_reader import TableReader
from lance_arrow.datasets.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE, WriteOptions
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import branch_root
from lance_arrow.runtime import default_runtime
from lance_arrow.table.changes import append_rows, delete_rows, overwrite_rows, restore_version
from lance_arrow.table.cleanup import DEFAULT_AGE, CleanupReport, CleanupRules, clean_up
from lance_arrow.table.column_changes import ColumnEdit
from lance_arrow.table.compaction import CompactionPlan, compact_table
from lance_arrow.table.data_files import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.merge_rows import merge_rows
from lance_arrow.table.merging import MergeClauses, TableMerge
from lance_arrow.table.strategies import choose_strategy
from lance_arrow.table.table_line import TableLine, checked_message, overwriting_version
from lance_arrow.table.updates import update_rows


@dataclass(frozen=True, slots=True)
class FileOptions:
    """Options of data files, but for their version."""

    preset: str
    rows_per_zone: int | None
    checksums: bool
    column_options: Mapping[str, Mapping[str, Any]] | None
    allow_private_encodings: bool
    page_bytes: int

    def of(self, file_version: str) -> WriteOptions:
        """Return the options for a file version."""
        return WriteOptions(
            file_version=file_version,
            preset=self.preset,
            rows_per_zone=self.rows_per_zone,
            checksums=self.checksums,
            column_options=self.column_options or {},
            allow_private_encodings=self.allow_private_encodings,
            page_bytes=self.page_bytes,
        )


_PLAIN = FileOptions("default", DEFAULT_ROWS_PER_ZONE, True, None, False, DEFAULT_PAGE_BYTES)


def line_of(root: Location, branch: str | None, *, unsafe_single_writer: bool) -> TableLine:
    """Return a line of versions as something to write; errors are those of `choose_strategy`."""
    runtime = default_runtime()
    return TableLine(
        root=root,
        line=branch_root(root, branch),
        branch=branch,
        strategy=choose_strategy(root, runtime, unsafe_single_writer=unsafe_single_writer),
        settings=runtime.settings,
    )


def _checked_size(batch_size: object) -> int | None:
    if batch_size is None:
        return None
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise InvalidArgumentError(f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size)
    return batch_size


class TableEdits:
    """What changes a table; `LanceTable` has the rest.

    Each method makes exactly one version and moves the handle to it; one that fails leaves table and handle alone.
    """

    _root: Location
    _branch: str | None
    _manifest: ManifestMeta
    _unsafe_single_writer: bool

    def append(
        self,
        data: Any,
        *,
        preset: str = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> None:
        """Add rows at the end, in one version, which the handle moves to.

        Parameters
        ----------
        data
            What `write_table` takes. Columns are found by name; those not given are null.
        preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
            As for `create`.
        max_rows_per_file, message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            A column that the table has not, another type, a missing column that may not be null.
        CommitConflictError
            Somebody replaced the table, or changed its columns; the error says whether to try again.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        LanceError, OSError
            As `LanceWriter`; nothing is left behind.
        """
        options = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
        self._append(data, options, max_rows_per_file, message)

    def overwrite(
        self,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        file_version: str | None = None,
        preset: str = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> None:
        """Replace all rows and the schema, in one version; older ones stay. Arguments are those of `create`."""
        options = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
        self._overwrite(data, schema, file_version, options, max_rows_per_file, message)

    def delete(self, predicate: Predicate, *, message: str | None = None) -> None:
        """Delete the rows that satisfy a predicate, in one version, be there any or none.

        Parameters
        ----------
        predicate
            Expression, DNF tuples or SQL, as for `to_table`; rows for which it is null stay.
        message
            As for `create`.

        Raises
        ------
        CommitConflictError
            Somebody replaced the table. Where others only changed the same fragments, the predicate is evaluated again
            on the newest version.
        InvalidArgumentError, UnsupportedError, CorruptManifestError
            The predicate does not fit; the table cannot be written here.
        """
        target = self._target()
        self._move(delete_rows(target, self._manifest, self._reader_of, predicate, checked_message(message)))

    def update(
        self,
        values: Mapping[str, Any],
        where: Predicate | None = None,
        *,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> None:
        """Change values of rows, in one version, which the handle moves to, be there any such rows or none.

        Parameters
        ----------
        values
            Columns and what they become: expressions or SQL over the table's columns, or literals; a literal string is
            ``"'x'"`` or ``pc.scalar("x")``. Columns of structs are changed as a whole.
        where
            Which rows, as for `delete`; all when None.
        max_rows_per_file, message
            As for `create`. Changed rows move to new data files; in tables with stable row ids they keep those.

        Raises
        ------
        InvalidArgumentError
            There is no such column; a value does not fit it, or a predicate the table.
        CommitConflictError
            Somebody replaced the table, or changed its columns. Where others only changed the same fragments, the rows
            are looked for again in the newest version.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        """
        made = update_rows(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            values,
            where,
            options=_PLAIN.of,
            max_rows_per_file=max_rows_per_file,
            message=checked_message(message),
        )
        self._move(made)

    def merge(self, source: Any, on: str | Sequence[str], *, schema: pa.Schema | None = None) -> TableMerge:
        """Begin a merge: rows of a source matched with those of the table by keys; see `TableMerge`.

        ``table.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all().execute()``

        Parameters
        ----------
        source
            What `write_table` takes; some of the table's columns, the keys among them.
        on
            Key columns. Nulls match nothing.
        schema
            Schema of an iterable of batches that may be empty.
        """
        return TableMerge(self._merge, source, on, schema)

    def _merge(
        self, clauses: MergeClauses, source: Any, schema: pa.Schema | None, max_rows_per_file: int, message: str | None
    ) -> dict[str, int]:
        made, counts = merge_rows(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            clauses,
            source,
            schema,
            options=_PLAIN.of,
            max_rows_per_file=max_rows_per_file,
            message=checked_message(message),
        )
        self._move(made)
        return counts

    def add_columns(
        self,
        values: Any,
        *,
        on: str | Sequence[str] | None = None,
        read_columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        message: str | None = None,
    ) -> None:
        """Add columns, in one version, which the handle moves to; files that are there stay as they are.

        Parameters
        ----------
        values
            One of: ``{name: value}``, values as for `update`; a function that is given record batches of the table and
            returns the new columns of each (a batch, table or dict); rows of another table (whatever `write_table`
            takes), as many as the table has and in its order, unless `on` is given; fields, or a schema, for columns of
            nulls. New columns allow nulls.
        on
            Key columns that both tables have: rows find their values by these, and are null where there are none.
        read_columns
            Columns that a function is given; all when None.
        batch_size
            The most rows that are computed at once; 65,536 when None.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            A column has a name that is there already, values do not fit, or rows are not as many as the table has.
        CommitConflictError
            Somebody replaced the table. Where others changed rows or columns, all is computed again.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        """
        self._move(
            self._columns(message).add(values, on=on, read_columns=read_columns, batch_size=_checked_size(batch_size))
        )

    def drop_columns(self, columns: Sequence[str], *, message: str | None = None) -> None:
        """Drop columns, or fields of structs by dotted path, in one version; their bytes stay where they are.

        Raises
        ------
        InvalidArgumentError
            There is no such column, or none would be left.
        CommitConflictError
            Somebody replaced the table.
        """
        self._move(self._columns(message).drop(columns))

    def alter_columns(self, *alterations: Mapping[str, Any], message: str | None = None) -> None:
        """Rename columns, cast them, or let them have nulls, in one version.

        Parameters
        ----------
        alterations
            Each ``{"path": ...}`` with one or more of ``"name"``, ``"nullable"`` and ``"data_type"``, an Arrow type
            that all values can be cast to. Indices of columns that are cast are dropped.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            There is no such column, two would have one name, or values do not fit.
        UnsupportedError
            What is to be cast lies in a list.
        CommitConflictError
            As for `add_columns`.
        """
        self._move(self._columns(message).alter(alterations))

    def compact(
        self,
        *,
        target_rows_per_fragment: int = DEFAULT_ROWS_PER_FILE,
        materialize_deletions_threshold: float = 0.1,
        message: str | None = None,
    ) -> None:
        """Rewrite small fragments as large ones, and those with many deleted rows without them, in two versions.

        Nothing is done, and no version made, where nothing is worth it. Neighbours are put together, one file's rows at
        a time, whatever the table's size. Rows keep their stable ids; without these, ``_rowid`` changes. Indices stay,
        but do not cover what was rewritten.

        Parameters
        ----------
        target_rows_per_fragment
            Rows that a fragment should have.
        materialize_deletions_threshold
            Fragments of which a larger part is deleted are rewritten whatever their size.
        message
            As for `create`.

        Raises
        ------
        CommitConflictError
            Somebody replaced the table, or others changed the same fragments until the time was up.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        """
        plan = CompactionPlan(target_rows=target_rows_per_fragment, deleted_part=materialize_deletions_threshold)
        made = compact_table(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            plan,
            options=_PLAIN.of,
            message=checked_message(message),
        )
        self._move(made)

    def cleanup(
        self,
        *,
        older_than: datetime.timedelta = DEFAULT_AGE,
        retain_versions: int | None = None,
        delete_unverified: bool = False,
        dry_run: bool = True,
    ) -> CleanupReport:
        """Remove old versions of this line, and files that nothing needs any more; by default, only tell.

        Only files below the folder of this line go. Tagged versions stay, and what branches need; shallow clones that
        lie elsewhere cannot be seen from here.

        Parameters
        ----------
        older_than
            Versions stay that were current within this time.
        retain_versions
            How many of the newest stay in any case.
        delete_unverified
            Whether files that no version names go even when they are younger than 7 days, so that a commit may be about
            to name them: only when nobody is writing.
        dry_run
            Whether to only tell.

        Returns
        -------
        CleanupReport
            Versions and files that go, with sizes and reasons, and why the others stay.

        Raises
        ------
        UnsupportedError, CorruptManifestError
            A manifest of the table, whichever line it is of, is not understood; nothing is removed.
        """
        rules = CleanupRules(
            older_than=older_than, retain_versions=retain_versions, delete_unverified=delete_unverified
        )
        if not dry_run:
            # Nothing is removed where nothing may be written.
            self._target()
        limits = default_runtime().settings.limits
        return clean_up(self._root, self._branch, rules, limits, dry_run=bool(dry_run))

    def _columns(self, message: str | None) -> ColumnEdit:
        return ColumnEdit(
            target=self._target(),
            base=self._manifest,
            reader_of=self._stored_reader_of,
            options=_PLAIN.of,
            message=checked_message(message),
        )

    def restore(self, version: int | str, *, message: str | None = None) -> None:
        """Make a new version that is what an older one was.

        Parameters
        ----------
        version
            Number of a version of this line, or a tag of one.
        message
            As for `create`.

        Raises
        ------
        VersionNotFoundError
            There is no such version or tag.
        """
        old = self._find(version)
        if old.branch != self._manifest.branch:
            raise InvalidArgumentError(
                f"tag {version!r} is of branch {old.branch or 'main'!r}, not of {self._branch or 'main'!r}"
            )
        self._move(restore_version(self._target(), self._manifest, old, checked_message(message)))

    def _append(self, data: Any, options: FileOptions, max_rows_per_file: int, message: str | None) -> None:
        self._move(
            append_rows(
                self._target(),
                self._manifest,
                data,
                options=options.of,
                max_rows_per_file=max_rows_per_file,
                message=checked_message(message),
            )
        )

    def _overwrite(
        self,
        data: Any,
        schema: pa.Schema | None,
        file_version: str | None,
        options: FileOptions,
        max_rows_per_file: int,
        message: str | None,
    ) -> None:
        self._move(
            overwrite_rows(
                self._target(),
                self._manifest,
                data,
                schema=schema,
                options=options.of(file_version or overwriting_version(self._manifest)),
                max_rows_per_file=max_rows_per_file,
                message=checked_message(message),
            )
        )

    def _target(self) -> TableLine:
        return line_of(self._root, self._branch, unsafe_single_writer=self._unsafe_single_writer)

    def _reader_of(self, manifest: ManifestMeta) -> TableReader:
        raise NotImplementedError

    def _stored_reader_of(self, manifest: ManifestMeta) -> TableReader:
        raise NotImplementedError

    def _move(self, manifest: ManifestMeta) -> None:
        raise NotImplementedError

    def _find(self, version: int | str) -> ManifestMeta:
        raise NotImplementedError
