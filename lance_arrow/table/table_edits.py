"""`TableEdits`: the half of `LanceTable` that makes new versions by changing rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_arrow.choices import FileVersionName, Preset
from lance_arrow.container.fields import primary_key
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE
from lance_arrow.table.late_changes import changes, edit_result, merge_rows, merging, updates, writable_branch
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE, checked_message
from lance_arrow.table.table_handle import PLAIN, FileOptions, TableHandle

if TYPE_CHECKING:
    from lance_arrow.scan.predicates import Predicate
    from lance_arrow.table.changes import Made
    from lance_arrow.table.merges.merging import MergeClauses, TableMerge, TableMergeInsert
    from lance_arrow.table.operations.edit_result import EditResult


class TableEdits(TableHandle):
    """Methods of `LanceTable` that change rows.

    Each method commits exactly one version and moves this object to it. A method that fails changes neither the table
    nor this object.
    """

    def append(
        self,
        data: Any,
        *,
        cast: bool = False,
        preset: Preset = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> EditResult:
        """Add rows at the end of the table.

        Parameters
        ----------
        data
            Rows, as for `write_table`. Columns, and fields of structs, are matched by name; missing ones become null.
        cast
            Whether columns of other types are cast where no value changes: numbers, strings, bytes, dates, timestamps,
            times and durations. Text is not parsed.
        preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
            As for `create`.
        max_rows_per_file, message
            As for `create`.

        Returns
        -------
        EditResult
            The number of rows, as ``num_inserted_rows``.

        Raises
        ------
        InvalidArgumentError
            The table lacks a column, a type differs, or columns that allow no nulls are missing; these are all named.
            With `cast`, a value would change; the message names column and value.
        CommitConflictError
            Another writer replaced the table, or changed its columns. `retryable` of the error says whether to repeat.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.
        LanceError, OSError
            As `LanceWriter`; no file is left behind.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> print(table.append(pyarrow.table({"id": [100]})))
        append: 1 row inserted, version 2
        >>> result = table.append(pyarrow.table({"id": pyarrow.array([101], "int8")}), cast=True)
        >>> table.version, table.count_rows()
        (3, 102)
        """
        options = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
        return self._append(data, options, max_rows_per_file, message, casts=cast)

    def overwrite(
        self,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        cast: bool = False,
        file_version: FileVersionName | None = None,
        preset: Preset = "default",
        rows_per_zone: int | None = DEFAULT_ROWS_PER_ZONE,
        checksums: bool = True,
        column_options: Mapping[str, Mapping[str, Any]] | None = None,
        allow_private_encodings: bool = False,
        page_bytes: int = DEFAULT_PAGE_BYTES,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> EditResult:
        """Replace all rows and the schema. Older versions stay readable. Arguments are those of `create`.

        Returns
        -------
        EditResult
            The number of new rows, as ``num_inserted_rows``.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> print(table.overwrite(pyarrow.table({"n": [1, 2]})))
        overwrite: 2 rows inserted, version 2
        >>> table.version, table.schema.names
        (2, ['n'])
        """
        options = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
        return self._overwrite(data, schema, file_version, options, max_rows_per_file, message, casts=cast)

    def delete(self, predicate: Predicate, *, message: str | None = None) -> EditResult:
        """Delete the rows that satisfy a predicate. A version is committed even if there are none.

        Parameters
        ----------
        predicate
            Expression, DNF tuples or SQL, as for `to_table`. Rows for which it is null stay.
        message
            As for `create`.

        Returns
        -------
        EditResult
            The number of rows, as ``num_deleted_rows``.

        Raises
        ------
        CommitConflictError
            Another writer replaced the table. If others only changed the same fragments, the predicate is evaluated
            again on the newest version instead.
        InvalidArgumentError
            The predicate does not fit the table.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> print(table.delete("id < 10"))
        delete: 10 rows deleted, version 2
        >>> table.count_rows()
        90
        """
        target = self._target()
        made = changes.delete_rows(target, self._manifest, self._reader_of, predicate, checked_message(message))
        return self._done("delete", made)

    def update(
        self,
        values: Mapping[str, Any],
        where: Predicate | None = None,
        *,
        max_rows_per_file: int = DEFAULT_ROWS_PER_FILE,
        message: str | None = None,
    ) -> EditResult:
        """Change values of the rows that satisfy a predicate. A version is committed even if there are none.

        Parameters
        ----------
        values
            New values by column: expressions or SQL over the table's columns, or literals. A literal string is
            ``"'x'"`` or ``pc.scalar("x")``. Columns of structs are changed as a whole.
        where
            Predicate that chooses the rows, as for `delete`; all rows when None.
        max_rows_per_file, message
            As for `create`. Changed rows move to new data files and keep their stable row ids.

        Returns
        -------
        EditResult
            The number of rows, as ``num_updated_rows``.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, a value does not fit its column, or the predicate does not fit the table.
        CommitConflictError
            Another writer replaced the table, or changed its columns. If others only changed the same fragments, the
            rows are searched again in the newest version instead.
        UnsupportedError, CorruptManifestError
            This library cannot write the table.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> print(table.update({"price": "price + 1"}, where="id = 0"))
        update: 1 row updated, version 2
        >>> table.take([99], ["price"])["price"].to_pylist()
        [1.0]
        """
        made = updates.update_rows(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            values,
            where,
            options=PLAIN.of,
            max_rows_per_file=max_rows_per_file,
            message=checked_message(message),
        )
        return self._done("update", made)

    def merge(
        self, source: Any, on: str | Sequence[str], *, schema: pa.Schema | None = None, cast: bool = False
    ) -> TableMerge:
        """Describe a merge (upsert) of rows into the table by keys; `TableMerge.execute` runs it.

        ``table.merge(rows, on="id").when_matched_update_all().when_not_matched_insert_all().execute()``

        Parameters
        ----------
        source
            Rows, as for `write_table`, with the key columns and any others of the table.
        on
            Names of the key columns. A null key matches no row.
        schema
            Schema of an iterable of batches that may be empty.
        cast
            As for `append`. Structs must have all fields of the table's.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> merge = table.merge(pyarrow.table({"id": [99, 100]}), on="id").when_not_matched_insert_all()
        >>> print(merge.execute())
        merge: 1 row inserted, version 2
        """
        return merging.TableMerge(self._merge, source, on, schema, cast=cast)

    def merge_insert(self, on: str | Sequence[str] | None = None) -> TableMergeInsert:
        """Describe a merge (upsert) by keys whose rows `TableMergeInsert.execute` is given, as pylance spells it.

        ``table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)``

        Parameters
        ----------
        on
            Names of the key columns. A null key matches no row. When None, the primary key that the schema declares.

        Raises
        ------
        InvalidArgumentError
            `on` is no name, or is None although the schema declares no primary key.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> merge = table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        >>> merge.execute(pyarrow.table({"id": [99, 100], "price": [1.0, 2.0]}))["num_updated_rows"]
        1
        """
        key = primary_key(self._reader.columns.schema) if on is None else on
        if not key:
            raise InvalidArgumentError("the schema declares no primary key, expected names of key columns as on")
        return merging.TableMergeInsert(self._merge, key)

    def _merge(
        self,
        clauses: MergeClauses,
        source: Any,
        schema: pa.Schema | None,
        max_rows_per_file: int,
        message: str | None,
        casts: bool,
    ) -> EditResult:
        made = merge_rows.merge_rows(
            self._target(),
            self._manifest,
            self._stored_reader_of,
            clauses,
            source,
            schema,
            options=PLAIN.of,
            max_rows_per_file=max_rows_per_file,
            message=checked_message(message),
            casts=casts,
        )
        return self._done("merge", made)

    def restore(self, version: int | str, *, message: str | None = None) -> EditResult:
        """Commit a new version with the content of an older one.

        Parameters
        ----------
        version
            Number of a version of this branch, or a tag of one.
        message
            As for `create`.

        Returns
        -------
        EditResult
            The number of rows of that version, as ``num_restored_rows``, where the version records it.

        Raises
        ------
        VersionNotFoundError
            There is no such version or tag.
        CommitConflictError
            A cleanup is removing the version.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.delete("id < 10")
        >>> print(table.restore(1))
        restore: 100 rows restored, version 3
        """
        old = self._find(version)
        if old.branch != self._manifest.branch:
            raise InvalidArgumentError(
                f"tag {version!r} is of branch {old.branch or 'main'!r}, not of {self._branch or 'main'!r}"
            )
        return self._done(
            "restore", changes.restore_version(self._target(), self._manifest, old, checked_message(message))
        )

    def _done(self, operation: str, made: Made) -> EditResult:
        manifest, counts = made
        self._move(manifest)
        return edit_result.EditResult(operation, manifest.version, counts)

    def _append(
        self, data: Any, options: FileOptions, max_rows_per_file: int, message: str | None, *, casts: bool = False
    ) -> EditResult:
        return self._done(
            "append",
            changes.append_rows(
                self._target(),
                self._manifest,
                data,
                options=options.of,
                max_rows_per_file=max_rows_per_file,
                message=checked_message(message),
                casts=casts,
            ),
        )

    def _overwrite(
        self,
        data: Any,
        schema: pa.Schema | None,
        file_version: FileVersionName | None,
        options: FileOptions,
        max_rows_per_file: int,
        message: str | None,
        *,
        casts: bool = False,
    ) -> EditResult:
        return self._done(
            "overwrite",
            changes.replace_rows(
                self._target(),
                self._manifest,
                data,
                schema=schema,
                options=options.of(file_version or writable_branch.overwriting_version(self._manifest)),
                max_rows_per_file=max_rows_per_file,
                message=checked_message(message),
                casts=casts,
            ),
        )
