"""Plain functions that pickles name; methods of native classes do not travel through every pickler."""

from __future__ import annotations

from typing import Any, Protocol, Self

import pyarrow
import pyarrow.compute
import pyarrow.dataset
from pyarrow.fs import FileSystem

from lance_arrow.arrow_dataset.handler_protocol import ScanHandler


class HandledFormat(Protocol):
    """The format of the native bridge, as far as pickles need it."""

    @classmethod
    def from_handler(cls, handler: ScanHandler) -> Self:
        """Make a format whose files are read by a handler."""
        ...

    def make_fragment(self, file: Any, filesystem: Any, partition_expression: Any, **known: Any) -> Any:
        """Make a fragment of a file, with facts that are already known."""
        ...

    def write_options(self, options: object) -> Any:
        """Make write options out of what they were made with."""
        ...


def rebuild_format(cls: type[HandledFormat], handler: ScanHandler) -> HandledFormat:
    """Make the format that was pickled."""
    return cls.from_handler(handler)


def rebuild_fragment(
    file_format: HandledFormat,
    file: str | pyarrow.Buffer,
    filesystem: FileSystem | None,
    partition_expression: pyarrow.compute.Expression,
    known: tuple[int | None, pyarrow.Schema | None, object | None],
) -> pyarrow.dataset.FileFragment:
    """Make the fragment that was pickled; `known` are its size, its schema and its payload."""
    file_size, physical_schema, payload = known
    return file_format.make_fragment(
        file, filesystem, partition_expression, file_size=file_size, physical_schema=physical_schema, payload=payload
    )


def rebuild_write_options(file_format: HandledFormat, options: object) -> pyarrow.dataset.FileWriteOptions:
    """Make the write options that were pickled."""
    return file_format.write_options(options)
