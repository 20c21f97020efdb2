"""Plain functions that pickles name; methods of native classes do not travel through every pickler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow
import pyarrow.compute
from pyarrow.fs import FileSystem

from lance_arrow.datasets.handler import ScanHandler

if TYPE_CHECKING:
    from lance_arrow.datasets import _bridge
    from lance_arrow.datasets.fragment import LanceFileFragment


def rebuild_format(cls: type[_bridge.BridgeFormat], handler: ScanHandler) -> _bridge.BridgeFormat:
    """Make the format that was pickled."""
    return cls.from_handler(handler)


def rebuild_fragment(
    file_format: _bridge.BridgeFormat,
    file: str | pyarrow.Buffer,
    filesystem: FileSystem | None,
    partition_expression: pyarrow.compute.Expression,
    known: tuple[int | None, pyarrow.Schema | None, object | None],
) -> LanceFileFragment:
    """Make the fragment that was pickled; `known` are its size, its schema and its payload."""
    file_size, physical_schema, payload = known
    return file_format.make_fragment(
        file, filesystem, partition_expression, file_size=file_size, physical_schema=physical_schema, payload=payload
    )


def rebuild_write_options(file_format: _bridge.BridgeFormat, options: object) -> _bridge.LanceWriteOptions:
    """Make the write options that were pickled."""
    return file_format.write_options(options)
