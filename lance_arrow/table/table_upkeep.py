"""`TableUpkeep`: the half of `LanceTable` that changes everything but values of rows: columns, files, configuration."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.references import branch_root
from lance_arrow.runtime import default_runtime
from lance_arrow.table.cleanup import DEFAULT_AGE, CleanupReport, CleanupRules, clean_up
from lance_arrow.table.column_changes import DEFAULT_BATCH_ROWS, ColumnEdit
from lance_arrow.table.compaction import CompactionPlan, CompactionReport, compact_table
from lance_arrow.table.data_files import DEFAULT_ROWS_PER_FILE
from lance_arrow.table.field_paths import field_at, field_paths
from lance_arrow.table.group_threads import Progress
from lance_arrow.table.index_section import read_indices
from lance_arrow.table.operations.configuration import MapChange, UpdateConfig
from lance_arrow.table.replacement import replace_columns
from lance_arrow.table.table_handle import PLAIN, TableHandle
from lance_arrow.table.writable_branch import checked_message
from lance_arrow.table.zone_index import DEFAULT_ROWS_PER_ZONE as INDEX_ROWS_PER_ZONE
from lance_arrow.table.zone_index import create_zone_index, drop_index


def _checked_size(batch_size: object) -> int | None:
    if batch_size is None:
        return None
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise InvalidArgumentError(f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size)
    return batch_size


class TableUpkeep(TableHandle):
    """What keeps a table in shape; `LanceTable` has the rest.

    Each method that changes something makes a version, or two where it says so, and moves the handle; one that fails
    leaves table and handle alone.
    """

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
            returns the new columns of each (a batch, table or dict); rows of another table (what `write_table`
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
            Another writer replaced the table. Where others changed rows or columns, all is computed again.
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
            Another writer replaced the table.
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
        cluster_by: str | Sequence[str] = (),
        drop_indices: bool = False,
        message: str | None = None,
        on_progress: Progress | None = None,
    ) -> CompactionReport:
        """Rewrite small fragments as large ones, and those with many deleted rows without them, in two versions.

        Nothing is done, and no version made, where nothing is worth it. Neighbours are put together, one file's rows at
        a time, for a table of any size. Large pages that hold no deleted rows are copied as they are. Rows keep their
        stable ids; without these, ``_rowid`` changes. An index that names rows by stable id covers the new fragments as
        it covered the old ones. Fragments of an index that names rows by address are not rewritten, and the report
        names both.

        Parameters
        ----------
        target_rows_per_fragment
            Rows that a fragment should have.
        materialize_deletions_threshold
            Fragments of which a larger part is deleted are rewritten, large or small.
        cluster_by
            Columns to sort all rows by, ascending, NaN and nulls last, so that predicates on the first one skip most
            files and zones. Every fragment is rewritten, each time. Rows that take more than an eighth of the memory
            budget are sorted through temporary files of twice their decoded size.
        drop_indices
            Whether indices that would keep fragments out of the compaction are dropped.
        message
            As for `create`.
        on_progress
            Told how many rows were written, and of how many.

        Returns
        -------
        CompactionReport
            Fragments that were rewritten, those that an index kept out, and the indices that were dropped.

        Raises
        ------
        InvalidArgumentError
            A column of `cluster_by` is not there, or has no order.
        CommitConflictError
            Another writer replaced the table, or others changed the same fragments until the time was up.
        CorruptFileError
            Bytes that are copied contradict their checksum, or those that are decoded are damaged; nothing is made.
        UnsupportedError, CorruptManifestError
            The table cannot be written here.
        """
        plan = CompactionPlan(
            target_rows=target_rows_per_fragment,
            deleted_part=materialize_deletions_threshold,
            cluster_by=(cluster_by,) if isinstance(cluster_by, str) else tuple(cluster_by),
        )
        made, report = compact_table(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            plan,
            drop_indices=bool(drop_indices),
            options=PLAIN.of,
            message=checked_message(message),
            on_progress=on_progress,
        )
        self._move(made)
        return report

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
            to name them: only while no process writes.
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

    def replace_columns(
        self,
        values: Any,
        *,
        on: str | Sequence[str] | None = None,
        read_columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        message: str | None = None,
    ) -> None:
        """Replace all values of columns that share no data file with others, as those of `add_columns` do not.

        No row moves, and no other column is read or written. Arguments are those of `add_columns`, for columns that are
        there; indices of them do not cover what was replaced.

        Raises
        ------
        InvalidArgumentError
            There is no such column, it lies in a file with others, or values do not fit.
        CommitConflictError
            As for `add_columns`.
        """
        size = _checked_size(batch_size)
        made = replace_columns(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            values,
            on=on,
            read_columns=read_columns,
            batch_size=DEFAULT_BATCH_ROWS if size is None else size,
            options=PLAIN.of,
            message=checked_message(message),
        )
        self._move(made)

    def create_zone_map(
        self,
        column: str,
        *,
        rows_per_zone: int = INDEX_ROWS_PER_ZONE,
        name: str | None = None,
        message: str | None = None,
    ) -> None:
        """Make a ZONEMAP index of a column, in one version: bounds of its values, by which filters leave out rows.

        It is read by the reference package too. Files that are written here have zone maps of their own, which need no
        index; files that others wrote have not. Rows added later are not covered: make it again.

        Parameters
        ----------
        column
            Dotted path, through structs, of numbers, booleans, dates, times, decimals, strings or binary.
        rows_per_zone
            Live rows of a zone.
        name
            Of the index; ``"<column>_idx"`` when None. One of the same name is replaced.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            There is no such column, or its values have no bounds.
        CommitConflictError
            Another writer replaced the table. Where others compacted it, the index is made again.
        """
        made = create_zone_index(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            column,
            rows_per_zone=rows_per_zone,
            name=name,
            message=checked_message(message),
        )
        self._move(made)

    def drop_index(self, name: str, *, message: str | None = None) -> None:
        """Drop an index, of this package or of another writer, in one version.

        Raises
        ------
        InvalidArgumentError
            There is no such index.
        """
        self._move(drop_index(self._target(), self._manifest, name, checked_message(message)))

    @property
    def indices(self) -> dict[str, tuple[str, ...]]:
        """Indices of this version by name: the columns of each, as dotted paths."""
        line = branch_root(self._root, self._manifest.branch)
        section = read_indices(line, self._manifest, default_runtime().settings.limits)
        paths = {field.id: path for path, field in field_paths(self._manifest.fields)}
        return {
            index.name: tuple(paths[number] for number in index.fields if number in paths) for index in section.indices
        }

    @property
    def config(self) -> Mapping[str, str]:
        """Configuration of the table."""
        return self._manifest.config

    @property
    def metadata(self) -> Mapping[str, str]:
        """Metadata of the table; `schema` and its fields have others."""
        return self._manifest.table_metadata

    def update_config(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change the configuration, in one version.

        Parameters
        ----------
        values
            New values by key; None removes a key.
        replace
            Whether nothing else stays.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            Keys or values are no texts.
        CommitConflictError
            Another writer set the same keys.
        """
        self._configure(UpdateConfig(config=MapChange(values, bool(replace))), message)

    def update_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change metadata of the table, in one version; arguments and errors are those of `update_config`."""
        self._configure(UpdateConfig(table_metadata=MapChange(values, bool(replace))), message)

    def update_schema_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change metadata of the schema, in one version; arguments and errors are those of `update_config`."""
        self._configure(UpdateConfig(schema_metadata=MapChange(values, bool(replace))), message)

    def update_field_metadata(
        self,
        values: Mapping[str, Mapping[str, str | None]],
        *,
        replace: bool = False,
        message: str | None = None,
    ) -> None:
        """Change metadata of columns, in one version.

        Parameters
        ----------
        values
            By dotted path of the column, as for `update_config`. What says how values are stored cannot be changed.
        replace, message
            As for `update_config`.

        Raises
        ------
        InvalidArgumentError
            As for `update_config`; there is no such column.
        """
        if not isinstance(values, Mapping) or not values:
            raise InvalidArgumentError(f"expected metadata by column, not {values!r}", detail=values)
        changes = {
            field_at(self._manifest.fields, path).id: MapChange(change, bool(replace))
            for path, change in values.items()
        }
        self._configure(UpdateConfig(fields=changes), message)

    def _configure(self, operation: UpdateConfig, message: str | None) -> None:
        said = checked_message(message)
        self._move(self._target().retried(self._manifest, lambda base, files: operation, said))

    def _columns(self, message: str | None) -> ColumnEdit:
        return ColumnEdit(
            target=self._target(),
            base=self._manifest,
            reader_of=self._stored_reader_of,
            options=PLAIN.of,
            message=checked_message(message),
        )
