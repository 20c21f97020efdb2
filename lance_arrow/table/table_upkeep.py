"""`TableUpkeep`: methods of `LanceTable` that change columns, files and indices."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.references import branch_root
from lance_arrow.runtime import default_runtime
from lance_arrow.table.field_paths import field_paths
from lance_arrow.table.late_changes import cleanup, column_changes, compaction, replacement, zone_index
from lance_arrow.table.method_arguments import (
    DEFAULT_AGE,
    DEFAULT_BATCH_ROWS,
    DEFAULT_ROWS_PER_FILE,
    INDEX_ROWS_PER_ZONE,
    checked_message,
    checked_size,
)
from lance_arrow.table.table_handle import PLAIN, TableHandle

if TYPE_CHECKING:
    from lance_arrow.table.cleanup import CleanupReport
    from lance_arrow.table.column_changes import ColumnEdit
    from lance_arrow.table.compaction import CompactionReport
    from lance_arrow.table.group_threads import Progress


class TableUpkeep(TableHandle):
    """Methods of `LanceTable` that maintain a table: columns, compaction, cleanup and indices.

    A method that changes the table commits a version (`compact` commits two) and moves this object to it. A method that
    fails changes neither the table nor this object.
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
        """Add columns without rewriting existing data files.

        Parameters
        ----------
        values
            The new columns, in one of four forms. New columns allow nulls.

            - ``{name: value}``, with values as for `update`.
            - A function. It gets record batches of the table and returns the new columns of each: a batch, table or
              dict.
            - Rows, as for `write_table`. Without `on`, they must have the number and the order of the table's rows.
            - Fields, or a schema, for columns of nulls.
        on
            Key columns that the table and the given rows share. Rows of the table without a match get nulls.
        read_columns
            Columns of the batches that a function gets; all when None.
        batch_size
            The most rows that are computed at once; 65,536 when None.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            A column of this name exists, values do not fit, or the number of rows differs from that of the table.
        CommitConflictError
            Another writer replaced the table. If others changed rows or columns, all is computed again instead.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.add_columns({"double": "price * 2"})
        >>> table.schema.names
        ['id', 'price', 'name', 'double']
        """
        self._move(
            self._columns(message).add(values, on=on, read_columns=read_columns, batch_size=checked_size(batch_size))
        )

    def drop_columns(self, columns: Sequence[str], *, message: str | None = None) -> None:
        """Drop columns, or fields of structs by dotted path. Data files are not rewritten.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or no column would be left.
        CommitConflictError
            Another writer replaced the table.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.drop_columns(["name"])
        >>> table.schema.names
        ['id', 'price']
        """
        self._move(self._columns(message).drop(columns))

    def alter_columns(self, *alterations: Mapping[str, Any], message: str | None = None) -> None:
        """Rename columns, cast them, or change whether they allow nulls.

        Parameters
        ----------
        alterations
            Dictionaries with ``"path"``, the column, and one or more of ``"name"``, ``"nullable"`` and
            ``"data_type"``. All values must fit the new Arrow type. Indices of columns that are cast are dropped.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, two columns would have one name, or values do not fit.
        UnsupportedError
            A field within a list would be cast.
        CommitConflictError
            As for `add_columns`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.alter_columns({"path": "name", "name": "label"})
        >>> table.schema.names
        ['id', 'price', 'label']
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
        """Rewrite small fragments into large ones, and remove deleted rows from files; commits two versions.

        If no fragment needs it, no version is committed. Neighbouring fragments are joined; memory is bounded for a
        table of any size. Large pages without deleted rows are copied without decoding. Rows keep their stable ids;
        without stable ids, ``_rowid`` changes. An index by stable id covers the new fragments as it covered the old
        ones. Fragments of an index by address are not rewritten; the report names the fragments and the index.

        Parameters
        ----------
        target_rows_per_fragment
            Rows that a fragment should have.
        materialize_deletions_threshold
            A fragment of any size is rewritten if a larger part of its rows than this, from 0 to 1, is deleted.
        cluster_by
            Columns to sort all rows by, ascending, NaN and nulls last. Predicates on the first one then skip most files
            and zones. Each call rewrites every fragment. Rows that take more than an eighth of the memory budget are
            sorted through temporary files of twice their decoded size.
        drop_indices
            Whether to drop indices that would keep fragments out of the compaction.
        message
            As for `create`.
        on_progress
            Called with the number of rows written, and the number of all rows.

        Returns
        -------
        CompactionReport
            Fragments that were rewritten, fragments that an index kept out, and indices that were dropped.

        Raises
        ------
        InvalidArgumentError
            A column of `cluster_by` does not exist, or its type has no order.
        CommitConflictError
            Another writer replaced the table, or others changed the same fragments on each attempt.
        CorruptFileError
            Copied bytes contradict their checksum, or decoded ones are damaged. No version is committed.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.append(pyarrow.table({"id": [100]}))
        >>> table.compact().fragments_rewritten
        (0, 1)
        """
        plan = compaction.CompactionPlan(
            target_rows=target_rows_per_fragment,
            deleted_part=materialize_deletions_threshold,
            cluster_by=(cluster_by,) if isinstance(cluster_by, str) else tuple(cluster_by),
        )
        made, report = compaction.compact_table(
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
        """Remove old versions of this branch and unused files. By default, only report them.

        Only files below the folder of this branch are removed. Tagged versions stay, and so do files that branches
        need. Files that a shallow clone elsewhere needs may be removed, because a clone leaves no record here.

        Parameters
        ----------
        older_than
            Keep versions that were current within this time. Choose more than any commit takes if others write
            meanwhile. Otherwise a commit may take the number of a removed version, and be lost.
        retain_versions
            Keep at least this many of the newest versions.
        delete_unverified
            Whether to remove files that no version names even if they are younger than 7 days. A commit may be about to
            name such files, so no other process may write meanwhile.
        dry_run
            Whether to report only, and remove nothing.

        Returns
        -------
        CleanupReport
            Versions and files that are removed, with sizes and reasons, and why the others stay.

        Raises
        ------
        UnsupportedError, CorruptManifestError
            A manifest of any branch of the table cannot be understood. Nothing is removed.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.delete("id < 10")
        >>> import datetime
        >>> table.cleanup(older_than=datetime.timedelta(0)).versions
        (1,)
        """
        rules = cleanup.CleanupRules(
            older_than=older_than, retain_versions=retain_versions, delete_unverified=delete_unverified
        )
        if not dry_run:
            # Nothing is removed where nothing may be written.
            self._target()
        limits = default_runtime().settings.limits
        return cleanup.clean_up(self._root, self._branch, rules, limits, dry_run=bool(dry_run))

    def replace_columns(
        self,
        values: Any,
        *,
        on: str | Sequence[str] | None = None,
        read_columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        message: str | None = None,
    ) -> None:
        """Replace all values of columns that have data files to themselves, as columns from `add_columns` do.

        No row moves, and no other column is read or written. Arguments are those of `add_columns`, for existing
        columns. Indices of the columns no longer cover the replaced values.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, the column shares a data file with others, or values do not fit.
        CommitConflictError
            As for `add_columns`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.add_columns({"double": "price * 2"})
        >>> table.replace_columns({"double": "price * 4"})
        >>> table.take([1], ["double"])["double"].to_pylist()
        [2.0]
        """
        size = checked_size(batch_size)
        made = replacement.replace_columns(
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
        """Make a ZONEMAP index of a column: bounds of its values, with which filters skip rows.

        The reference package reads such an index too. Files from this library hold zone maps and need no index; files
        from other writers have none. The index does not cover rows that are added later: call this again.

        Parameters
        ----------
        column
            Dotted path, through structs, of numbers, booleans, dates, times, decimals, strings or binary.
        rows_per_zone
            Live rows of a zone.
        name
            Name of the index; ``"<column>_idx"`` when None. An index of the same name is replaced.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or its type has no order.
        CommitConflictError
            Another writer replaced the table. If others compacted it, the index is made again instead.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.create_zone_map("price")
        >>> table.indices
        {'price_idx': ('price',)}
        """
        made = zone_index.create_zone_index(
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
        """Drop an index, made by this library or another one.

        Raises
        ------
        InvalidArgumentError
            The table has no such index.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.create_zone_map("price")
        >>> table.drop_index("price_idx")
        >>> table.indices
        {}
        """
        self._move(zone_index.drop_index(self._target(), self._manifest, name, checked_message(message)))

    @property
    def indices(self) -> dict[str, tuple[str, ...]]:
        """Indices of this version by name: the columns of each, as dotted paths.

        Raises
        ------
        MissingFileError
            A cleanup removed the version since it was opened.
        """
        line = branch_root(self._root, self._manifest.branch)
        section = read_indices(line, self._manifest, default_runtime().settings.limits)
        paths = {field.id: path for path, field in field_paths(self._manifest.fields)}
        return {
            index.name: tuple(paths[number] for number in index.fields if number in paths) for index in section.indices
        }

    def _columns(self, message: str | None) -> ColumnEdit:
        return column_changes.ColumnEdit(
            target=self._target(),
            base=self._manifest,
            reader_of=self._stored_reader_of,
            options=PLAIN.of,
            message=checked_message(message),
        )
