"""`PlainPlan`: leaves whose pages are written natively; planned once for a schema.

These are columns of values of one width, of byte strings, and of structs, lists and maps of such at any depth. Their
encoders all have a native side (`structure/native_encoders.py`). Rows of other columns, and pages that only Python can
choose, take `RowWriter`'s way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.file_writer import described
from lance_arrow.container.footer import FileVersion
from lance_arrow.engine import LeafPlan as NativePlan
from lance_arrow.files.stored_rows import StoredRows
from lance_arrow.spi import FixedWidth, VariableWidth
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.statistics.zone_bounds import kind_of_bounds
from lance_arrow.statistics.zone_types import is_variable
from lance_arrow.structure.native_encoders import NativeEncoders, native_encoders
from lance_arrow.structure.page_encoder import PageEncoder

if TYPE_CHECKING:
    from lance_arrow.files.writer_plan import LeafPlan

_VERSIONS = (FileVersion.V2_1, FileVersion.V2_2)
_NO_BOUNDS = (0, 0)
_NO_STEPS: list[tuple[int, ...]] = [()]
_MOST_PLAIN_BITS = 2048
"""Wider values are not in chunks."""


@dataclass(frozen=True, slots=True, eq=False)
class PlainPlan:
    """Leaves that are written natively, whole columns: those without byte strings first, each in the file's order.

    Parameters
    ----------
    leaves
        How each is written.
    tops
        Numbers of their top-level columns.
    places
        For each leaf the position of its column among `tops`.
    num_fixed
        How many of the leaves have no byte strings in their column.
    native
        The same for the engine.
    with_zones, without_zones
        Descriptions of columns with a zone map, and without one.
    encoder
        Encodes pages in Python.
    """

    leaves: tuple[LeafPlan, ...]
    tops: tuple[int, ...]
    places: tuple[int, ...]
    num_fixed: int
    native: NativePlan
    with_zones: bytes
    without_zones: bytes
    encoder: PageEncoder

    @property
    def has_strings(self) -> bool:
        """Whether there are columns with byte strings."""
        return self.num_fixed < len(self.leaves)

    def others(self, leaves: Sequence[LeafPlan]) -> list[LeafPlan]:
        """Return the leaves of a file that are not written natively."""
        own = {one.leaf.column for one in self.leaves}
        return [one for one in leaves if one.leaf.column not in own]


def plain_plan(
    tree: Sequence[ColumnNode],
    leaves: Sequence[LeafPlan],
    stored: StoredRows,
    version: FileVersion,
    encoder: PageEncoder,
) -> PlainPlan | None:
    """Return the plan of those leaves that can be written natively; None if there are none."""
    rows_per_zone = {one.rows_per_zone for one in leaves if one.rows_per_zone}
    if version not in _VERSIONS or len(rows_per_zone) > 1:
        return None
    encoders: list[NativeEncoders] = []
    # The forms of leaves of one type and options; None for those that are not written natively.
    known: dict[Any, _Form | None] = {}
    columns: dict[int, list[tuple[LeafPlan, _Form | None]]] = {}
    for one in leaves:
        leaf, type_ = one.leaf, one.leaf.field.type
        form = None
        # Extension types may not be hashable.
        if not isinstance(type_, pa.BaseExtensionType):
            key = id(leaf.leaf), type_, id(one.options), one.rows_per_zone
            if key not in known:
                known[key] = _form(one, encoders, encoder)
            form = known[key]
        columns.setdefault(one.top, []).append((one, form))
    tops: list[int] = []
    with_strings: list[int] = []
    for top, own in columns.items():
        # Views, small decimals and JSON are stored in another form.
        if None not in [form for _, form in own] and stored.given.field(top).type == stored.schema.field(top).type:
            has_strings = True in [form.is_variable for _, form in own if form is not None]
            (with_strings if has_strings else tops).append(top)
    if not tops and not with_strings:
        return None
    plain: list[LeafPlan] = []
    native: list[tuple[Any, ...]] = []
    places: list[int] = []
    num_fixed = 0
    for place, top in enumerate((*tops, *with_strings)):
        num_fixed += len(columns[top]) if place < len(tops) else 0
        root = tree[top]
        steps = _NO_STEPS if isinstance(root, LeafNode) else list(_steps(root))
        for (one, form), below in zip(columns[top], steps, strict=True):
            assert form is not None
            path = ((place, root.field.nullable, 0),) if root is one.leaf else _path((place, *below), one.leaf)
            plain.append(one)
            places.append(place)
            native.append((path, one.leaf.column, *form.numbers))
    zoned = max(rows_per_zone, default=None)
    return PlainPlan(
        leaves=tuple(plain),
        tops=(*tops, *with_strings),
        places=tuple(places),
        num_fixed=num_fixed,
        native=NativePlan(encoders, native),
        with_zones=described(encoder.column(zoned)),
        without_zones=described(encoder.column(None)),
        encoder=encoder,
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """What the engine knows of leaves of one type and options.

    Parameters
    ----------
    is_variable
        Whether values are byte strings.
    numbers
        As `NativePlan` takes them, behind the path and the column.
    """

    is_variable: bool
    numbers: tuple[Any, ...]


def _form(one: LeafPlan, encoders: list[NativeEncoders], encoder: PageEncoder) -> _Form | None:
    """Return the form of a leaf, whose encoders are added; None if it is not written natively."""
    if not is_plain(one):
        return None
    found = native_encoders(encoder, one.leaf.leaf, one.options)
    if found is None:
        return None
    encoders.append(found)
    shape = one.leaf.leaf.shape
    bits = shape.bits if isinstance(shape, FixedWidth) else 0
    offset_bits = shape.offset_bits if isinstance(shape, VariableWidth) else 0
    bounds = kind_of_bounds(one.leaf.storage) if one.rows_per_zone and bits else _NO_BOUNDS
    is_text = not bits and one.leaf.leaf.is_text
    numbers = (bits, offset_bits, len(encoders) - 1, *bounds, is_text, one.rows_per_zone)
    return _Form(offset_bits > 0, numbers)


def _path(children: Sequence[int], leaf: LeafNode) -> tuple[tuple[int, bool, int], ...]:
    """Return the children that lead from the batch to a leaf, whether each may be null, and bits of offsets."""
    return tuple(zip(children, reversed(leaf.nullable), reversed(leaf.offset_bits), strict=True))


def _steps(node: ColumnNode) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of the children that lead to each leaf."""
    for number, child in enumerate(node.children):
        if isinstance(child, LeafNode):
            yield (number,)
        else:
            for below in _steps(child):
                yield (number, *below)


def is_plain(plan: LeafPlan) -> bool:
    """Return whether a leaf has structs and lists above it at most, and values that Arrow has in one buffer, or two."""
    leaf = plan.leaf
    if leaf.leaf.items is not None or leaf.is_blob or NodeKind.FIXED_SIZE_LIST in leaf.leaf.nodes:
        return False
    shape, type_ = leaf.leaf.shape, leaf.field.type
    if isinstance(shape, VariableWidth):
        return is_variable(type_)
    if not isinstance(shape, FixedWidth) or not 0 < shape.bits < _MOST_PLAIN_BITS:
        return False
    types = pa.types
    is_one_buffer = types.is_primitive(type_) or types.is_decimal(type_) or types.is_fixed_size_binary(type_)
    return is_one_buffer and type_.bit_width == shape.bits
