"""`TableColumns`: the schema of a version as a column tree, whose leaves know their field ids.

Beside the table's own columns it has virtual ones, which are valid wherever columns are named. They hold the address of
a row (``_rowaddr``), its id (``_rowid``), and the versions that made and changed it.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.blob_fields import DESCRIPTOR_TYPE
from lance_arrow.arrays.column_roots import NamedRoots
from lance_arrow.arrays.column_tree import LeafNode, column_tree
from lance_arrow.arrays.dictionaries import decoded_schema
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.fields import BLOB_KEY, NO_ID, SchemaField
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import arrow_schema, column_mapping, fields_from_arrow
from lance_arrow.errors import CorruptFileError, CorruptManifestError, located
from lance_arrow.manifests.table_facts import TableFacts
from lance_arrow.spi import FixedWidth, LeafType
from lance_arrow.spi.leaf_type import NodeKind

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.field_bindings import FieldBindings
    from lance_arrow.scan.fragments.table_zones import TableZones

# The generation that knows every type; columns of other files are matched by field id.
_BLOB_EXTENSION = b"lance.blob.v2"
_TREE_VERSION = FileVersion.V2_2
_MAX_HELD = 32


class VirtualColumn(enum.Enum):
    """A column that no file holds; the value is the number that stands for its physical column."""

    ROW_ID = -1
    ROW_ADDRESS = -2
    CREATED_AT = -3
    UPDATED_AT = -4


NAME_OF = {
    VirtualColumn.ROW_ID: "_rowid",
    VirtualColumn.ROW_ADDRESS: "_rowaddr",
    VirtualColumn.CREATED_AT: "_row_created_at_version",
    VirtualColumn.UPDATED_AT: "_row_last_updated_at_version",
}
_ROW_VERSIONS = (VirtualColumn.CREATED_AT, VirtualColumn.UPDATED_AT)


class TableColumns:
    """Columns of one version of a table.

    Parameters
    ----------
    facts
        The version.
    options
        How callers see columns.

    Raises
    ------
    CorruptManifestError
        The schema contradicts itself.
    UnsupportedError
        A type is not known here.
    """

    def __init__(self, facts: TableFacts, options: ReadOptions) -> None:
        self.facts = facts
        self.options = options
        with located(path=facts.manifest_path):
            shown = _shown(facts, options)
        self._shown = shown
        self.roots: NamedRoots = shown.roots
        self.schema: pa.Schema = shown.schema
        self._field_ids = shown.field_ids
        self._ids_above = shown.ids_above

    @cached_property
    def zones(self) -> TableZones:
        """Zones of the fragments, from indices."""
        # A plan without a filter needs none.
        from lance_arrow.scan.fragments.table_zones import TableZones  # noqa: PLC0415

        return TableZones(self.facts, allow_external_bases=self.options.allow_external_bases)

    @property
    def bindings(self) -> FieldBindings:
        """How sets of columns are bound to those of files; tables of one schema share it."""
        return self._shown.bindings

    @property
    def _full(self) -> _Full:
        shown = self._shown
        return shown.with_row_versions if self.facts.has_stable_row_ids else shown.without_row_versions

    @property
    def virtual(self) -> tuple[LeafNode, ...]:
        """The virtual columns whose names no column of the table has."""
        return self._full.virtual

    @property
    def all_roots(self) -> NamedRoots:
        """The table's columns, then the virtual ones."""
        return self._full.roots

    @property
    def full_schema(self) -> pa.Schema:
        """The schema with the virtual columns at its end."""
        return self._full.schema

    def field_id(self, leaf: LeafNode) -> int:
        """Return the field id of a leaf that is not virtual."""
        return self._field_ids[leaf.column]

    def ids_above(self, leaf: LeafNode) -> tuple[int, ...]:
        """Return the field ids of the nodes above a leaf, the column's own first."""
        return self._ids_above[self._field_ids[leaf.column]]


@dataclass(frozen=True, eq=False)
class _Full:
    """Columns of a table, then virtual ones.

    Parameters
    ----------
    table
        The table's columns.
    virtual
        The virtual columns.
    stored
        Schema of the table's columns.
    """

    table: NamedRoots
    virtual: tuple[LeafNode, ...]
    stored: pa.Schema

    @cached_property
    def roots(self) -> NamedRoots:
        return NamedRoots([*self.table, *self.virtual])

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([*self.stored, *(node.field for node in self.virtual)], self.stored.metadata)


