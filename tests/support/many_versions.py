"""Tables of very many versions: the manifests of the older ones are stand-ins that are never read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from lance_arrow import LanceTable
from lance_arrow.io import Location
from lance_arrow.manifests.names import ManifestName, NamingScheme
from lance_arrow.manifests.versions import VERSIONS, VersionChoice, open_version
from lance_arrow.manifests.writing import editable, finish, manifest_bytes


def table_of_versions(folder: Path, num_versions: int, rows: pa.Table) -> None:
    """Write a table whose newest version has this number."""
    LanceTable.create(folder, rows)
    first = open_version(Location(None, str(folder)), VersionChoice())
    versions = folder / VERSIONS
    for number in range(2, num_versions):
        (versions / str(ManifestName(number, NamingScheme.V2))).write_bytes(b"old")
    draft = editable(first)
    finish(draft, num_versions, "", has_indices=False)
    data = manifest_bytes(draft, b"", None)
    (versions / str(ManifestName(num_versions, NamingScheme.V2))).write_bytes(data)
