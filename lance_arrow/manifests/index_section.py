"""The indices of a version, as its manifest's file lists them."""

from __future__ import annotations

from lance_arrow.errors import CorruptManifestError, MissingFileError, located
from lance_arrow.io import Location
from lance_arrow.manifests.manifest import ManifestMeta, read_section
from lance_arrow.manifests.names import names_of
from lance_arrow.manifests.versions import manifest_place
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import IndexSection
from lance_arrow.settings import Limits


def read_indices(line: Location, manifest: ManifestMeta, limits: Limits) -> IndexSection:
    """Read the indices of a version; none where it has none.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    manifest
        The version.
    limits
        `max_metadata_bytes` bounds the section.

    Raises
    ------
    CorruptManifestError
        The section is damaged.
    MissingFileError
        The manifest is gone: a cleanup removed the version.
    """
    if manifest.index_position is None:
        return IndexSection()
    for name in names_of(manifest.version):
        place = manifest_place(line, name)
        try:
            data = read_section(place, manifest.index_position, limits, is_sealed=manifest.facts.is_sealed)
        except FileNotFoundError:
            continue
        with located(path=place.name):
            return parse(
                IndexSection,
                data,
                what="the index section",
                error=CorruptManifestError,
                max_bytes=limits.max_metadata_bytes,
            )
    path = manifest.facts.manifest_path
    raise MissingFileError(f"the manifest of version {manifest.version} is gone", path=path, detail=manifest.version)