@dataclass(frozen=True, eq=False)
class _Shown:
    """What callers see of a schema: the same for versions, and tables, that have the same fields."""

    fields: tuple[SchemaField, ...]
    metadata: Mapping[str, bytes]
    schema: pa.Schema
    roots: NamedRoots
    field_ids: Mapping[int, int]
    ids_above: Mapping[int, tuple[int, ...]]

    @cached_property
    def bindings(self) -> FieldBindings:
        from lance_arrow.scan.fragments.field_bindings import FieldBindings  # noqa: PLC0415 - where rows are read

        return FieldBindings()

    @cached_property
    def with_row_versions(self) -> _Full:
        return self._full(tuple(VirtualColumn))

    @cached_property
    def without_row_versions(self) -> _Full:
        return self._full(tuple(kind for kind in VirtualColumn if kind not in _ROW_VERSIONS))

    def _full(self, kinds: Sequence[VirtualColumn]) -> _Full:
        names = self.roots.names
        virtual = tuple(_virtual(kind) for kind in kinds if NAME_OF[kind] not in names)
        return _Full(self.roots, virtual, self.schema)

    @classmethod
    def of(cls, facts: TableFacts, options: ReadOptions) -> _Shown:
        try:
            fields = tuple(_as_stored(field) for field in facts.fields)
            stored = arrow_schema(fields, facts.schema_metadata)
            leaves = column_mapping(fields, _TREE_VERSION)
        except CorruptFileError as error:
            raise CorruptManifestError(f"the schema is wrong: {error.message}", column=error.column) from error
        if options.dictionaries == "decode":
            stored = decoded_schema(stored)
        roots = column_tree(stored, leaves, options)
        shown = [root.shown for root in roots]
        # Fields of other forms are new objects, as those of blobs.
        is_plain = all(mine is field for mine, field in zip(shown, stored, strict=True))
        return cls(
            facts.fields,
            facts.schema_metadata,
            stored if is_plain else pa.schema(shown, stored.metadata),
            NamedRoots(roots),
            {leaf.column: leaf.field_id for leaf in leaves},
            {leaf: above for field in fields for leaf, above in _leaves_below(field, ())},
        )


_held: OrderedDict[tuple[int, ReadOptions], _Shown] = OrderedDict()
_lock = Lock()


def _shown(facts: TableFacts, options: ReadOptions) -> _Shown:
    """Work out what callers see, unless it is known: manifests of one schema have the same object for its fields."""
    key = id(facts.fields), options
    with _lock:
        found = _held.get(key)
        # Of fields that are held here, no others have the number.
        if found is not None and found.fields is facts.fields and found.metadata == facts.schema_metadata:
            _held.move_to_end(key)
            return found
    made = _Shown.of(facts, options)
    # Which extension types are registered may change.
    if not any(EXTENSION_NAME in node.metadata for top in facts.fields for node in top.walk()):
        with _lock:
            _held[key] = made
            if len(_held) > _MAX_HELD:
                _held.popitem(last=False)
    return made


def _as_stored(field: SchemaField) -> SchemaField:
    """Show blobs of the second kind as files do: manifests have them as a struct of what a writer is given."""
    if field.metadata.get(EXTENSION_NAME) != _BLOB_EXTENSION:
        if not field.children:
            return field
        return replace(field, children=tuple(_as_stored(child) for child in field.children))
    metadata = {key: value for key, value in field.metadata.items() if key != EXTENSION_NAME}
    descriptor = fields_from_arrow(pa.schema(list(DESCRIPTOR_TYPE)))
    children = tuple(replace(child, id=NO_ID, parent_id=NO_ID) for child in descriptor)
    return replace(
        field, logical_type="struct", extension_name="", metadata={**metadata, BLOB_KEY: b"true"}, children=children
    )


def _leaves_below(field: SchemaField, above: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, ...]]]:
    yield field.id, above
    for child in field.children:
        yield from _leaves_below(child, (*above, field.id))


def _virtual(kind: VirtualColumn) -> LeafNode:
    return LeafNode(
        pa.field(NAME_OF[kind], pa.uint64(), nullable=True),
        NAME_OF[kind],
        column=kind.value,
        leaf=LeafType(FixedWidth(64), (NodeKind.ITEM,), None),
        offset_bits=(0,),
        dimensions=(0,),
        nullable=(True,),
        lengths_per_row=1,
    )
