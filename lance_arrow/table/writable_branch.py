"""`WritableBranch`: a branch that can be written, and what every change of it begins with."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lance_arrow.choices import Durability
from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.fields import SchemaField
from lance_arrow.errors import CommitConflictError, InvalidArgumentError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.versions import VersionChoice, open_version
from lance_arrow.manifests.writing import editable
from lance_arrow.settings import Settings
from lance_arrow.spi.commits import CommitStrategy
from lance_arrow.table.commit import commit
from lance_arrow.table.operations.base import Operation
from lance_arrow.table.transactions import MESSAGE_KEY
from lance_arrow.table.written_files import WrittenFiles

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.table_reader import TableReader

_WRITABLE = ("2.0", "2.1", "2.2", "2.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class WritableBranch:
    """A line of versions that can be written.

    Parameters
    ----------
    root
        Folder of the table.
    line
        Folder of the line: that of the table, or of a branch.
    branch
        None for the main one.
    strategy
        How versions are made.
    settings
        Limits, and how long to try.
    durability
        What a change survives.
    """

    root: Location
    line: Location
    branch: str | None
    strategy: CommitStrategy
    settings: Settings
    durability: Durability = "fsync"

    def commit(
        self, operation: Operation, read: ManifestMeta | None, files: WrittenFiles, message: str | None
    ) -> ManifestMeta:
        """Make a version; see `commit`."""
        properties = {} if message is None else {MESSAGE_KEY: message}
        return commit(
            self.line,
            operation,
            read,
            files,
            strategy=self.strategy,
            settings=self.settings,
            durability=self.durability,
            properties=properties,
        )

    def newest(self) -> ManifestMeta:
        """Read the newest version."""
        return open_version(self.root, VersionChoice(branch=self.branch), self.settings.limits)

    def retried(
        self, base: ManifestMeta, attempt: Callable[[ManifestMeta, WrittenFiles], Operation | None], message: str | None
    ) -> ManifestMeta:
        """Commit the operation of an attempt; if others committed first, attempt again from the newest version.

        Parameters
        ----------
        base
            The version to begin with.
        attempt
            Writes the files of an operation made from a version; None when there is nothing to do.
        message
            Text that `LanceTable.history` shows with the version.

        Returns
        -------
        ManifestMeta
            The version that was made; that of the last attempt when there was nothing to do.

        Raises
        ------
        CommitConflictError
            Others made it impossible, or committed first on every attempt within `commit_seconds`.
        LanceError, OSError
            As `editable`, `attempt`, `commit`; nothing is left behind.
        """
        deadline = time.monotonic() + self.settings.commit_seconds
        while True:
            editable(base)
            try:
                with WrittenFiles() as files:
                    operation = attempt(base, files)
                    return base if operation is None else self.commit(operation, base, files, message)
            except CommitConflictError as error:
                if not error.retryable or time.monotonic() >= deadline:
                    raise
            base = self.newest()


ReaderOf: TypeAlias = "Callable[[ManifestMeta], TableReader]"
"""Makes a reader of a version, which shows columns as files hold them."""


def writable_version(base: ManifestMeta) -> str:
    """Return the version of data files that may be added.

    Raises
    ------
    UnsupportedError
        It cannot be written.
    """
    version = base.data_format
    if version not in _WRITABLE:
        raise UnsupportedError(
            f"the table's data files are of version {version or 'before 2.1'}, which cannot be written; "
            "files of several versions cannot be in one table: overwrite it",
            path=base.facts.root,
            detail=version,
        )
    return version


def overwriting_version(base: ManifestMeta) -> str:
    """Return the file version for new content of a table: its own where that can be written."""
    return base.data_format if base.data_format in _WRITABLE else "2.2"


def refuse_blob_structs(fields: Sequence[SchemaField]) -> None:
    """Refuse blobs of the second kind, which manifests describe otherwise than files."""
    for top in fields:
        for field in top.walk():
            is_descriptor = field.is_blob and field.logical_type == "struct"
            if is_descriptor or field.metadata.get(EXTENSION_NAME, b"").startswith(b"lance.blob"):
                raise UnsupportedError("blobs of this kind cannot be written into tables yet", column=top.name)


def refuse_lacked(paths: Sequence[str]) -> None:
    """Raise `InvalidArgumentError` if columns are not given that may not be null; all are named."""
    if len(paths) == 1:
        raise InvalidArgumentError("the column is not given, but may not be null", column=paths[0])
    if paths:
        raise InvalidArgumentError(f"the columns {list(paths)} are not given, but may not be null", column=paths[0])
