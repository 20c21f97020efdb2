"""Which files a version of a table names."""

from __future__ import annotations

import functools
import posixpath

from lance_arrow.engine import split_manifest
from lance_arrow.errors import UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.base_paths import DATA, DELETIONS, TRANSACTIONS
from lance_arrow.manifests.fragments import FragmentList, only_files
from lance_arrow.manifests.index_section import read_indices
from lance_arrow.manifests.manifest import ManifestMeta, manifest_from_bytes
from lance_arrow.manifests.versions import VERSIONS, ManifestFile, manifest_place, read_listed
from lance_arrow.manifests.zone_indices import INDICES
from lance_arrow.proto.file_schema_pb2 import Schema
from lance_arrow.proto.reading import has_unknown, iter_unknown, parse
from lance_arrow.proto.table_pb2 import IndexSection, Manifest
from lance_arrow.settings import Limits


def read_named(
    line: Location, manifest: ManifestFile, limits: Limits, data: memoryview | None = None
) -> tuple[ManifestMeta, set[str]]:
    """Read a manifest of which everything is known that might name a file, and the names of these."""
    if data is None:
        meta = read_listed(line, manifest, limits)
    else:
        meta = manifest_from_bytes(data, manifest_place(line, manifest.name), line, manifest.version, limits)
    indices = read_indices(line, meta, limits)
    for what, message in (("the manifest", _unproved(meta)), ("the index section", indices)):
        if not has_unknown(message):
            continue
        for holder, number in iter_unknown(message):
            raise UnsupportedError(
                f"{holder or what} has the unknown field {number}, which may name files: nothing is removed",
                path=meta.facts.manifest_path,
                detail=number,
            )
    return meta, names_in(meta, indices)


def _unproved(meta: ManifestMeta) -> Manifest:
    """Return the message of a manifest; without fragments and fields that are known to be known."""
    fragments = meta.fragments
    split = split_manifest(meta.message_bytes)
    if split is None or not isinstance(fragments, FragmentList) or not fragments.is_plain.all():
        return parse(Manifest, meta.message_bytes, what="the manifest")
    head, schema, _ = split
    message = parse(Manifest, head, what="the manifest")
    if _is_known(schema):
        message.ClearField("fields")
    return message


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
