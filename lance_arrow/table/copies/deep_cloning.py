"""Deep clones: tables of their own, to which the files of one version were copied.

Data files, deletion files, folders of large blobs and indices keep their names. So do files of other tables, which the
version of a shallow clone names. The first manifest has the number of the version, and no base paths.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from lance_arrow.errors import CorruptManifestError, MissingFileError, UnsupportedError
from lance_arrow.io import AnyFileSystem, Location, list_sizes, open_sink, open_source, redact, sync_files
from lance_arrow.manifests.base_paths import DATA, DELETIONS
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.manifests.zone_indices import INDICES, uuid_text
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.runtime import default_runtime
from lance_arrow.table.copies.cloning import CloneSource, clone_transaction, commit_first, refuse_existing
from lance_arrow.table.writable_branch import WritableBranch
from lance_arrow.table.written_files import LARGE_WRITES, WrittenFiles

_COPIED_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class _Copy:
    """A file to copy.

    Parameters
    ----------
    path
        On the filesystem of the source.
    name
        Below the folder of the new table.
    size_bytes
        Its size if the manifest tells it.
    """

    path: str
    name: str
    size_bytes: int | None = None


def deep_clone(
    source: CloneSource,
    target: WritableBranch,
    *,
    allow_external_bases: bool,
    message: str | None,
) -> ManifestMeta:
    """Copy a version, and commit it as the first version of a table.

    Parameters
    ----------
    source
        The version.
    target
        The new table's main branch.
    allow_external_bases
        Whether files are copied that lie outside of the folder that holds the source.
    message
        Text for the history.

    Raises
    ------
    TableExistsError
        There is a table already; also when another writer was first.
    MissingFileError
        A file that the manifest names does not exist.
    CorruptManifestError
        A file has not the size that the manifest says.
    UnsupportedError
        Something of the version is not known here. Files lie where they are not followed, or two of them have one name.
    """
    refuse_existing(target.root)
    indices = read_indices(source.line, source.manifest, source.limits)
    copies = _copies(source, indices, allow_external_bases=allow_external_bases)
    by_name: dict[str, _Copy] = {}
    for one in copies:
        other = by_name.setdefault(one.name, one)
        if other.path != one.path:
            raise UnsupportedError(
                f"two files of the version, in different folders, have the name {one.name!r}; a table cannot hold both",
                path=source.manifest.facts.manifest_path,
                detail=one.name,
            )
    filesystem = source.line.filesystem
    with WrittenFiles() as files:
        for one in by_name.values():
            files.folder(target.root, posixpath.dirname(one.name))

        for one in by_name.values():
            place = target.root.at(posixpath.join(target.root.path, one.name))
            files.add(place)
            copy = partial(_copy_file, filesystem, one, place, source.manifest.facts.manifest_path)
            files.begin(target.root, copy, most=LARGE_WRITES)
        files.settle()
        if target.durability == "fsync":
            sync_files(files.places)
        draft = editable(source.manifest)
        for fragment in draft.fragments:
            check_fragment_known(fragment, source.manifest.facts.manifest_path)
            for file in fragment.files:
                file.ClearField("base_id")
            if fragment.HasField("deletion_file"):
                fragment.deletion_file.ClearField("base_id")
            draft.fragments.put(fragment)
        draft.head.ClearField("base_paths")
        draft.head.ClearField("branch")
        for index in indices.indices:
            index.ClearField("base_id")
        transaction = clone_transaction(source, message, is_shallow=False)
        return commit_first(source, target.root, target.strategy, draft, indices, transaction, files)


def _copies(source: CloneSource, indices: IndexSection, *, allow_external_bases: bool) -> Iterator[_Copy]:
    """List the files of a version."""
    facts, filesystem = source.manifest.facts, source.line.filesystem
    sidecars: list[tuple[str, str]] = []
    for fragment in source.manifest.fragments:
        for file in fragment.files:
            path = facts.data_path(file, allow_external_bases=allow_external_bases)
            yield _Copy(path, posixpath.join(DATA, file.path), file.size_bytes)
            # A folder with the name of the data file holds the bytes of its large blobs.
            sidecars.append((path.removesuffix(".lance"), posixpath.join(DATA, file.path[: -len(".lance")])))
        if fragment.deletion is not None:
            path = facts.deletion_path(fragment.deletion, allow_external_bases=allow_external_bases)
            yield _Copy(path, posixpath.join(DELETIONS, fragment.deletion.name))
    listed = default_runtime().each(
        lambda one: _folder(filesystem, *one), sidecars, is_far=not Location(filesystem, "").is_local
    )
    for found in listed:
        yield from found
    for index in indices.indices:
        base_id = index.base_id if index.HasField("base_id") else None
        uuid = uuid_text(index.uuid.uuid)
        folder = facts.index_folder(base_id, uuid, allow_external_bases=allow_external_bases)
        yield from _folder(filesystem, folder, posixpath.join(INDICES, uuid))


def _folder(filesystem: AnyFileSystem, path: str, name: str) -> list[_Copy]:
    found = sorted(list_sizes(filesystem, path).items())
    return [_Copy(posixpath.join(path, file), posixpath.join(name, file), size_bytes) for file, size_bytes in found]


def _copy_file(filesystem: AnyFileSystem, one: _Copy, place: Location, manifest_path: str) -> None:
    """Copy a file in pieces."""
    try:
        source = open_source(Location(filesystem, one.path))
    except FileNotFoundError as error:
        raise MissingFileError(
            f"the manifest {manifest_path!r} names the file {redact(one.path)!r}, which is not there", path=one.path
        ) from error
    try:
        size = source.size()
        if one.size_bytes is not None and size != one.size_bytes:
            raise CorruptManifestError(
                f"the file has {size} bytes, the manifest {manifest_path!r} says {one.size_bytes}", path=source.name
            )
        with open_sink(place) as sink:
            for start in range(0, size, _COPIED_BYTES):
                (piece,) = source.read(np.array([start]), np.array([min(start + _COPIED_BYTES, size)]))
                sink.write(piece)
    finally:
        source.close()
