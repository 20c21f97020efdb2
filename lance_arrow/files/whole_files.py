"""Functions that open, read and close one file, named as in `pyarrow.parquet`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lance_arrow.choices import Blobs, Dictionaries, Json, Strings, Verify
from lance_arrow.files.lance_file import LanceFile
from lance_arrow.io import AnyFileSystem
from lance_arrow.scan.predicates import Predicate


def read_table(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    filters: Predicate | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dictionaries: Dictionaries = "keep",
    strings: Strings = "plain",
    read_dictionary: Sequence[str] = (),
    blobs: Blobs = "bytes",
    json: Json = "text",
    allow_external_blobs: bool = False,
    verify: Verify = "touched",
) -> pa.Table:
    """Read one Lance file into a table.

    Parameters
    ----------
    source
        As for `LanceFile`.
    columns
        Dotted paths in the wanted order; all when None.
    filters
        Expression, DNF tuples or SQL over the file's columns; only rows that satisfy it are read.
    filesystem, storage_options, dictionaries, strings, read_dictionary, blobs, json, allow_external_blobs, verify
        As for `LanceFile`.

    Raises
    ------
    LanceError
        As `LanceFile.read`.

    Examples
    --------
    >>> table = lance_arrow.read_table("flights.lance", columns=["id", "price"], filters="id < 10")
    >>> table.num_rows, table.column_names
    (10, ['id', 'price'])
    """
    with LanceFile(
        source,
        filesystem=filesystem,
        storage_options=storage_options,
        dictionaries=dictionaries,
        strings=strings,
        read_dictionary=read_dictionary,
        blobs=blobs,
        json=json,
        allow_external_blobs=allow_external_blobs,
        verify=verify,
    ) as file:
        return file.read(columns, filter=filters)


def read_schema(
    source: Any,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    blobs: Blobs = "bytes",
) -> pa.Schema:
    """Read the Arrow schema of one Lance file, without its columns. Arguments are those of `LanceFile`.

    Examples
    --------
    >>> schema = lance_arrow.read_schema("flights.lance")
    >>> schema.names
    ['id', 'price', 'name']
    """
    with LanceFile(source, filesystem=filesystem, storage_options=storage_options, blobs=blobs) as file:
        return file.schema


def read_metadata(
    source: Any,
    *,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[bytes, bytes]:
    """Read the schema metadata of one Lance file, without its columns. Arguments are those of `LanceFile`.

    Examples
    --------
    >>> metadata = lance_arrow.read_metadata("flights.lance")
    >>> metadata[b"source"]
    b'example'
    """
    with LanceFile(source, filesystem=filesystem, storage_options=storage_options) as file:
        return file.metadata
