"""Zone maps of a table as a file of it would have them, without the file."""

from __future__ import annotations

import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode, column_tree
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import column_mapping, fields_from_arrow
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import ZoneMap
from lance_arrow.statistics.zone_types import bounds_type, is_repeated


def leaves_of(schema: pa.Schema) -> list[LeafNode]:
    """Leaves of a schema as a file numbers them."""
    roots = column_tree(schema, column_mapping(fields_from_arrow(schema), FileVersion.V2_2))
    return [leaf for root in roots for leaf in root.leaves()]


def zone_maps(table: pa.Table, rows_per_zone: int) -> dict[tuple[str, ...], ZoneMap]:
    """Zone maps of all leaves that have an order, by path."""
    maps = {}
    for leaf in leaves_of(table.schema):
        if bounds_type(leaf) is None:
            continue
        builder = ZoneBuilder(leaf, rows_per_zone)
        builder.add(table.column(leaf.path.split(".")[0]).combine_chunks())
        maps[tuple(leaf.path.split("."))] = ZoneMap(builder.finish(), rows_per_zone, is_repeated(leaf))
    return maps
