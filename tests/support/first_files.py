"""Files of 0.1 made by hand: any batches, and any statistics of them, which no writer would write."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lance_arrow.container.fields import fields_to_messages
from lance_arrow.container.schema import fields_from_arrow
from lance_arrow.proto import file_schema_pb2, table_pb2

Told = tuple[list[int], pa.Array, pa.Array]
"""Of each batch: nulls, lower and upper bound."""


@dataclass
class FirstFile:
    """A file of numbers, booleans and byte strings.

    Parameters
    ----------
    rows
        Columns without nulls; of byte strings a null takes no bytes.
    batch_rows
        Rows of each batch.
    told
        Statistics by field id.
    encodings
        What fields say of how they are encoded, by name, where it is not what writers say.
    """

    rows: pa.Table
    batch_rows: Sequence[int]
    told: Mapping[str, Told] = field(default_factory=dict)
    encodings: Mapping[str, int] = field(default_factory=dict)
    data: bytearray = field(default_factory=lambda: bytearray(1), init=False)
    """Not empty: a manifest at 0 would be none."""
    statistics_position: int = field(default=0, init=False)
    """Where the page table of the statistics is, once it is built."""

    def statistics(self) -> pa.Table:
        """The statistics as a table, a row for each batch."""
        names = ["null_count", "min_value", "max_value"]
        structs = {}
        for name, (nulls, low, high) in self.told.items():
            fields = [pa.field("null_count", pa.int64(), False), *(pa.field(one, low.type) for one in names[1:])]
            structs[name] = pa.StructArray.from_arrays([pa.array(nulls, pa.int64()), low, high], fields=fields)
        return pa.table(structs)

    def build(self, statistics: pa.Table | None = None, **changes: int) -> bytes:
        """Return the file; `changes` replace fields of the metadata or of the statistics."""
        starts = [0, *np.cumsum(self.batch_rows).tolist()]
        parts = [self.rows.slice(start, num_rows) for start, num_rows in zip(starts, self.batch_rows, strict=False)]
        pages = [self._pages(part) for part in parts]
        metadata = file_schema_pb2.Metadata(batch_offsets=starts, page_table_position=len(self.data))
        for of_field in zip(*pages, strict=True):
            for place in of_field:
                self.data += struct.pack("<qq", *place)
        statistics = self.statistics() if statistics is None else statistics
        if statistics.num_columns:
            entries = self._pages(statistics)
            self.statistics_position = len(self.data)
            fields = fields_to_messages(fields_from_arrow(statistics.schema))
            metadata.statistics.schema.extend(fields)
            metadata.statistics.fields.extend(one.id for one in fields)
            metadata.statistics.page_table_position = changes.pop("statistics_position", self.statistics_position)
            for place in entries:
                self.data += struct.pack("<qq", *place)
        described = fields_to_messages(fields_from_arrow(self.rows.schema))
        for one in described:
            one.encoding = self.encodings.get(one.name, one.encoding)
        metadata.manifest_position = self._message(table_pb2.Manifest(fields=described))
        assert not changes
        position = self._message(metadata)
        return bytes(self.data) + struct.pack("<QHH4s", position, 0, 2, b"LANC")

    def _message(self, message: table_pb2.Manifest | file_schema_pb2.Metadata) -> int:
        position, content = len(self.data), message.SerializeToString()
        self.data += struct.pack("<I", len(content)) + content
        return position

    def _pages(self, rows: pa.Table) -> list[tuple[int, int]]:
        """Write the pages of all fields, in pre-order; returns position and length of each."""
        found = []
        for column in rows.columns:
            array = column.combine_chunks()
            array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
            if pa.types.is_struct(array.type):
                found += [(0, 0), *(self._page(child) for child in array.flatten())]
            else:
                found.append(self._page(array))
        return found

    def _page(self, array: pa.Array) -> tuple[int, int]:
        array = pa.concat_arrays([array.slice(0, 0), array])
        position = len(self.data)
        if pa.types.is_string(array.type) or pa.types.is_binary(array.type):
            stored = [b"" if one is None else one for one in array.cast(pa.binary()).to_pylist()]
            ends = position + np.cumsum([0, *map(len, stored)])
            self.data += b"".join(stored)
            position = len(self.data)
            self.data += ends.astype("<i8").tobytes()
        elif pa.types.is_boolean(array.type):
            self.data += np.packbits(array.to_numpy(zero_copy_only=False), bitorder="little").tobytes()
        else:
            size = len(array) * array.type.bit_width // 8
            self.data += array.buffers()[1].to_pybytes()[:size] if size else b""
        return position, len(array)
