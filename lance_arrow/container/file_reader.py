"""`LanceFileReader`: one data file opened once, answering what is in it and where.

Opening reads the file's last 64 KiB; what does not lie there is read in waves: both tables, the descriptor, then the
metadata of wanted columns.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType, TracebackType

import numpy as np
import pyarrow as pa

from lance_arrow.container.columns import ColumnMeta, ColumnTable
from lance_arrow.container.fields import SchemaField, fields_from_messages
from lance_arrow.container.first_generation import refuse_first_generation
from lance_arrow.container.footer import FileFooter, FileVersion, read_footer
from lance_arrow.container.global_buffers import GlobalBuffers
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.container.schema import LeafColumn, arrow_schema, column_mapping, count_columns
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError, located
from lance_arrow.io import RangeSource
from lance_arrow.proto import file_schema_pb2
from lance_arrow.proto.reading import parse
from lance_arrow.settings import Limits

_INT64_MAX = np.iinfo(np.int64).max


class LanceFileReader:
    """The container of one file; safe to share between threads.

    Parameters
    ----------
    source
        The file; closed by `close`.
    limits
        Ceilings for declared sizes; the default ones when None.

    Attributes
    ----------
    source, name
        Where the bytes come from, and what to print.
    footer
        Version, counts and tables.
    num_rows
        Rows of the file.
    fields
        Top-level fields of the schema, with ids.
    schema
        The Arrow schema, metadata included.
    leaves
        The leaves of the schema and their physical columns, in order.
    global_buffers
        Buffers by index; 0 is the file descriptor.

    Raises
    ------
    CorruptFileError
        Not a Lance file, or one that contradicts itself.
    UnsupportedError
        A version or a type that is not known here, or a file without a schema.
    TruncatedReadError, ResourceLimitError
        As reading goes.
    """

    def __init__(self, source: RangeSource, limits: Limits | None = None) -> None:
        self.source = source
        self.name = source.name
        self._limits = Limits() if limits is None else limits
        self._lock = threading.Lock()
        self._columns: dict[int, ColumnMeta] = {}
        with located(path=self.name):
            metadata = MetadataBytes(source, self._limits)
            self.footer: FileFooter = read_footer(metadata.tail, metadata.file_size)
            refuse_first_generation(self.footer)
            # One wave for both tables where they lie before the tail.
            metadata.keep([self.footer.column_table, self.footer.buffer_table])
            self.global_buffers = GlobalBuffers(metadata, self.footer)
            self._table = ColumnTable(metadata, self.footer, self._limits)
            self._read_descriptor()

    def _read_descriptor(self) -> None:
        if not len(self.global_buffers):
            raise UnsupportedError(
                "the file holds no schema (it has no global buffers): it was made to live inside another"
            )
        place = self.global_buffers.place(0)
        byte_range = (place.start, place.stop)
        descriptor = parse(
            file_schema_pb2.FileDescriptor,
            self.global_buffers.read(0).data,
            what="the file descriptor",
            byte_range=byte_range,
            max_bytes=self._limits.max_metadata_bytes,
        )
        with located(byte_range=byte_range, stage="reading the file descriptor"):
            if descriptor.length > _INT64_MAX:
                raise CorruptFileError(f"the file claims {descriptor.length} rows, more than 63 bits hold")
            self.num_rows: int = descriptor.length
            self.fields: tuple[SchemaField, ...] = fields_from_messages(descriptor.schema.fields)
            self.schema: pa.Schema = arrow_schema(self.fields, descriptor.schema.metadata)
            self.leaves: tuple[LeafColumn, ...] = column_mapping(self.fields, self.version)
            expected = count_columns(self.leaves)
            if expected != self.footer.num_columns:
                raise CorruptFileError(f"the schema wants {expected} columns, the file has {self.footer.num_columns}")

    @property
    def version(self) -> FileVersion:
        """Generation of the file."""
        return self.footer.version

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """Metadata of the schema."""
        return MappingProxyType({key.decode(): value for key, value in (self.schema.metadata or {}).items()})

    def columns(self, indices: Sequence[int]) -> list[ColumnMeta]:
        """Return the metadata of physical columns, read once and kept.

        Parameters
        ----------
        indices
            Numbers of physical columns.

        Raises
        ------
        InvalidArgumentError
            There is no such column.
        CorruptFileError
            Metadata contradicts the format, or its pages do not add up to the rows of the file; column, page and byte
            range are named.
        TruncatedReadError, ResourceLimitError
            As reading goes.
        """
        for index in indices:
            if not 0 <= index < self.footer.num_columns:
                raise InvalidArgumentError(
                    f"there is no physical column {index}, the file has {self.footer.num_columns}",
                    path=self.name,
                    detail=index,
                )
        with self._lock:
            missing = sorted({index for index in indices if index not in self._columns})
        if missing:
            with located(path=self.name):
                metas = self._table.read(missing, [self._column_name(index) for index in missing])
                for meta in metas:
                    self._check_rows(meta)
            with self._lock:
                for meta in metas:
                    self._columns.setdefault(meta.column, meta)
        return [self._columns[index] for index in indices]

    def close(self) -> None:
        """Close the source."""
        self.source.close()

    def __enter__(self) -> LanceFileReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def _expected(self) -> dict[int, tuple[str, int | None]]:
        """Name and page lengths' sum of every physical column; None where only decoding tells (below 2.0 lists)."""
        expected: dict[int, tuple[str, int | None]] = {}
        for leaf in self.leaves:
            nodes = [(leaf.column, leaf.path), *((above.header_column, above.path) for above in leaf.ancestors)]
            for depth, (column, path) in enumerate(nodes):
                if column is not None:
                    above = leaf.ancestors[depth:]
                    in_list = self.version is FileVersion.V2_0 and any("list" in node.kind.value for node in above)
                    expected[column] = path, None if in_list else self.num_rows * leaf.lengths_per_row
        return expected

    def _column_name(self, index: int) -> str:
        return self._expected[index][0]

    def _check_rows(self, meta: ColumnMeta) -> None:
        name, expected = self._expected[meta.column]
        if expected is not None and meta.num_rows != expected:
            raise CorruptFileError(
                f"the pages have {meta.num_rows} rows, expected {expected}", column=name, byte_range=meta.byte_range
            )
