"""Zone maps put into a finished file: what a writer does, done by hand to a file of somebody else's."""

from __future__ import annotations

import pyarrow as pa
from craft import Craft, described

from lance_arrow.arrays.column_tree import column_tree
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.io.buffer_source import BufferSource
from lance_arrow.proto import file_v2_pb2
from lance_arrow.proto.encodings_v20_pb2 import ColumnEncoding
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import EncodingKey
from lance_arrow.spi.layouts import ZoneMapPlace
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import encode_zones
from lance_arrow.statistics.zone_types import bounds_type

COLUMN_ENCODING = "lance.encodings.ColumnEncoding"
VERSIONS = {"2.1": (2, 1), "2.2": (2, 2), "2.3": (2, 3)}


def with_zone_maps(content: bytes, table: pa.Table, rows_per_zone: int, version: str) -> bytes:
    """Return the file with the zone maps of `table`, which it holds, for every leaf that may have one."""
    encodings = default_runtime().table
    values, zone_index = (
        encodings.column_encoding(EncodingKey(COLUMN_ENCODING, case)) for case in ("values", "zone_index")
    )
    data, metas = bytearray(content), []
    with LanceFileReader(BufferSource(content, name="zoned")) as reader:
        leaves = [leaf for root in column_tree(reader.schema, reader.leaves) for leaf in root.leaves()]
        for leaf, found in zip(leaves, reader.columns([leaf.column for leaf in leaves]), strict=True):
            meta = file_v2_pb2.ColumnMetadata.FromString(content[slice(*found.byte_range)])
            if bounds_type(leaf) is not None and not len(found.buffer_sizes):
                builder = ZoneBuilder(leaf, rows_per_zone)
                for chunk in table.column(leaf.path.split(".")[0]).chunks:
                    builder.add(chunk)
                stored = encode_zones(builder.finish())
                data += bytes(-len(data) % 64)
                meta.buffer_offsets.append(len(data))
                meta.buffer_sizes.append(len(stored))
                data += stored
                place = ZoneMapPlace(rows_per_zone=builder.rows_per_zone, column_buffer=0)
                own: ColumnEncoding = zone_index.describe(values.describe(None, None), place)
                meta.encoding.CopyFrom(described(COLUMN_ENCODING, own.SerializeToString()))
            metas.append(meta)
        data += bytes(-len(data) % 64)
        return Craft(
            schema=reader.schema, columns=metas, num_rows=reader.num_rows, data=bytes(data), version=VERSIONS[version]
        ).build()
