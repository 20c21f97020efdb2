"""Which files a version of a table names."""

from __future__ import annotations

import datetime
import functools
import posixpath
from dataclasses import dataclass

import numpy as np

from lance_arrow.engine import NamedFiles
from lance_arrow.errors import UnsupportedError, located
from lance_arrow.io import BufferSource, Location
from lance_arrow.manifests.base_paths import DATA, DELETIONS, TRANSACTIONS
from lance_arrow.manifests.fragments import only_files
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta, manifest_from_bytes, manifest_head
from lance_arrow.manifests.versions import VERSIONS, ManifestFile, manifest_place, read_listed
from lance_arrow.manifests.zone_indices import INDICES
from lance_arrow.proto.file_schema_pb2 import Schema
from lance_arrow.proto.reading import has_unknown, iter_unknown, parse
from lance_arrow.proto.table_pb2 import IndexSection, Manifest
from lance_arrow.settings import Limits

_NO_BASES = np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class VersionFiles:
    """What one version of a table names.

    Parameters
    ----------
    version
        Its number.
    timestamp
        Time of the commit, UTC; None if the manifest has none.
    manifest
        Path of its manifest.
    names
        Paths of its files, relative to the folder of the table that they lie in. The manifest is one of them. An index
        is named by its folder.
    """

    version: int
    timestamp: datetime.datetime | None
    manifest: str
    names: set[str]


def version_files(
    line: Location,
    manifest: ManifestFile,
    limits: Limits,
    data: memoryview | None = None,
    files: NamedFiles | None = None,
) -> VersionFiles:
    """Read which files a version names; refuse a manifest with fields that might name others.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    manifest
        The manifest.
    limits
        As for `read_manifest`.
    data
        Bytes of its file, if they were read.
    files
        Names that many manifests share: then a manifest in `data` makes no objects for its fragments.

    Raises
    ------
    UnsupportedError
        The manifest has unknown fields.
    LanceError, OSError
        As `read_manifest`, and `read_indices`.
    """
    place = manifest_place(line, manifest.name)
    if data is None:
        meta = read_listed(line, manifest, limits)
    else:
        found = None if files is None else _named(data, place, manifest.version, files, limits)
        if found is not None:
            return found
        meta = manifest_from_bytes(data, place, line, manifest.version, limits)
    indices = read_indices(line, meta, limits)
    for what, message in (
        ("the manifest", parse(Manifest, meta.message_bytes, what="the manifest")),
        ("the index section", indices),
    ):
        for holder, number in iter_unknown(message) if has_unknown(message) else ():
            raise UnsupportedError(
                f"{holder or what} has the unknown field {number}, which may name files: nothing is removed",
                path=meta.facts.manifest_path,
                detail=number,
            )
    return VersionFiles(
        version=meta.version,
        timestamp=meta.timestamp,
        manifest=_manifest_path(place),
        names=names_in(meta, indices),
    )


def _named(data: memoryview, place: Location, version: int, files: NamedFiles, limits: Limits) -> VersionFiles | None:
    """Return what a version names; None for a manifest that is to be read as a whole.

    Such a manifest has indices, base paths, unknown fields, or fragments in an unusual form.
    """
    with located(path=place.name):
        head = manifest_head(BufferSource(data), limits)
        message = head.message
        if head.places is None or message.HasField("index_section") or message.base_paths:
            return None
        names = files.of(head.body, head.places, head.trusts_counts, head.ids_below, _NO_BASES)
        if names is None:
            return None
        # Nothing is removed if a manifest is wrong.
        head.check(version)
        if _is_known(head.schema):
            message.ClearField("fields")
        if has_unknown(message):
            return None
        own = _manifest_path(place)
        names.add(own)
        if message.transaction_file:
            names.add(f"{TRANSACTIONS}/{message.transaction_file}")
        return VersionFiles(version=version, timestamp=head.timestamp, manifest=own, names=names)


def _manifest_path(place: Location) -> str:
    return f"{VERSIONS}/{posixpath.basename(place.path)}"


@functools.lru_cache(maxsize=4)
def _is_known(schema: bytes) -> bool:
    """Return whether a Schema has no unknown fields: many versions have the same one."""
    return not has_unknown(parse(Schema, schema, what="the schema"))


def names_in(manifest: ManifestMeta, indices: IndexSection) -> set[str]:
    """Return the paths of the files that a version names, relative to the folder of the table that they lie in.

    An index is named by its folder; `indices` is the version's index section.
    """
    found = {f"{VERSIONS}/{posixpath.basename(manifest.facts.manifest_path)}"}
    paths = only_files(manifest.fragments, f"{DATA}/")
    found.update(filter(None, paths))
    for number in [number for number, path in enumerate(paths) if path is None] if None in paths else ():
        fragment = manifest.fragments[number]
        found.update(f"{DATA}/{file.path}" for file in fragment.files)
        if fragment.deletion is not None:
            found.add(f"{DELETIONS}/{fragment.deletion.name}")
    if manifest.transaction_file:
        found.add(f"{TRANSACTIONS}/{manifest.transaction_file}")
    for index in indices.indices:
        text = index.uuid.uuid.hex()
        name = "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
        found.add(posixpath.join(INDICES, name))
    return found
