"""`LanceTable`: one version of a table, its history, and the methods that make new versions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.read_options import ReadOptions, check_paths
from lance_arrow.choices import (
    Blobs,
    CreateMode,
    Dictionaries,
    Durability,
    FileVersionName,
    Json,
    Preset,
    Strings,
    Verify,
    fixed_strings,
)
from lance_arrow.errors import InvalidArgumentError, TableExistsError, did_you_mean
from lance_arrow.files.write_options import DEFAULT_PAGE_BYTES, DEFAULT_ROWS_PER_ZONE
from lance_arrow.io import AnyFileSystem, Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.references import line_name
from lance_arrow.manifests.versions import VersionChoice, is_table, open_version, table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.scan.open_files import OpenFiles
from lance_arrow.table.copies.table_copies import TableCopies
from lance_arrow.table.late_changes import branches, changes, history, tags
from lance_arrow.table.method_arguments import DEFAULT_ROWS_PER_FILE, check_durability, checked_message
from lance_arrow.table.table_edits import TableEdits
from lance_arrow.table.table_handle import FileOptions, line_of
from lance_arrow.table.table_reads import TableReads
from lance_arrow.table.table_settings import TableSettings
from lance_arrow.table.table_upkeep import TableUpkeep

if TYPE_CHECKING:
    from lance_arrow.table.branches import TableBranches
    from lance_arrow.table.history import VersionMeta
    from lance_arrow.table.tags import TableTags


class LanceTable(TableReads, TableEdits, TableUpkeep, TableSettings, TableCopies):
    """One version of a Lance table: read its rows, list its history, change it.

    Get a table from `LanceTable.open`, or make one with `LanceTable.create`. A method that changes the table commits a
    new version and moves this object to it. Other open tables keep the version that they have.

    Parameters
    ----------
    root
        Folder of the table, which is the folder of its main branch.
    branch
        Name of the branch; the main branch when None.
    manifest
        Manifest of the version.
    options
        How columns are read: dictionaries, blobs, checksums.
    unsafe_single_writer, durability
        As for `open`.

    Examples
    --------
    >>> table = lance_arrow.LanceTable.create("new", pyarrow.table({"id": [1, 2, 3]}))
    >>> result = table.delete("id = 2")
    >>> table.version, table.to_table()["id"].to_pylist()
    (2, [1, 3])
    """

    def __init__(
        self,
        root: Location,
        branch: str | None,
        manifest: ManifestMeta,
        options: ReadOptions,
        *,
        unsafe_single_writer: bool = False,
        durability: Durability = "fsync",
    ) -> None:
        self._root = root
        self._branch = line_name(branch)
        self._manifest = manifest
        self._options = options
        self._unsafe_single_writer = unsafe_single_writer
        check_durability(durability)
        self._durability = durability
        self._files = OpenFiles(options)
        self._stored_files: OpenFiles | None = None
        self._reader = self._reader_of(manifest)

    @classmethod
    def open(
        cls,
        uri: str | os.PathLike[str],
        *,
        version: int | None = None,
        tag: str | None = None,
        as_of: Any = None,
        branch: str | None = None,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        dictionaries: Dictionaries = "keep",
        strings: Strings = "plain",
        read_dictionary: Sequence[str] = (),
        blobs: Blobs = "bytes",
        json: Json = "text",
        allow_external_blobs: bool = False,
        allow_external_bases: bool = False,
        verify: Verify = "touched",
        memory_map: bool = False,
        unsafe_single_writer: bool = False,
        durability: Durability = "fsync",
    ) -> LanceTable:
        """Open a version of a table. This reads the manifest and no data file.

        Parameters
        ----------
        uri
            The table's folder: local path or URL.
        version
            Number of the version to open; without `version`, `tag` and `as_of`, the newest one.
        tag
            Tag of the version to open, instead of its number.
        as_of
            Opens the newest version not later than this `datetime`, `date` or ISO text; local time without a zone.
        branch
            Name of the branch; the main branch when None.
        filesystem, storage_options
            fsspec or pyarrow filesystem of the path, or store of obstore; options for the filesystem of a URL.
        dictionaries, blobs, json, allow_external_blobs, verify
            As for `LanceFile`.
        strings, read_dictionary
            As for `LanceFile`; columns that are stored as dictionaries are found in the fragment of most rows.
        memory_map
            As for `LanceFormat`. Writers of tables never change a data file.
        allow_external_bases
            Whether to read files outside of the folder that holds the table, where the manifest names such files. A
            clone of a sibling table does not need it.
        unsafe_single_writer
            Promises that there is no other writer, for filesystems that cannot keep two writers apart.
        durability
            What a committed change of a table on a local filesystem survives. ``"fsync"``: a crash of the machine or a
            loss of power; files are on the disk before the method returns. ``"rename"``: the end of the process only.
            After a loss of power, the newest versions may then be lost, or may name files without content.

        Raises
        ------
        InvalidArgumentError
            More than one of `version`, `tag` and `as_of` is given, or `durability` has another value.
        TableNotFoundError
            There is no table.
        VersionNotFoundError
            The table has no such version, tag or branch.
        UnsupportedFeatureFlagError
            The table requires a feature that this library does not know.
        CorruptManifestError
            The manifest contradicts itself.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights", version=1)
        >>> table.version, table.schema.names
        (1, ['id', 'price', 'name'])
        """
        options = ReadOptions(
            dictionaries=dictionaries,
            blobs=blobs,
            json=json,
            allow_external_blobs=allow_external_blobs,
            allow_external_bases=allow_external_bases,
            verify=verify,
            read_dictionary=read_dictionary,
            strings=fixed_strings(strings),
            memory_map=memory_map,
        )
        choice = VersionChoice(version=version, tag=tag, as_of=as_of, branch=branch)
        root = table_location(uri, filesystem, storage_options)
        _load_bridge(root)
        manifest = open_version(root, choice, default_runtime().settings.limits)
        line = manifest.branch if tag is not None else branch

        def made(options: ReadOptions) -> LanceTable:
            return cls(root, line, manifest, options, unsafe_single_writer=unsafe_single_writer, durability=durability)

        opened = made(options)
        if strings == "dictionary":
            from lance_arrow.scan.stored_dictionaries import table_dictionaries  # noqa: PLC0415 - where asked for alone

            options = replace(options, read_dictionary=(*options.read_dictionary, *table_dictionaries(opened._reader)))
            opened = made(options)
        if options.read_dictionary:
            check_paths(opened.schema, options.read_dictionary)
        return opened

    @classmethod
    def create(
        cls,
        uri: str | os.PathLike[str],
        data: Any,
        *,
        mode: CreateMode = "create",
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
        enable_stable_row_ids: bool = False,
        message: str | None = None,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        unsafe_single_writer: bool = False,
        durability: Durability = "fsync",
    ) -> LanceTable:
        """Make a table from rows and commit its first version.

        Parameters
        ----------
        uri, filesystem, storage_options, unsafe_single_writer, durability
            As for `open`.
        data
            Rows, as for `write_table`; there may be none.
        mode
            What to do if there is a table already. ``"create"``: raise an error. ``"overwrite"``: replace its rows.
            ``"append"``: add rows.
        schema
            Schema of an iterable of batches that may be empty; with `cast`, that of the table.
        cast
            Whether columns of other types are cast to `schema`, or to the table that exists, as for `append`.
        file_version
            As for `WriteOptions`. When None, the version of the existing table, or ``"2.2"`` for a new one.
        preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes
            As for `WriteOptions`.
        max_rows_per_file
            The most rows of a data file, and so of a fragment.
        enable_stable_row_ids
            Whether ``_rowid`` of a row stays the same when the row is moved or updated. It cannot be changed later.
        message
            Text that `history` shows with the version.

        Raises
        ------
        TableExistsError
            There is a table already, or another writer was first.
        UnsupportedError
            A type cannot be stored, or the filesystem cannot keep two writers apart.
        LanceError, OSError
            As `LanceWriter`; no file is left behind.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.create("new", pyarrow.table({"id": [1, 2, 3]}), message="first rows")
        >>> table.version, table.count_rows()
        (1, 3)
        """
        if mode not in ("create", "overwrite", "append"):
            offer = did_you_mean(mode, ("create", "overwrite", "append"))
            raise InvalidArgumentError(
                f"mode is {mode!r}, expected 'create', 'overwrite' or 'append'{offer}", detail=mode
            )
        root = table_location(uri, filesystem, storage_options)
        _load_bridge(root)
        options = FileOptions(preset, rows_per_zone, checksums, column_options, allow_private_encodings, page_bytes)
        if is_table(root):
            if mode == "create":
                raise TableExistsError(
                    'there is a table here already; mode="append" adds rows to it, mode="overwrite" replaces its rows',
                    path=root.name,
                )
            manifest = open_version(root, VersionChoice(), default_runtime().settings.limits)
            table = cls(
                root,
                None,
                manifest,
                ReadOptions(),
                unsafe_single_writer=unsafe_single_writer,
                durability=durability,
            )
            if enable_stable_row_ids and not manifest.facts.has_stable_row_ids:
                raise InvalidArgumentError("the table has no stable row ids, and cannot get any", path=root.name)
            if mode == "append" and file_version not in (None, manifest.data_format):
                raise InvalidArgumentError(
                    f"the table's files are of version {manifest.data_format}, not {file_version}", path=root.name
                )
            if mode == "append":
                table._append(data, options, max_rows_per_file, message, casts=cast)
            else:
                table._overwrite(data, schema, file_version, options, max_rows_per_file, message, casts=cast)
            return table
        made, _ = changes.replace_rows(
            line_of(root, None, unsafe_single_writer=unsafe_single_writer, durability=durability),
            None,
            data,
            schema=schema,
            options=options.of(file_version or "2.2"),
            max_rows_per_file=max_rows_per_file,
            stable_row_ids=bool(enable_stable_row_ids),
            message=checked_message(message),
            casts=cast,
        )
        return cls(root, None, made, ReadOptions(), unsafe_single_writer=unsafe_single_writer, durability=durability)

    @property
    def version(self) -> int:
        """Number of this version."""
        return self._manifest.version

    @property
    def manifest(self) -> ManifestMeta:
        """Manifest of this version: fragments, fields, configuration, timestamps."""
        return self._manifest

    @property
    def branch(self) -> str | None:
        """Name of the branch of this version; None for the main branch."""
        return self._branch

    @property
    def uri(self) -> str:
        """Path or URL of the table, without credentials."""
        return self._root.name

    @property
    def tags(self) -> TableTags:
        """Tags of the table: a mapping by name, with `create`, `update` and `delete`."""
        return tags.TableTags(
            self._root, self._branch, lambda: self._target().strategy, default_runtime().settings.limits
        )

    @property
    def branches(self) -> TableBranches:
        """Branches of the table except the main one: a mapping by name, with `create` and `delete`."""
        limits = default_runtime().settings.limits
        return branches.TableBranches(self._root, self._branch, lambda: self._target().strategy, limits)

    def history(self) -> list[VersionMeta]:
        """Return the versions of this branch that still exist, the newest first, and the operation of each."""
        return history.read_history(self._root, self._branch, default_runtime().settings.limits)

    def checkout(self, version: int | str) -> LanceTable:
        """Return another version of the table; this object keeps its version.

        Parameters
        ----------
        version
            Number of a version of this branch, or a tag.

        Raises
        ------
        VersionNotFoundError
            There is no such version or tag.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.delete("id < 10")
        >>> table.checkout(1).count_rows()
        100
        """
        manifest = self._find(version)
        return LanceTable(
            self._root,
            manifest.branch if isinstance(version, str) else self._branch,
            manifest,
            self._options,
            unsafe_single_writer=self._unsafe_single_writer,
            durability=self._durability,
        )

    def refresh(self) -> bool:
        """Move this object to the newest version of its branch.

        Returns
        -------
        bool
            Whether that is another version than before.

        Raises
        ------
        TableNotFoundError
            The table is gone.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = lance_arrow.LanceTable.open("flights").delete("id < 10")
        >>> table.refresh(), table.count_rows()
        (True, 90)
        """
        newest = open_version(self._root, VersionChoice(branch=self._branch), default_runtime().settings.limits)
        if newest.message_bytes == self._manifest.message_bytes:
            return False
        self._move(newest)
        return True

    def _reader_of(self, manifest: ManifestMeta) -> TableReader:
        columns = TableColumns(manifest.facts, self._options)
        return TableReader(columns, manifest.fragments, self._root.given, self._files)

    def _stored_reader_of(self, manifest: ManifestMeta) -> TableReader:
        options = replace(self._options, dictionaries="keep", blobs="bytes", json="bytes")
        options = replace(options, read_dictionary=(), strings="plain")
        files = self._files if options == self._options else self._stored_files
        if files is None:
            files = OpenFiles(options)
            files.adopt(self._files)
            if not self._root.is_local:
                # The next change would ask the store for the ends of the same files, and reads for deleted rows.
                files.deletions = self._files.deletions
                self._stored_files = files
        return TableReader(TableColumns(manifest.facts, options), manifest.fragments, self._root.given, files)

    def _opened(
        self,
        root: Location,
        manifest: ManifestMeta,
        options: ReadOptions,
        *,
        unsafe_single_writer: bool,
        durability: Durability,
    ) -> Self:
        made = type(self)
        return made(root, None, manifest, options, unsafe_single_writer=unsafe_single_writer, durability=durability)

    def _move(self, manifest: ManifestMeta) -> None:
        self._reader = self._reader_of(manifest)
        self._manifest = manifest

    def _find(self, version: int | str) -> ManifestMeta:
        """Read another version: a number of this line, or a tag."""
        limits = default_runtime().settings.limits
        if isinstance(version, str):
            return open_version(self._root, VersionChoice(tag=version), limits)
        if not isinstance(version, (int, np.integer)) or isinstance(version, bool):
            raise InvalidArgumentError(f"version is {version!r}, expected a number or a tag", detail=version)
        return open_version(self._root, VersionChoice(version=int(version), branch=self._branch), limits)

    def __reduce__(self) -> tuple[object, ...]:
        how = self._unsafe_single_writer, self._durability
        return _reopened, (self._root, self._branch, self.version, self._options, *how)

    def __repr__(self) -> str:
        branch = "" if self._branch is None else f", branch={self._branch!r}"
        fragments = len(self._manifest.fragments)
        return f"LanceTable({self.uri!r}, version={self.version}{branch}, fragments={fragments:,})"

    def _repr_html_(self) -> str:
        from lance_arrow.html_repr import as_html, fragment_bars  # noqa: PLC0415 - for notebooks alone

        facts = {"table": self.uri, "version": f"{self.version} of {self._branch or 'main'}"}
        return as_html("LanceTable", facts, self.schema, fragment_bars(self._manifest.fragments))


def _reopened(
    root: Location,
    branch: str | None,
    version: int,
    options: ReadOptions,
    unsafe_single_writer: bool,
    durability: Durability = "fsync",
) -> LanceTable:
    """Open the version that a table was at when it was pickled."""
    manifest = open_version(root, VersionChoice(version=version, branch=branch), default_runtime().settings.limits)
    return LanceTable(root, branch, manifest, options, unsafe_single_writer=unsafe_single_writer, durability=durability)


def _load_bridge(root: Location) -> None:
    """Load what opens the files of a store without asking for their sizes."""
    if not root.is_local:
        from lance_arrow.arrow_dataset.bridge.for_stores import load_for_store  # noqa: PLC0415 - for stores alone

        load_for_store(root)
