"""`catalog`: a folder as a catalog."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from lance_arrow.catalogs.lance_catalog import LanceCatalog
from lance_arrow.io import AnyFileSystem, is_local_kind
from lance_arrow.manifests.versions import table_location


def catalog(
    root: str | os.PathLike[str],
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> LanceCatalog:
    """Open a folder as a catalog of tables; nothing is read or created yet.

    Parameters
    ----------
    root
        Folder that holds the tables as ``NAME.lance``: local path or URL.
    filesystem, storage_options
        fsspec or pyarrow filesystem of the path, or store of obstore; options for the filesystem of a URL.

    Raises
    ------
    InvalidArgumentError
        The path, or the filesystem, is not valid.

    Examples
    --------
    >>> flights = lance_arrow.catalog("warehouse")
    >>> table = flights.create_table("flights", pyarrow.table({"id": [1, 2]}))
    >>> flights.list_tables(), flights.open_table("flights").count_rows()
    (['flights'], 2)
    """
    place = table_location(root, filesystem, storage_options)
    # Engines may run in another folder: Spark has its own.
    return LanceCatalog(place, place.path if is_local_kind(place.given) else os.fspath(root))
