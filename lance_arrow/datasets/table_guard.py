"""Data files that belong to a table: refused with a sentence until tables are read exactly.

A table directory holds files of old versions and deleted rows; read as a bag of files it would give wrong rows.
"""

from __future__ import annotations

import posixpath
import struct

import numpy as np

from lance_arrow.datasets.handler import FilePlace
from lance_arrow.errors import CorruptManifestError, UnsupportedError, UnsupportedFeatureFlagError, located
from lance_arrow.io import AnyFileSystem, RangeSource, list_names, open_source
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import Manifest

# Deletion files, stable row ids, (2.x files,) config, base paths, inline transactions: spec of the table format, 6.
_KNOWN_READER_FLAGS = 0b111111
_FOOTER = struct.Struct("<QHH4s")
_MAX_MANIFEST_BYTES = 1 << 30


def refuse_table_file(place: FilePlace) -> None:
    """Raise when the file is a data file of a table: it lies in ``data/`` beside ``_versions/``.

    Raises
    ------
    UnsupportedFeatureFlagError, UnsupportedError, CorruptManifestError
        As `refuse_table`.
    """
    folder = posixpath.dirname(place.path)
    if place.filesystem is not None and posixpath.basename(folder) == "data":
        refuse_table(place.filesystem, posixpath.dirname(folder))  # type: ignore[arg-type]


def refuse_table(filesystem: AnyFileSystem, root: str) -> None:
    """Raise when the directory is a table.

    Raises
    ------
    UnsupportedFeatureFlagError
        The newest manifest demands a reader feature that is unknown here.
    UnsupportedError
        Any other table.
    CorruptManifestError
        The newest manifest contradicts itself.
    """
    versions = posixpath.join(root, "_versions")
    manifests = [name for name in list_names(filesystem, versions) if name.endswith(".manifest")]
    if not manifests:
        return
    path = posixpath.join(versions, max(manifests, key=_version_of))
    with located(path=path):
        source = open_source(path, filesystem=filesystem)
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
        "this is a Lance table: its directory also holds rows of old versions and deleted rows, so that reading the "
        "files as they lie would give wrong rows; tables cannot be read yet",
        path=root,
    )


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
