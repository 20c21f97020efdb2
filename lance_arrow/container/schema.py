"""The Arrow schema of a file, and the physical columns of its leaves.

Since 2.1 only leaves have columns: each repeats the structure above it. In 2.0 structs and lists also have a column,
before those of their children.

    schema   a: struct<x, y: list<int>>      2.1   0: a.x   1: a.y          2.0   0: (a)  1: a.x  2: (a.y)  3: a.y
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

import pyarrow as pa

from lance_arrow.container.extension_types import (
    BINARY_JSON,
    EXTENSION_NAME,
    JSON_METADATA,
    extension_metadata,
    with_extension_types,
)
from lance_arrow.container.fields import BLOB_KEY, MAX_DEPTH, NO_ID, SchemaField, too_deep
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.logical_types import child_fields, format_logical_type, parse_logical_type
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, LanceError, UnsupportedError, located

LEGACY_VERSIONS = (FileVersion.V0_1, FileVersion.V2_0)
"""Versions in which structs and lists have columns."""
_WITHOUT_NEW_TYPES = (*LEGACY_VERSIONS, FileVersion.V2_1)


class AncestorKind(enum.Enum):
    """Kind of a node above a leaf."""

    STRUCT = "struct"
    LIST = "list"
    LARGE_LIST = "large_list"
    MAP = "map"
    FIXED_SIZE_LIST = "fixed_size_list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ancestor:
    """A node above a leaf.

    Parameters
    ----------
    kind
        Kind of the node; the entries of a map are a struct below it.
    path
        Its dotted path.
    nullable
        Whether the schema allows nulls.
    header_column
        Physical column of the node, in 2.0 files; None in later ones.
    list_size
        Items per list of a fixed-size list, 1 for every other kind.
    field_id
        Id of its field.
    """

    kind: AncestorKind
    path: str
    nullable: bool
    header_column: int | None = None
    list_size: int = 1
    field_id: int = NO_ID


# Not frozen: thousands are made of wide files, and making them so takes three times as long.
@dataclass(slots=True, kw_only=True, unsafe_hash=True)
class LeafColumn:
    """A leaf of the schema and its physical column.

    Parameters
    ----------
    column
        Number of the physical column.
    path
        Names of the fields from the top, joined by dots; items of lists and entries of maps are named too.
    type
        Arrow storage type; a struct where it is packed, a blob descriptor, or empty.
    nullable
        Whether the schema allows nulls.
    ancestors
        Inner-most first.
    is_packed, is_blob
        The struct is stored in one column; values are stored outside the pages.
    field_id
        Id of its field.
    """

    column: int
    path: str
    type: pa.DataType
    nullable: bool
    ancestors: tuple[Ancestor, ...] = ()
    is_packed: bool = False
    is_blob: bool = False
    field_id: int = NO_ID

    @property
    def lengths_per_row(self) -> int:
        """How many rows page lengths count per row of the file: the product of fixed-size lists of structs above."""
        product = 1
        for ancestor in self.ancestors:
            product *= ancestor.list_size
        return product


def arrow_schema(fields: Sequence[SchemaField], metadata: Mapping[str, bytes] | None = None) -> pa.Schema:
    """Build the Arrow schema of a field tree.

    Parameters
    ----------
    fields
        Top-level fields.
    metadata
        Metadata of the schema.

    Returns
    -------
    pyarrow.Schema
        Extension types that are registered with pyarrow are restored, others are storage with metadata.

    Raises
    ------
    CorruptFileError
        A type string or its children are wrong, or an extension type does not fit its storage.
    UnsupportedError
        An unknown type.
    """
    schema = pa.schema(
        [_arrow_field(node, node.name) for node in fields],
        metadata=dict(sorted(metadata.items())) if metadata else None,
    )
    if not any(EXTENSION_NAME in node.metadata for top in fields for node in top.walk()):
        return schema
    return with_extension_types(schema)


def _arrow_field(node: SchemaField, path: str) -> pa.Field:
    children = [_arrow_field(child, child_path(node.logical_type, path, child.name)) for child in node.children]
    type_ = _arrow_type(node, path, children)
    # A column of nulls with nullable=False can be written, but pyarrow has no such field.
    nullable = node.nullable or pa.types.is_null(type_)
    return pa.field(node.name, type_, nullable=nullable, metadata=dict(node.metadata) or None)


def _arrow_type(node: SchemaField, path: str, children: Sequence[pa.Field]) -> pa.DataType:
    try:
        return parse_logical_type(node.logical_type, children)
    except LanceError as error:
        error.column = path
        raise


def fields_from_arrow(schema: pa.Schema) -> tuple[SchemaField, ...]:
    """Build the field tree of an Arrow schema, numbered in pre-order from 0.

    Raises
    ------
    UnsupportedError
        The format has no such type, or it is nested deeper than 63 levels; the column is named.
    """
    ids = iter(range(1 << 31))
    fields = []
    known: dict[pa.DataType, str] = {}
    for node in schema:
        type_ = node.type
        if node.metadata or type_.num_fields or isinstance(type_, pa.BaseExtensionType):
            fields.append(_schema_field(node, node.name, NO_ID, ids, 1))
            continue
        # Most columns: thousands of few types, and nothing else to tell.
        text = known.get(type_)
        if text is None:
            with located(column=node.name):
                text = known[type_] = format_logical_type(type_)
        fields.append(SchemaField(node.name, next(ids), NO_ID, text, node.nullable))
    return tuple(fields)


def _schema_field(node: pa.Field, path: str, parent_id: int, ids: Iterator[int], depth: int) -> SchemaField:
    own = next(ids)
    if depth > MAX_DEPTH:
        raise too_deep(path)
    with located(column=path):
        metadata = _text_keys(node.metadata)
        type_ = node.type
        if isinstance(type_, pa.JsonType):
            # Stored as binary JSON with the format's own name.
            metadata |= JSON_METADATA
            type_ = pa.large_binary()
        if type_ == pa.large_binary() and metadata.get(EXTENSION_NAME) == BINARY_JSON:
            logical_type = "json"
        else:
            if isinstance(type_, pa.BaseExtensionType):
                metadata |= extension_metadata(type_)
                type_ = type_.storage_type
            logical_type = format_logical_type(type_)
    parent_id_below = own
    if logical_type == "struct" and BLOB_KEY in metadata:
        # The descriptor fields of a blob have no ids, and their parent is the field before them.
        parent_id_below, ids = NO_ID, repeat(NO_ID)
    children = tuple(
        _schema_field(child, child_path(logical_type, path, child.name), parent_id_below, ids, depth + 1)
        for child in child_fields(type_)
    )
    return SchemaField(
        name=node.name,
        id=own,
        parent_id=parent_id,
        logical_type=logical_type,
        nullable=node.nullable,
        metadata=metadata,
        extension_name=metadata.get(EXTENSION_NAME, b"").decode(),
        children=children,
    )


def _text_keys(metadata: Mapping[bytes, bytes] | None) -> dict[str, bytes]:
    try:
        return {key.decode(): value for key, value in (metadata or {}).items()}
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"a metadata key is not UTF-8: {error.object!r}") from error


def column_mapping(fields: Sequence[SchemaField], version: FileVersion) -> tuple[LeafColumn, ...]:
    """Number the physical columns of a file in pre-order, and return those of the leaves, in order.

    Parameters
    ----------
    fields
        Top-level fields.
    version
        Version of the file.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `arrow_schema`; also for a type that this version of the file does not have.
    """
    return tuple(_Walk(version).leaves(fields))


def count_columns(leaves: Sequence[LeafColumn]) -> int:
    """Return the number of physical columns of all leaves of a file, header columns of 2.0 files included."""
    return 1 + max((leaf.column for leaf in leaves), default=-1)


@dataclass(slots=True)
class _Walk:
    version: FileVersion
    next_column: int = field(default=0)

    def leaves(self, fields: Sequence[SchemaField]) -> Iterator[LeafColumn]:
        # The types of columns of one name are one: wide schemas have few.
        types: dict[str, pa.DataType] = {}
        for top in fields:
            if top.children or top.metadata:
                yield from self._below(top, top.name, ())
                continue
            type_ = types.get(top.logical_type)
            if type_ is None:
                type_ = types[top.logical_type] = _arrow_type(top, top.name, ())
            yield LeafColumn(column=self.next_column, path=top.name, type=type_, nullable=top.nullable, field_id=top.id)
            self.next_column += 1

    def _below(self, node: SchemaField, path: str, above: tuple[Ancestor, ...]) -> Iterator[LeafColumn]:
        is_packed = node.is_packed(self.version)
        is_blob = node.is_blob and self.version is not FileVersion.V0_1
        if not node.children or is_packed or is_blob:
            children = [_arrow_field(child, f"{path}.{child.name}") for child in node.children]
            yield LeafColumn(
                column=self._number(),
                path=path,
                type=_arrow_type(node, path, children),
                nullable=node.nullable,
                ancestors=above,
                is_packed=is_packed,
                is_blob=is_blob,
                field_id=node.id,
            )
            return
        ancestor = _ancestor(node, path)
        self._check_version(ancestor)
        if self.version in LEGACY_VERSIONS:
            ancestor = replace(ancestor, header_column=self._number())
        for child in node.children:
            yield from self._below(child, child_path(node.logical_type, path, child.name), (ancestor, *above))

    def _number(self) -> int:
        self.next_column += 1
        return self.next_column - 1

    def _check_version(self, ancestor: Ancestor) -> None:
        new = ancestor.kind in (AncestorKind.MAP, AncestorKind.FIXED_SIZE_LIST)
        if new and self.version in _WITHOUT_NEW_TYPES:
            raise UnsupportedError(
                f"{ancestor.kind.value} columns of this kind require file version 2.2, this is {self.version}",
                column=ancestor.path,
            )


def child_path(logical_type: str, path: str, name: str) -> str:
    """Return the dotted path of a field below another."""
    # Arrow does not keep the field name of a map's entries.
    return f"{path}.entries" if logical_type == "map" else f"{path}.{name}"


def _ancestor(node: SchemaField, path: str) -> Ancestor:
    kind = node.logical_type.split(".", 1)[0].split(":", 1)[0]
    try:
        known = AncestorKind(kind)
    except ValueError:
        raise CorruptFileError(f"the type {node.logical_type!r} cannot have child fields", column=path) from None
    size = node.logical_type.rpartition(":")[2] if known is AncestorKind.FIXED_SIZE_LIST else "1"
    if not size.isdecimal() or not 0 < int(size) < 1 << 31:
        raise CorruptFileError(f"the type {node.logical_type!r} has no dimension", column=path)
    return Ancestor(kind=known, path=path, nullable=node.nullable, list_size=int(size), field_id=node.id)
