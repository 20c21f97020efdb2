"""Data files that belong to a table: refused with a sentence until tables are read exactly.

A table directory holds files of old versions and deleted rows; read as a bag of files it would give wrong rows.
"""

from __future__ import annotations

import posixpath
import struct

import numpy as np

from lance_arrow.datasets.handler import FilePlace
from lance_arrow.errors import CorruptManifestError, UnsupportedError, UnsupportedFeatureFlagError, located
from lance_arrow.io import RangeSource, list_names, open_source
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import Manifest

# Deletion files, stable row ids, (2.x files,) config, base paths, inline transactions: spec of the table format, 6.
_KNOWN_READER_FLAGS = 0b111111
_FOOTER = struct.Struct("<QHH4s")
_MAX_MANIFEST_BYTES = 1 << 30


def refuse_table_file(place: FilePlace) -> None:
    """Raise when the file is a data file of a table.

    Raises
    ------
    UnsupportedFeatureFlagError
        The newest manifest demands a reader feature that is unknown here.
    UnsupportedError
        Any other table.
    CorruptManifestError
        The newest manifest contradicts itself.
    """
    root = _table_root(place)
    if root is None:
        return
    versions = posixpath.join(root, "_versions")
    manifests = [name for name in _names(place.filesystem, versions) if name.endswith(".manifest")]
    if not manifests:
        return
    newest = max(manifests, key=_version_of)
    path = posixpath.join(versions, newest)
    with located(path=path):
        source = open_source(path, filesystem=place.filesystem)
        try:
            flags = _read_manifest(source).reader_feature_flags
        finally:
            source.close()
        unknown = flags & ~_KNOWN_READER_FLAGS
        if unknown:
            raise UnsupportedFeatureFlagError(
                f"the table demands reader features {unknown:#x} that are unknown here", detail=unknown
            )
    raise UnsupportedError(
        "this is a data file of a Lance table, whose directory also holds rows of old versions; tables cannot be read "
        "yet, and reading the files as they lie would give wrong rows",
        path=place.path,
    )


def _table_root(place: FilePlace) -> str | None:
    """The folder above ``data/`` (files of a table lie there), None for other files and buffers."""
    folder = posixpath.dirname(place.path)
    if place.filesystem is None or posixpath.basename(folder) != "data":
        return None
    return posixpath.dirname(folder)


def _names(filesystem: object, folder: str) -> list[str]:
    return list_names(filesystem, folder)  # type: ignore[arg-type]


def _version_of(name: str) -> int:
    """Version in a manifest's name: decimal, or counted down from the largest u64 in 20 digits; -1 for other names."""
    stem = name.removesuffix(".manifest")
    if not stem.isdecimal():
        return -1
    return (1 << 64) - 1 - int(stem) if len(stem) == 20 else int(stem)


def _read_manifest(source: RangeSource) -> Manifest:
    size = source.size()
    if size < _FOOTER.size:
        raise CorruptManifestError(f"a manifest has {size} bytes, expected at least {_FOOTER.size}")
    position, _, _, magic = _FOOTER.unpack(_read(source, size - _FOOTER.size, size))
    if magic != b"LANC" or position + 4 + _FOOTER.size > size:
        raise CorruptManifestError("a manifest does not end with its position and LANC")
    body = _read(source, position, size - _FOOTER.size)
    (length,) = struct.unpack_from("<I", body)
    if length + 4 != len(body):
        raise CorruptManifestError(f"a manifest declares {length} bytes, {len(body) - 4} are there")
    return parse(Manifest, body[4:], what="the manifest", error=CorruptManifestError, max_bytes=_MAX_MANIFEST_BYTES)


def _read(source: RangeSource, start: int, stop: int) -> bytes:
    (data,) = source.read(np.array([start]), np.array([stop]))
    return data.tobytes()
