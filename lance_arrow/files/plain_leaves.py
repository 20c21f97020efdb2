"""`PlainPlan`: leaves whose pages are written natively, all of a batch in one call; planned once for a schema.

These are top-level columns of values of one width, or of byte strings, without nodes above them, whose encoders all
have a native side (`structure/native_encoders.py`). Rows of other columns, and pages that only Python can choose, take
`RowWriter`'s way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.file_writer import described
from lance_arrow.container.footer import FileVersion
from lance_arrow.engine import LeafPlan as NativePlan
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.spi import EncodeOptions, FixedWidth, NodeKind, VariableWidth
from lance_arrow.statistics.zone_bounds import kind_of_bounds
from lance_arrow.statistics.zone_types import is_variable
from lance_arrow.structure.native_encoders import NativeEncoders, native_encoders
from lance_arrow.structure.page_encoder import PageEncoder

if TYPE_CHECKING:
    from lance_arrow.files.writer_plan import LeafPlan

_VERSIONS = (FileVersion.V2_1, FileVersion.V2_2)
_NO_BOUNDS = (0, 0)
_MOST_PLAIN_BITS = 2048
"""Wider values are not in chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainPlan:
    """Leaves that are written natively: those of one width, then byte strings, each in the order of the columns.

    Parameters
    ----------
    leaves
        How each is written.
    num_fixed
        How many of them have values of one width.
    tops
        Numbers of their top-level columns.
    native
        The same for the engine.
    row_bytes
        Bytes of a row of all leaves of one width, rounded up.
    most_bits
        Bits of the widest value of one width.
    with_zones, without_zones
        Descriptions of columns with a zone map, and without one.
    encoder
        Encodes pages in Python.
    """

    leaves: tuple[LeafPlan, ...]
    tops: tuple[int, ...]
    num_fixed: int
    native: NativePlan
    row_bytes: int
    most_bits: int
    with_zones: bytes
    without_zones: bytes
    encoder: PageEncoder

    @property
    def has_strings(self) -> bool:
        """Whether there are leaves of byte strings."""
        return self.num_fixed < len(self.leaves)

    def others(self, leaves: Sequence[LeafPlan]) -> list[LeafPlan]:
        """Return the leaves of a file that are not written natively."""
        own = {one.leaf.column for one in self.leaves}
        return [one for one in leaves if one.leaf.column not in own]


def plain_plan(
    leaves: Sequence[LeafPlan], stored: StoredRows, version: FileVersion, encoder: PageEncoder
) -> PlainPlan | None:
    """Return the plan of those leaves that can be written natively; None if there are none."""
    if version not in _VERSIONS:
        return None
    kinds: dict[Any, int | None] = {}
    encoders: list[NativeEncoders] = []
    plain: list[LeafPlan] = []
    forms: list[tuple[int, ...]] = []
    rows_per_zone = {one.rows_per_zone for one in leaves if one.rows_per_zone}
    for one in sorted(leaves, key=lambda one: isinstance(one.leaf.leaf.shape, VariableWidth)):
        if not is_plain(one.leaf, stored, one.top) or len(rows_per_zone) > 1:
            continue
        kind = _kind(one.leaf, one.options, kinds, encoders, encoder)
        if kind is None:
            continue
        shape = one.leaf.leaf.shape
        is_fixed = isinstance(shape, FixedWidth)
        bounds = kind_of_bounds(one.leaf.storage) if one.rows_per_zone and is_fixed else _NO_BOUNDS
        plain.append(one)
        forms.append(
            (
                len(forms),
                one.leaf.column,
                shape.bits if isinstance(shape, FixedWidth) else 0,
                shape.offset_bits if isinstance(shape, VariableWidth) else 0,
                kind,
                *bounds,
                not is_fixed and one.leaf.leaf.is_text,
                one.rows_per_zone,
                one.leaf.field.nullable,
            )
        )
    if not plain:
        return None
    bits = [form[2] for form in forms if form[2]]
    zoned = max(rows_per_zone, default=None)
    return PlainPlan(
        leaves=tuple(plain),
        tops=tuple(one.top for one in plain),
        num_fixed=len(bits),
        native=NativePlan(encoders, forms),
        row_bytes=-(-sum(bits) // 8),
        most_bits=max(bits, default=1),
        with_zones=described(encoder.column(zoned)),
        without_zones=described(encoder.column(None)),
        encoder=encoder,
    )


def is_plain(leaf: LeafNode, stored: StoredRows, top: int) -> bool:
    """Return whether a leaf is a column of its own whose values are stored as Arrow has them."""
    if leaf.leaf.nodes != (NodeKind.ITEM,) or leaf.leaf.items is not None or leaf.is_blob:
        return False
    shape, type_ = leaf.leaf.shape, leaf.field.type
    if stored.given.field(top).type != type_:
        return False
    if isinstance(shape, VariableWidth):
        return is_variable(type_)
    if not isinstance(shape, FixedWidth) or not 0 < shape.bits < _MOST_PLAIN_BITS:
        return False
    types = pa.types
    is_one_buffer = types.is_primitive(type_) or types.is_decimal(type_) or types.is_fixed_size_binary(type_)
    return is_one_buffer and type_.bit_width == shape.bits


def _kind(
    leaf: LeafNode,
    options: EncodeOptions,
    kinds: dict[Any, int | None],
    encoders: list[NativeEncoders],
    encoder: PageEncoder,
) -> int | None:
    """Return the number of the leaf's encoders, which leaves of equal widths and options share."""
    key = leaf.leaf, id(options)
    if key not in kinds:
        found = native_encoders(encoder, leaf.leaf, options)
        kinds[key] = None if found is None else len(encoders)
        if found is not None:
            encoders.append(found)
    return kinds[key]
