"""One commit: check what others committed, build the next version, publish it; repeat if another writer was first.

newest version ─► conflicts? ─► transaction file ─► manifest ─► publish ─► done
      ▲                                                            │ another was first
      └────────────────────────────────────────────────────────────┘

Source: table-format 7.2. All files that a version names are written before it. If a store's first answer is lost, it
may report our own manifest as an existing one. So every new version is compared with our transaction.
"""

from __future__ import annotations

import os
import posixpath
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial

from lance_arrow.choices import Durability
from lance_arrow.errors import (
    CommitConflictError,
    CorruptFileError,
    CorruptManifestError,
    UnsupportedError,
    VersionNotFoundError,
)
from lance_arrow.io import Location, file_exists, make_folder, may_write_at_once, sync_files, sync_folder, write_file
from lance_arrow.manifests.base_paths import TRANSACTIONS
from lance_arrow.manifests.feature_flags import NO_TRANSACTION_FILES
from lance_arrow.manifests.manifest import (
    ManifestMeta,
    manifest_from_bytes,
    manifest_from_source,
    manifest_source,
    read_section,
)
from lance_arrow.manifests.names import ManifestName, NamingScheme
from lance_arrow.manifests.versions import VERSIONS, ManifestFile, list_manifests, manifest_place
from lance_arrow.manifests.writing import finish, manifest_bytes
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.settings import Settings
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy
from lance_arrow.table.conflicts import Outcome, footprint_of, judge
from lance_arrow.table.operations.base import NextVersion, Operation
from lance_arrow.table.transactions import TransactionMeta, read_transaction
from lance_arrow.table.written_files import WrittenFiles

_FIRST_DELAY_SECONDS = 0.005
_LONGEST_DELAY_SECONDS = 1.0
_MOST_READ_AT_ONCE = 4 << 20


def commit(
    line: Location,
    operation: Operation,
    read: ManifestMeta | None,
    files: WrittenFiles,
    *,
    strategy: CommitStrategy,
    settings: Settings,
    durability: Durability,
    properties: Mapping[str, str],
    transaction_id: str | None = None,
) -> ManifestMeta:
    """Make a version by an operation.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    operation
        What to do; all files that it names are there.
    read
        The version that the operation was made from; None for a table that is made by it.
    files
        What the operation wrote; told whether the outcome is known.
    strategy
        How versions are made.
    settings
        Limits, and how long to try.
    durability
        With ``"fsync"``, local files are on the disk before a version names them.
    properties
        What to keep with the transaction.
    transaction_id
        Name of the transaction. Of several commits with one name and the same `read`, no more than one makes a version,
        and all return it. A new name when None.

    Returns
    -------
    ManifestMeta
        The version that was made, exactly one.

    Raises
    ------
    CommitConflictError
        What others committed since cannot be combined with this, or they were first each time until the time was up.
    LanceError
        As `Operation.apply`; a version that was made since cannot be read.
    OSError
        Errors of the filesystem, without credentials in their text.
    """
    made = _Commit(line, operation, read, files, strategy, settings, properties, transaction_id)
    if durability == "fsync":
        made.sync()
    return made.run()


