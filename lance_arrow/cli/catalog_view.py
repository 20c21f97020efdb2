"""Report of `table list`: the tables of a catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lance_arrow.catalogs.lance_catalog import LanceCatalog
from lance_arrow.catalogs.opening import catalog
from lance_arrow.errors import LanceError, TableNotFoundError
from lance_arrow.manifests.path_kinds import PathKind, kind_of
from lance_arrow.manifests.versions import table_location


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedTable:
    """One table; version, rows and columns are None where `error` says why it cannot be opened."""

    name: str
    version: int | None = None
    num_rows: int | None = None
    num_columns: int | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReport:
    """Tables of a catalog, by name."""

    path: str
    tables: list[ListedTable]


def list_tables(uri: str, *, storage_options: Mapping[str, Any] | None = None) -> CatalogReport:
    """List the tables of a folder; one that cannot be opened is listed with its error.

    Raises
    ------
    TableNotFoundError
        The path is no folder, or it is itself a table.
    LanceError, OSError
        As `LanceCatalog.list_tables`.
    """
    place = table_location(uri, storage_options=storage_options)
    found = catalog(uri, storage_options=storage_options)
    names = found.list_tables()
    kind = PathKind.FOLDER if names else kind_of(place)
    if kind is PathKind.TABLE:
        raise TableNotFoundError(
            "this is a table, expected a folder of tables; table show shows one table", path=place.name
        )
    if kind is PathKind.FILE:
        raise TableNotFoundError("there is no folder here", path=place.name)
    return CatalogReport(path=found.uri, tables=[_listed(found, name) for name in names])


def _listed(found: LanceCatalog, name: str) -> ListedTable:
    try:
        table = found.open_table(name)
        return ListedTable(name=name, version=table.version, num_rows=table.count_rows(), num_columns=len(table.schema))
    except (LanceError, OSError) as error:
        return ListedTable(name=name, error=str(error))
