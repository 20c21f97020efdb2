"""`TableCopies`: methods of `LanceTable` that make other tables of its versions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from lance_arrow.choices import Durability
from lance_arrow.io import AnyFileSystem
from lance_arrow.manifests.references import branch_root
from lance_arrow.manifests.versions import table_location
from lance_arrow.runtime import default_runtime
from lance_arrow.table.late_changes import cloning, deep_cloning
from lance_arrow.table.method_arguments import checked_message
from lance_arrow.table.table_handle import TableHandle, line_of

if TYPE_CHECKING:
    from lance_arrow.table.copies.cloning import CloneSource


class TableCopies(TableHandle):
    """Methods of `LanceTable` that make other tables of its versions; this object keeps its version."""

    def shallow_clone(
        self,
        uri: str | os.PathLike[str],
        version: int | str | None = None,
        *,
        message: str | None = None,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        unsafe_single_writer: bool = False,
        durability: Durability = "fsync",
    ) -> Self:
        """Make a table that begins with a version of this one, without copying data files.

        Parameters
        ----------
        uri, filesystem, storage_options, unsafe_single_writer, durability
            As for `create`. The new table must lie on the filesystem of this one.
        version
            First version of the new table: number of a version of this branch, or a tag. This version when None.
        message
            As for `create`.

        Returns
        -------
        LanceTable
            The new table, whose first version has the number of the version that it begins with. A cleanup of this
            table can remove files that the new one needs, because a clone leaves no record here. Open the new table
            with ``allow_external_bases=True``, unless it lies below the folder that holds this table.

        Raises
        ------
        TableExistsError
            There is a table already.
        UnsupportedError
            `uri` is on another filesystem.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> clone = table.shallow_clone("copy", version=1)
        >>> result = clone.delete("id < 10")
        >>> clone.count_rows(), table.count_rows()
        (90, 100)
        """
        source = self._source(version)
        target = table_location(uri, filesystem, storage_options)
        strategy = line_of(target, None, unsafe_single_writer=unsafe_single_writer, durability=durability).strategy
        made = cloning.clone_version(source, target, strategy, branch=None, message=checked_message(message))
        # The caller has named the source, wherever it lies.
        options = replace(self._options, allow_external_bases=True)
        return self._opened(target, made, options, unsafe_single_writer=unsafe_single_writer, durability=durability)

    def deep_clone(
        self,
        uri: str | os.PathLike[str],
        version: int | str | None = None,
        *,
        message: str | None = None,
        filesystem: AnyFileSystem | None = None,
        storage_options: Mapping[str, Any] | None = None,
        unsafe_single_writer: bool = False,
        durability: Durability = "fsync",
    ) -> Self:
        """Copy a version, with its data files and indices, to a table of its own, on any filesystem.

        Parameters
        ----------
        uri, filesystem, storage_options, unsafe_single_writer, durability
            As for `create`.
        version
            First version of the new table: number of a version of this branch, or a tag. This version when None.
        message
            As for `create`.

        Returns
        -------
        LanceTable
            The new table, whose first version has the number of the version that was copied. It shares no file with
            this table. Files are copied as they are, without decoding them; older versions and tags are not copied.

        Raises
        ------
        TableExistsError
            There is a table already.
        MissingFileError, CorruptManifestError
            A file of the version does not exist, or has another size than the manifest says. Nothing is left behind.
        UnsupportedError
            Files of the version lie outside of the folder that holds this table, which was opened without
            ``allow_external_bases``.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> copied = table.deep_clone("deep", version=1)
        >>> copied.version, copied.count_rows()
        (1, 100)
        """
        source = self._source(version)
        root = table_location(uri, filesystem, storage_options)
        target = line_of(root, None, unsafe_single_writer=unsafe_single_writer, durability=durability)
        allows = self._options.allow_external_bases
        made = deep_cloning.deep_clone(source, target, allow_external_bases=allows, message=checked_message(message))
        return self._opened(root, made, self._options, unsafe_single_writer=unsafe_single_writer, durability=durability)

    def _source(self, version: int | str | None) -> CloneSource:
        manifest = self._manifest if version is None else self._find(version)
        limits = default_runtime().settings.limits
        return cloning.CloneSource(line=branch_root(self._root, manifest.branch), manifest=manifest, limits=limits)
