"""Shallow clones and branches: they begin with a version of another table or branch, and copy no data file.

The first manifest is that of the source, with the source's number. It names the source's folder as the base path of
every inherited file and index. Files that are written later lie in the folder of the clone or branch.
"""

from __future__ import annotations

import posixpath
import uuid
from dataclasses import dataclass

from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem
from pyarrow import fs as arrow_fs

from lance_arrow.errors import InvalidArgumentError, TableExistsError, UnsupportedError
from lance_arrow.io import Location, file_exists, make_folder, write_file
from lance_arrow.manifests.base_paths import TRANSACTIONS
from lance_arrow.manifests.draft import ManifestDraft
from lance_arrow.manifests.feature_flags import NO_TRANSACTION_FILES
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta, manifest_from_bytes, read_manifest
from lance_arrow.manifests.names import ManifestName, NamingScheme
from lance_arrow.manifests.table_facts import protocols_of
from lance_arrow.manifests.versions import VERSIONS, is_table, manifest_place
from lance_arrow.manifests.writing import check_fragment_known, editable, finish, manifest_bytes
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.settings import Limits
from lance_arrow.spi.commits import CommitAttempt, CommitStrategy
from lance_arrow.table.transactions import MESSAGE_KEY
from lance_arrow.table.written_files import WrittenFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneSource:
    """A version that a line begins with.

    Parameters
    ----------
    line
        Folder of the line that the version is of.
    manifest
        The version.
    limits
        For what is read.
    """

    line: Location
    manifest: ManifestMeta
    limits: Limits


def clone_version(
    source: CloneSource, target: Location, strategy: CommitStrategy, *, branch: str | None, message: str | None
) -> ManifestMeta:
    """Make the first version of a line.

    Parameters
    ----------
    source
        What it begins with.
    target
        Folder of the new line.
    strategy
        How versions are made there.
    branch
        Its name, if it is a branch.
    message
        What the history is to say of it.

    Raises
    ------
    TableExistsError
        There is a table, or a branch, already; also when another writer was first.
    UnsupportedError
        It lies on another filesystem; something of the version is not known here.
    """
    _check_places(source.line, target)
    refuse_existing(target)
    path = spelled(source.line)
    draft = editable(source.manifest)
    body = draft.head
    if branch is None:
        body.ClearField("branch")
    else:
        body.branch = branch
    base_id = max((base.id for base in body.base_paths), default=-1) + 1
    body.base_paths.add(id=base_id, is_dataset_root=True, path=path)
    _point_at(draft, base_id, source.manifest.facts.manifest_path)
    indices = read_indices(source.line, source.manifest, source.limits)
    for index in indices.indices:
        if not index.HasField("base_id"):
            index.base_id = base_id
    transaction = clone_transaction(source, message, is_shallow=True)
    if branch is not None:
        transaction.clone.branch_name = branch
    with WrittenFiles() as files:
        return commit_first(source, target, strategy, draft, indices, transaction, files)


def refuse_existing(target: Location) -> None:
    """Raise `TableExistsError` if there is a table already."""
    if is_table(target):
        raise TableExistsError("there is a table here already", path=target.name)


def clone_transaction(source: CloneSource, message: str | None, *, is_shallow: bool) -> Transaction:
    """Return the record of a clone."""
    version = source.manifest.version
    transaction = Transaction(read_version=version, uuid=str(uuid.uuid4()))
    transaction.clone.is_shallow = is_shallow
    transaction.clone.ref_version = version
    transaction.clone.ref_path = spelled(source.line)
    if message is not None:
        transaction.transaction_properties[MESSAGE_KEY] = message
    return transaction


def commit_first(
    source: CloneSource,
    target: Location,
    strategy: CommitStrategy,
    draft: ManifestDraft,
    indices: IndexSection,
    transaction: Transaction,
    files: WrittenFiles,
) -> ManifestMeta:
    """Commit the first version of a clone.

    Parameters
    ----------
    source, target, strategy
        As for `clone_version`.
    draft, indices, transaction
        The version, which gets the number of the source's.
    files
        Removed again if there is no commit.

    Raises
    ------
    TableExistsError
        Another writer was first.
    """
    version, record = source.manifest.version, transaction.SerializeToString(deterministic=True)
    name = "" if draft.head.writer_feature_flags & NO_TRANSACTION_FILES else f"{version}-{transaction.uuid}.txn"
    if name:
        place = target.at(posixpath.join(files.folder(target, TRANSACTIONS), name))
        files.add(place)
        write_file(place, record)
    finish(draft, version, name, has_indices=bool(indices.indices))
    data = manifest_bytes(draft, record, indices.SerializeToString() if indices.indices else None)
    return _publish(target, version, data, strategy, files, source.limits)


def _publish(
    target: Location, version: int, data: bytes, strategy: CommitStrategy, files: WrittenFiles, limits: Limits
) -> ManifestMeta:
    place = manifest_place(target, ManifestName(version, NamingScheme.V2))
    meta = manifest_from_bytes(data, place, target, version, limits)
    make_folder(target.given, posixpath.join(target.path, VERSIONS))
    attempt = CommitAttempt(
        table=target.name,
        version=version,
        path=place.path,
        data=data,
        exists=lambda: file_exists(place),
        write=lambda: write_file(place, data),
    )
    files.is_in_doubt = True
    try:
        is_made = strategy.publish(attempt)
    except UnsupportedError:
        files.is_in_doubt = False
        raise
    # If an answer was lost, the existing file may be ours.
    is_made = is_made or read_manifest(place, target, version, limits=limits).message_bytes == meta.message_bytes
    files.is_in_doubt = False
    if not is_made:
        raise TableExistsError("there is a table here already", path=target.name)
    return meta


def _point_at(draft: ManifestDraft, base_id: int, path: str) -> None:
    for fragment in draft.fragments:
        check_fragment_known(fragment, path)
        for file in fragment.files:
            if not file.HasField("base_id"):
                file.base_id = base_id
        if fragment.HasField("deletion_file") and not fragment.deletion_file.HasField("base_id"):
            fragment.deletion_file.base_id = base_id
        draft.fragments.put(fragment)


def _check_places(source: Location, target: Location) -> None:
    if not set(protocols_of(source.filesystem)) & set(protocols_of(target.filesystem)):
        raise UnsupportedError(
            f"a clone must lie on the filesystem of its source {source.name!r}, whose files it reads", path=target.name
        )
    if posixpath.normpath(source.path) == posixpath.normpath(target.path):
        raise InvalidArgumentError("a table cannot be a clone of itself", path=target.name)


def spelled(place: Location) -> str:
    """Return a place as manifests name it: a local path as it is, a URL elsewhere."""
    filesystem = place.filesystem
    if isinstance(filesystem, LocalFileSystem) or "://" in place.path:
        return place.path
    if isinstance(filesystem, arrow_fs.FileSystem):
        return f"{filesystem.type_name}://{place.path}"
    assert isinstance(filesystem, AbstractFileSystem)
    found: str = filesystem.unstrip_protocol(place.path)
    return found
