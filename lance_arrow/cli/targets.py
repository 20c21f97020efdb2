"""Resolve `FILE|TABLE` of a command, and make the report of a file, a table or a folder.

Views are imported when they are needed: tables and folders need much that a file does not.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lance_arrow.cli.lazy import view
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io import Location, resolve
from lance_arrow.manifests.path_kinds import PathKind, files_in, kind_of

_MOST_FILES_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """File, table or folder that a command reads.

    Parameters
    ----------
    uri
        Local path or URL.
    storage_options
        For the filesystem of a URL.
    version
        Number or tag of a version of a table; the newest when None.
    branch
        Of a table; the main one when None.
    """

    uri: str
    storage_options: Mapping[str, Any] | None = None
    version: str | None = None
    branch: str | None = None

    @property
    def place(self) -> Location:
        """Location of the target."""
        return resolve(self.uri, None, self.storage_options)

    def kind(self) -> PathKind:
        """Tell what it is.

        Raises
        ------
        InvalidArgumentError
            A version or branch was given for a path that is not a table.
        """
        kind = kind_of(self.place)
        if kind is not PathKind.TABLE and (self.version is not None or self.branch is not None):
            raise InvalidArgumentError(
                f"--version and --branch choose a version of a table; this is a {kind.value}", path=self.place.name
            )
        return kind


def schema_of(target: Target) -> Any:
    """Report on the schema."""
    kind = target.kind()
    if kind is PathKind.FILE:
        return view("file_view").view_schema(target.uri, storage_options=target.storage_options)
    if kind is PathKind.TABLE:
        data = view("table_data")
        choice = data.choose(target.version, target.branch)
        return data.view_table_schema(target.uri, choice, storage_options=target.storage_options)
    return view("folder_data").view_folder_schema(target.place)


def head_of(target: Target, *, num_rows: int, columns: Sequence[str] | None) -> Any:
    """Report the first rows."""
    kind, options = target.kind(), target.storage_options
    if kind is PathKind.FILE:
        return view("file_view").view_head(target.uri, num_rows=num_rows, columns=columns, storage_options=options)
    if kind is PathKind.TABLE:
        data = view("table_data")
        choice = data.choose(target.version, target.branch)
        return data.view_table_head(target.uri, choice, num_rows=num_rows, columns=columns, storage_options=options)
    return view("folder_data").view_folder_head(target.place, num_rows=num_rows, columns=columns)


def stats_of(target: Target, *, columns: Sequence[str] | None) -> Any:
    """Report counts and bounds."""
    kind, options = target.kind(), target.storage_options
    if kind is PathKind.FILE:
        return view("stats_view").view_stats(target.uri, columns=columns, storage_options=options)
    if kind is PathKind.TABLE:
        data = view("table_data")
        choice = data.choose(target.version, target.branch)
        return data.view_table_stats(target.uri, choice, columns=columns, storage_options=options)
    place = target.place
    return view("stats_view").view_folder_stats(place.name, files_in(place), columns=columns)


def zones_of(target: Target, *, columns: Sequence[str] | None) -> Any:
    """Report zone maps; those of a table together, if no column's zones are to be listed."""
    if columns is None and target.kind() is PathKind.TABLE:
        data = view("table_data")
        choice = data.choose(target.version, target.branch)
        return data.view_table_zones(target.uri, choice, storage_options=target.storage_options)
    instead = f"use lance-arrow zones show {target.uri} without --column for"
    check_is_file(target, command="zones show --column" if columns else "zones show", instead=instead)
    return view("stats_view").view_zones(target.uri, columns=columns, storage_options=target.storage_options)


def check_is_file(target: Target, *, command: str, instead: str) -> None:
    """Refuse a table or a folder for a command that looks into one file.

    Parameters
    ----------
    target
        What was given.
    command
        For the message: what takes a file.
    instead
        For the message: what to do about a table.

    Raises
    ------
    InvalidArgumentError
        It is a table or a folder; the message names files of it.
    """
    kind = target.kind()
    if kind is PathKind.FILE:
        return
    what, paths = "a folder", []
    if kind is PathKind.TABLE:
        what = "a table"
        versions = importlib.import_module("lance_arrow.manifests.versions")
        root = versions.table_location(target.uri, storage_options=target.storage_options)
        manifest = versions.open_version(root, versions.VersionChoice())
        paths = [manifest.facts.data_path(file) for fragment in manifest.fragments for file in fragment.files]
    else:
        paths = [file.path for file in files_in(target.place)]
    more = f" and {len(paths) - _MOST_FILES_NAMED:,} more" if len(paths) > _MOST_FILES_NAMED else ""
    files = ", ".join(paths[:_MOST_FILES_NAMED]) or "none"
    advice = f"{instead} the table" if kind is PathKind.TABLE else "name one"
    raise InvalidArgumentError(
        f"{command} takes data files, this is {what}: {advice}; its data files: {files}{more}",
        path=target.place.name,
    )