class _Commit:
    def __init__(
        self,
        line: Location,
        operation: Operation,
        read: ManifestMeta | None,
        files: WrittenFiles,
        strategy: CommitStrategy,
        settings: Settings,
        properties: Mapping[str, str],
        transaction_id: str | None,
    ) -> None:
        self._line = line
        self._operation = operation
        self._read = read
        self._files = files
        self._strategy = strategy
        self._settings = settings
        self._checked = self._read_version = 0 if read is None else read.version
        message = Transaction(read_version=self._read_version, uuid=transaction_id or str(uuid.uuid4()))
        for key, value in properties.items():
            message.transaction_properties[key] = value
        operation.record(message)
        self._transaction = TransactionMeta(
            read_version=self._read_version,
            uuid=message.uuid,
            operation=message.WhichOneof("operation"),
            properties=dict(properties),
            message_bytes=message.SerializeToString(deterministic=True),
        )
        touched = footprint_of(self._transaction.message_bytes)
        self._footprint = replace(
            touched, finds_keys=operation.finds_keys, fields=touched.fields | operation.changed_fields
        )
        self._has_transaction_file = False
        # Others with the same name of a transaction have files of their own, which they may remove.
        self._is_named = transaction_id is not None
        own = f"-{uuid.uuid4().hex}" if self._is_named else ""
        self._transaction_name = f"{self._read_version}-{message.uuid}{own}.txn"
        self._newest = read
        self._attempted = 0

    def sync(self) -> None:
        """Bring what was written so far to the disk, and the folder of a new table."""
        sync_files(self._files.places)
        if self._read is None and self._line.is_local:
            make_folder(self._line.given, posixpath.join(self._line.path, VERSIONS))
            sync_folder(self._line.path)
            sync_folder(os.path.dirname(os.path.abspath(self._line.path)))

    def run(self) -> ManifestMeta:
        deadline = time.monotonic() + self._settings.commit_seconds
        delay = 0.0
        while True:
            begun = time.monotonic()
            manifests = self._list()
            done = self._catch_up(manifests)
            if done is None and self._attempted and time.monotonic() >= deadline:
                raise CommitConflictError(
                    f"other writers committed first on every attempt, for {self._settings.commit_seconds} seconds",
                    ours=self._transaction,
                    retryable=True,
                    path=self._line.name,
                )
            if done is None:
                done = self._attempt(manifests)
            if done is not None:
                self._files.is_in_doubt = False
                return done
            # An attempt before those of the other writers are over loses to them, and slows all of them down.
            delay = max(time.monotonic() - begun, min(delay * 2, _LONGEST_DELAY_SECONDS), _FIRST_DELAY_SECONDS)
            time.sleep(random.uniform(0, delay))

    def _list(self) -> Sequence[ManifestFile]:
        """List versions from the last one that was checked on; stores get the transaction at the same time.

        If no version names it in the end, an error passes, and it is removed. A transaction with the name of another
        may find that one's version, and then no error tells that its file is not needed.
        """
        if self._read is not None and not self._is_named and may_write_at_once(self._line.given):
            self._write_transaction(self._read.writer_flags)
        return list_manifests(self._line, since=self._checked)

    def _catch_up(self, manifests: Sequence[ManifestFile]) -> ManifestMeta | None:
        """Check what others committed; return the version that is ours, if one is."""
        newest = manifests[-1].version if manifests else 0
        if newest < self._read_version:
            raise VersionNotFoundError(
                f"version {self._read_version}, which this change began with, was removed; the newest one is {newest}",
                path=self._line.name,
            )
        fresh = [manifest for manifest in manifests if manifest.version > self._checked]
        if len(fresh) != newest - self._checked and self._read is not None:
            raise CommitConflictError(
                f"versions after {self._checked} were removed, so their changes cannot be checked",
                ours=self._transaction,
                retryable=True,
                path=self._line.name,
            )
        for manifest in fresh:
            meta, theirs = self._recorded(manifest)
            if meta.transaction_file == self._transaction_name or (
                theirs is not None and theirs.uuid == self._transaction.uuid
            ):
                return meta
            if meta.version == self._attempted:
                # Another writer made this version, so the manifest sent from here did not and cannot become one.
                self._files.is_in_doubt = False
            if self._read is not None:
                self._check(meta, theirs)
            self._newest, self._checked = meta, meta.version
        return None

    def _recorded(self, manifest: ManifestFile) -> tuple[ManifestMeta, TransactionMeta | None]:
        """Read a version that others may have made, and its transaction: in one request, but for huge manifests."""
        place, limits = manifest_place(self._line, manifest.name), self._settings.limits
        with closing(manifest_source(place, manifest.size_bytes, most_bytes=_MOST_READ_AT_ONCE)) as source:
            meta = manifest_from_source(source, place, self._line, manifest.version, limits)
            try:
                return meta, read_transaction(self._line, place, meta, limits, source=source)
            except (CorruptFileError, UnsupportedError):
                # Treated as an unknown operation: refused, not passed over.
                return meta, None

    def _check(self, meta: ManifestMeta, theirs: TransactionMeta | None) -> None:
        if theirs is None:
            outcome, reason, name = Outcome.RETRYABLE, "its changes are unknown", "an operation without record"
            if self._footprint.operation == "restore":
                return
        else:
            verdict = judge(self._footprint, footprint_of(theirs.message_bytes))
            outcome, reason, name = verdict.outcome, verdict.reason, str(theirs.operation)
        if outcome is Outcome.COMPATIBLE:
            return
        raise CommitConflictError(
            f"this {self._transaction.operation} was made from version {self._read_version}, but version "
            f"{meta.version} came first ({name}): {reason}",
            ours=self._transaction,
            theirs=theirs,
            retryable=outcome is Outcome.RETRYABLE,
            path=self._line.name,
        )

    def _attempt(self, manifests: Sequence[ManifestFile]) -> ManifestMeta | None:
        """Try to make the next version; None when another writer was first."""
        version = self._checked + 1
        made = self._operation.apply(self._newest, version)
        indices = self._indices(made, manifests)
        name = self._write_transaction(made.draft.head.writer_feature_flags)
        finish(made.draft, version, name, has_indices=indices is not None)
        data = manifest_bytes(made.draft, self._transaction.message_bytes, indices)
        scheme = manifests[-1].name.scheme if manifests else NamingScheme.V2
        place = manifest_place(self._line, ManifestName(version, scheme))
        # A manifest that cannot be read back must not become the newest version.
        meta = manifest_from_bytes(data, place, self._line, version, self._settings.limits)
        if not manifests:
            make_folder(self._line.given, posixpath.join(self._line.path, VERSIONS))
        return meta if self._publish(place, version, data) else None

    def _publish(self, place: Location, version: int, data: bytes) -> bool:
        attempt = CommitAttempt(
            table=self._line.name,
            version=version,
            path=place.path,
            data=data,
            exists=lambda: file_exists(place),
            write=lambda: write_file(place, data),
        )
        # A version names files that are there.
        self._files.settle()
        # In doubt until another writer's version is seen at this number: a lost answer may have been a "yes".
        self._files.is_in_doubt = True
        self._attempted = version
        try:
            return self._strategy.publish(attempt)
        except UnsupportedError:
            self._files.is_in_doubt = False
            raise
        except OSError:
            if not file_exists(place):
                raise
            return False

    def _indices(self, made: NextVersion, manifests: Sequence[ManifestFile]) -> bytes | None:
        """Return the index section of the version that the new one takes it from, as the operation changes it."""
        section = self._stored_indices(made.indices_of, manifests)
        if made.edit_indices is None:
            return section
        message = parse(IndexSection, section or b"", what="the index section", error=CorruptManifestError)
        made.edit_indices(message)
        return message.SerializeToString() if message.indices else None

    def _stored_indices(self, source: ManifestMeta | None, manifests: Sequence[ManifestFile]) -> bytes | None:
        if source is None or source.index_position is None:
            return None
        place = manifest_place(self._line, ManifestName(source.version, manifests[-1].name.scheme))
        limits, is_sealed = self._settings.limits, source.facts.is_sealed
        try:
            return read_section(place, source.index_position, limits, is_sealed=is_sealed)
        except FileNotFoundError:
            gone = source.version
            raise VersionNotFoundError(f"version {gone} is gone", path=self._line.name, detail=gone) from None

    def _write_transaction(self, writer_flags: int) -> str:
        """Write the transaction's file, once, and return its name; empty in tables that have none."""
        if writer_flags & NO_TRANSACTION_FILES:
            return ""
        name = self._transaction_name
        if not self._has_transaction_file:
            folder = posixpath.join(self._line.path, TRANSACTIONS)
            make_folder(self._line.given, folder)
            place = self._line.at(posixpath.join(folder, name))
            self._files.add(place)
            self._files.begin(self._line, partial(write_file, place, self._transaction.message_bytes))
            self._has_transaction_file = True
        return name
