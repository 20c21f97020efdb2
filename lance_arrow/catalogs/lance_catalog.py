"""`LanceCatalog`: tables by name in a folder.

ROOT/NAME.lance/                       a table
ROOT/NAME.lance/.lance-deregistered    a table that is not listed any more; its data stay
ROOT/NAME.lance/.lance-reserved        a name that is taken; there may be no table yet
ROOT/__manifest/                       a table of tables, also nested ones; its rows come before folders

Source: the directory catalog of the Lance namespace specification, versions 1 (folders) and 2 (`__manifest`).
"""

from __future__ import annotations

import datetime
import posixpath
import re
from typing import Any

import pyarrow as pa

from lance_arrow.catalogs.registered import MANIFEST, check_inside, registered_tables
from lance_arrow.choices import FileVersionName
from lance_arrow.errors import (
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    did_you_mean,
)
from lance_arrow.io import Location, list_folders, list_names, list_tree, remove_file, remove_tree, write_file
from lance_arrow.manifests.versions import is_table
from lance_arrow.table.lance_table import LanceTable

ENDING = ".lance"
_DEREGISTERED, _RESERVED = ".lance-deregistered", ".lance-reserved"
_NAME = re.compile(r"[\w-][\w.-]*")


class LanceCatalog:
    """Tables by name in a folder. The folder is read at each call; `lance_arrow.catalog` makes one.

    Parameters
    ----------
    root
        The folder.
    uri
        The folder as it was given; an absolute path if it is local.

    Examples
    --------
    >>> catalog = lance_arrow.catalog("warehouse")
    >>> catalog.list_tables()
    []
    """

    def __init__(self, root: Location, uri: str) -> None:
        self._root = root
        self._uri = uri

    @property
    def uri(self) -> str:
        """Path or URL of the folder, free of credentials."""
        return self._root.name

    def list_tables(self) -> list[str]:
        """Return the names of all tables, sorted.

        Names of nested tables are the namespaces and the name, joined by ``$``. Tables that are declared but not
        created are listed too, as the specification asks; deregistered ones are not.

        Raises
        ------
        LanceError, OSError
            `__manifest` cannot be read, or the folder cannot be listed.
        """
        found = set(registered_tables(self._root))
        for folder in list_folders(self._root.given, self._root.path):
            name = folder.removesuffix(ENDING)
            if folder.endswith(ENDING) and name and name not in found and self._is_listed(self._folder(folder)):
                found.add(name)
        return sorted(found)

    def table_exists(self, name: str) -> bool:
        """Return whether `list_tables` has a name, without listing the folder.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> catalog.table_exists("flights")
        False
        """
        if name in registered_tables(self._root):
            return True
        # Others may have made names that are not created here, but a name never leads to another folder.
        is_one_part = bool(name) and not {"/", "\\"} & set(name)
        return is_one_part and self._is_listed(self._folder(name + ENDING))

    def table_uri(self, name: str) -> str:
        """Return the absolute path or the URL of a table, for functions and engines that take one.

        Raises
        ------
        TableNotFoundError
            There is no such table; the message lists the existing ones.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> table = catalog.create_table("flights", pyarrow.table({"id": [1, 2]}))
        >>> lance_arrow.dataset(catalog.table_uri("flights")).count_rows()
        2
        """
        return posixpath.join(self._uri, self._location(name))

    def open_table(
        self,
        name: str,
        *,
        version: int | None = None,
        tag: str | None = None,
        as_of: datetime.datetime | datetime.date | str | None = None,
        branch: str | None = None,
    ) -> LanceTable:
        """Open a table.

        Parameters
        ----------
        name
            Its name.
        version, tag, as_of, branch
            As for `LanceTable.open`.

        Raises
        ------
        TableNotFoundError
            There is no such table, or it is declared but not created.
        UnsupportedError
            `__manifest` names a place outside of the catalog.
        LanceError, OSError
            As `LanceTable.open`.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> table = catalog.create_table("flights", pyarrow.table({"id": [1, 2]}))
        >>> catalog.open_table("flights", version=1).count_rows()
        2
        """
        place = self._place(name)
        if _RESERVED in list_names(place.given, place.path) and not is_table(place):
            raise TableNotFoundError(f"the table {name!r} is declared, but not created", path=place.name, detail=name)
        return LanceTable.open(
            place.path, filesystem=place.filesystem, version=version, tag=tag, as_of=as_of, branch=branch
        )

    def create_table(
        self,
        name: str,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        file_version: FileVersionName | None = None,
        message: str | None = None,
    ) -> LanceTable:
        """Create a table in the folder ``NAME.lance``. No row of `__manifest` is made for it.

        Parameters
        ----------
        name
            Letters, digits, ``_``, ``-`` and, not at the start, ``.``.
        data, schema, file_version, message
            As for `LanceTable.create`, which has more options.

        Raises
        ------
        TableExistsError
            There is such a table, or a deregistered one.
        InvalidArgumentError
            The name is not valid.
        LanceError, OSError
            As `LanceTable.create`.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> catalog.create_table("flights", pyarrow.table({"id": [1, 2]})).version
        1
        """
        place = self._own_place(name)
        if _DEREGISTERED in list_names(place.given, place.path):
            raise TableExistsError(
                f"the table {name!r} is deregistered: register_table lists it again, drop_table removes it",
                path=place.name,
            )
        return LanceTable.create(
            place.path,
            data,
            schema=schema,
            file_version=file_version,
            message=message,
            filesystem=place.filesystem,
        )

    def drop_table(self, name: str) -> None:
        """Remove a table and all its files, also a deregistered one.

        If this fails midway, call it again. Shallow clones of the table lose their rows.

        Raises
        ------
        TableNotFoundError
            There is no such table.
        UnsupportedError
            `__manifest` names the table.
        OSError
            A file cannot be removed.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> table = catalog.create_table("flights", pyarrow.table({"id": [1, 2]}))
        >>> catalog.drop_table("flights")
        >>> catalog.list_tables()
        []
        """
        place = self._own_place(name)
        if not list_tree(place.filesystem, place.path):
            raise self._absent(name)
        remove_tree(place.filesystem, place.path)

    def deregister_table(self, name: str) -> None:
        """Take a table out of the catalog; its files stay, and it can be opened by its path.

        Raises
        ------
        TableNotFoundError
            There is no such table, or it is deregistered already.
        UnsupportedError
            `__manifest` names the table.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> table = catalog.create_table("flights", pyarrow.table({"id": [1, 2]}))
        >>> catalog.deregister_table("flights")
        >>> catalog.list_tables()
        []
        """
        place = self._own_place(name)
        if not self._is_listed(place):
            raise self._absent(name)
        write_file(_file(place, _DEREGISTERED), b"")

    def register_table(self, name: str) -> None:
        """List a deregistered table again.

        Raises
        ------
        TableNotFoundError
            There is no deregistered table of this name.
        UnsupportedError
            `__manifest` names the table.

        Examples
        --------
        >>> catalog = lance_arrow.catalog("warehouse")
        >>> table = catalog.create_table("flights", pyarrow.table({"id": [1, 2]}))
        >>> catalog.deregister_table("flights")
        >>> catalog.register_table("flights")
        >>> catalog.list_tables()
        ['flights']
        """
        place = self._own_place(name)
        if _DEREGISTERED not in list_names(place.given, place.path):
            raise TableNotFoundError(f"there is no deregistered table {name!r}", path=self._root.name, detail=name)
        remove_file(_file(place, _DEREGISTERED))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri!r})"

    def _folder(self, relative: str) -> Location:
        return _file(self._root, relative)

    def _place(self, name: str) -> Location:
        return self._folder(self._location(name))

    def _location(self, name: str) -> str:
        """Return the folder of a table that is listed, relative to the root."""
        location = registered_tables(self._root).get(name)
        if location is not None:
            check_inside(location, name, self._root)
            return location
        if not self.table_exists(name):
            raise self._absent(name)
        return name + ENDING

    def _own_place(self, name: str) -> Location:
        """Return the folder of a name that only folders know: rows of `__manifest` are not changed."""
        if not isinstance(name, str) or _NAME.fullmatch(name) is None:
            raise InvalidArgumentError(
                f"{name!r} is no name of a table: use letters, digits, '_', '-' and, not at the start, '.'",
                path=self._root.name,
                detail=name,
            )
        if name in registered_tables(self._root):
            raise UnsupportedError(
                f"the table {name!r} is registered in {MANIFEST}, which is read but not changed: "
                "use the client that registered it",
                path=self._root.name,
                detail=name,
            )
        return self._folder(name + ENDING)

    def _is_listed(self, place: Location) -> bool:
        names = list_names(place.given, place.path)
        return _DEREGISTERED not in names and (_RESERVED in names or is_table(place))

    def _absent(self, name: str) -> TableNotFoundError:
        known = self.list_tables()
        return TableNotFoundError(
            f"the catalog has no table {name!r}; tables: {known}{did_you_mean(name, known)}",
            path=self._root.name,
            detail=name,
        )


def _file(place: Location, relative: str) -> Location:
    return Location(place.given, posixpath.join(place.path, relative))
