"""Tables that a catalog's own table `__manifest` names (the second version of the specification): read only."""

from __future__ import annotations

import posixpath

from lance_arrow.errors import CorruptManifestError, UnsupportedError
from lance_arrow.io import Location
from lance_arrow.manifests.versions import is_table
from lance_arrow.table.lance_table import LanceTable

MANIFEST = "__manifest"
_COLUMNS = ("object_id", "object_type", "location")


def registered_tables(root: Location) -> dict[str, str]:
    """Return locations, relative to the root, by the names of registered tables; empty without `__manifest`.

    Source: columns `object_id`, `object_type`, `location` of the directory catalog's manifest table. Namespaces and
    name of a nested table are joined by ``$``.

    Raises
    ------
    CorruptManifestError
        The table lacks one of these columns, or a table has no location.
    LanceError, OSError
        As `LanceTable.open` and `LanceTable.to_table`.
    """
    place = Location(root.given, posixpath.join(root.path, MANIFEST))
    if not is_table(place):
        return {}
    manifest = LanceTable.open(place.path, filesystem=place.filesystem)
    lacked = [name for name in _COLUMNS if name not in manifest.schema.names]
    if lacked:
        raise CorruptManifestError(f"the table {MANIFEST} of a catalog lacks the columns {lacked}", path=place.name)
    rows = manifest.to_table(columns=list(_COLUMNS), filter=[("object_type", "=", "table")]).to_pylist()
    for row in rows:
        if row["location"] is None:
            raise CorruptManifestError(f"the table {row['object_id']!r} has no location", path=place.name)
    return {row["object_id"]: row["location"] for row in rows}


def check_inside(location: str, name: str, root: Location) -> None:
    """Refuse a location that may lead out of the root.

    Raises
    ------
    UnsupportedError
        It is absolute, a URL, or holds ``..``.
    """
    if "://" in location or location.startswith("/") or ".." in location.split("/"):
        raise UnsupportedError(
            f"the table {name!r} is registered at {location!r}, outside of the catalog; open it by its path",
            path=root.name,
            detail=location,
        )
