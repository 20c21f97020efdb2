"""`read_schema_of`: the schema of a file of any format that `convert` reads, to be taken for another conversion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lance_arrow.conversion.readers import inspect
from lance_arrow.conversion.sources import PathLike, find_sources
from lance_arrow.errors import InvalidArgumentError


def read_schema_of(source: PathLike, storage_options: Mapping[str, Any] | None = None) -> pa.Schema:
    """Return the schema of one file or table.

    Parameters
    ----------
    source
        Local path or URL.
    storage_options
        Options for the filesystem of a URL.

    Raises
    ------
    FileNotFoundError
        There is nothing.
    InvalidArgumentError
        Several files, or one of no known format.
    CorruptFileError
        The file cannot be read.
    """
    found = find_sources(source, None, storage_options)
    if len(found.inputs) != 1:
        raise InvalidArgumentError(f"a schema is taken from one file, here are {len(found.inputs):,}", path=str(source))
    return inspect(found.inputs[0], {}, lambda done: None).schema
