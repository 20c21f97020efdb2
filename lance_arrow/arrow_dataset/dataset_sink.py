"""`DatasetSink`: one file of a `pyarrow.dataset.write_dataset`, and what its options may ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from lance_arrow.files.write_options import WriteOptions


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A finished file: its path within the filesystem, its size in bytes, its rows."""

    path: str
    size: int
    num_rows: int


@dataclass(frozen=True, slots=True)
class DatasetWriteOptions:
    """Options that were given to `LanceFormat.make_write_options`.

    Parameters
    ----------
    file
        How each file is written.
    on_file
        Called with a `WrittenFile` for each file, when all its bytes are written and before Arrow closes it. It
        replaces the ``file_visitor`` of `write_dataset`, which pyarrow only calls for its built-in formats.
    """

    file: WriteOptions = field(default_factory=WriteOptions)
    on_file: Callable[[WrittenFile], None] | None = None


class DatasetSink:
    """Hands batches to a `OneFileWriter` over Arrow's stream; the bridge removes the file when it is not finished."""

    def __init__(
        self, stream: pa.NativeFile, schema: pa.Schema, options: DatasetWriteOptions | None, path: str
    ) -> None:
        # Formats that only read name the options above.
        from lance_arrow.files.lance_writer import OneFileWriter  # noqa: PLC0415
        from lance_arrow.io import StreamSink  # noqa: PLC0415

        self._options = options if options is not None else DatasetWriteOptions()
        self._path = path
        self._writer = OneFileWriter(StreamSink(stream, name=path), schema, self._options.file)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        self._writer.write(batch)

    def finish(self) -> None:
        """Write the remaining rows and call `on_file`."""
        self._writer.close()
        if self._options.on_file is not None:
            self._options.on_file(WrittenFile(self._path, self._writer.num_bytes, self._writer.num_rows))
