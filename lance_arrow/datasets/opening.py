"""`lance_arrow.dataset`: a `LanceDataset` over a file, a list of files or a directory of files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
from pyarrow import fs as arrow_fs

from lance_arrow.datasets.format import LanceFormat
from lance_arrow.datasets.lance_dataset import LanceDataset
from lance_arrow.datasets.table_guard import refuse_table
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.io import AnyFileSystem, Location, resolve


def open_dataset(
    uri: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    version: int | None = None,
    tag: str | None = None,
    as_of: Any = None,
    branch: str | None = None,
    filesystem: AnyFileSystem | None = None,
    storage_options: Mapping[str, Any] | None = None,
    dictionaries: str = "keep",
    schema: pa.Schema | None = None,
    partitioning: Any = None,
    exclude_invalid_files: bool | None = None,
    blobs: str = "bytes",
    allow_external_blobs: bool = False,
    verify: str = "touched",
) -> LanceDataset:
    """Open Lance files as one dataset.

    Parameters
    ----------
    uri
        A file, a directory, or a list of files; local paths or URLs of one filesystem.
    version, tag, as_of, branch
        Which version of a table to read.
    filesystem, storage_options
        fsspec or pyarrow filesystem of the paths; options for the filesystem of a URL.
    dictionaries
        ``"keep"`` dictionary columns as such, or ``"decode"`` them to plain values, at any depth.
    schema, partitioning, exclude_invalid_files
        As `pyarrow.dataset.dataset`.
    blobs, allow_external_blobs, verify
        As `LanceFormat`.

    Returns
    -------
    LanceDataset
        A `pyarrow.dataset.FileSystemDataset` with a working `format` and fragments.

    Raises
    ------
    UnsupportedError
        A table directory: tables cannot be read yet.
    FileNotFoundError
        There is nothing at this path.
    """
    many = isinstance(uri, Sequence) and not isinstance(uri, (str, bytes))
    locations = [resolve(one, filesystem, storage_options) for one in (uri if many else [uri])]
    if not locations:
        raise InvalidArgumentError("an empty list of files has no schema; name at least one")
    if branch is not None:
        raise UnsupportedError("branches of tables cannot be read yet", path=locations[0].name)
    for location in locations:
        refuse_table(location.filesystem, location.path)
    paths = [location.path for location in locations]
    dataset = pads.dataset(
        paths if many else paths[0],
        format=LanceFormat(
            version=version,
            tag=tag,
            as_of=as_of,
            dictionaries=dictionaries,
            blobs=blobs,
            allow_external_blobs=allow_external_blobs,
            verify=verify,
        ),
        filesystem=_arrow_filesystem(locations[0]),
        schema=schema,
        partitioning=partitioning,
        exclude_invalid_files=exclude_invalid_files,
    )
    return LanceDataset.from_dataset(dataset)


def _arrow_filesystem(location: Location) -> arrow_fs.FileSystem:
    filesystem = location.filesystem
    if isinstance(filesystem, arrow_fs.FileSystem):
        return filesystem
    if getattr(filesystem, "protocol", None) in (("file", "local"), "file"):
        return arrow_fs.LocalFileSystem()
    return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(filesystem))
