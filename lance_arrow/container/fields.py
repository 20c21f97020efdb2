"""The field tree of a schema: from the flat list in the file, and back.

Source: lance.file.Field, a pre-order list in which parents are named by id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import file_schema_pb2

if TYPE_CHECKING:
    import pyarrow as pa

MAX_DEPTH = 63
"""Deepest field. Arrow takes batches of 64 levels by its C interface, and the batch itself is one of them."""
NO_ID = -1
BLOB_KEY = "lance-encoding:blob"
_PACKED_KEY = "lance-encoding:packed"
_OLD_PACKED_KEY = "packed"
_TRUE_WORDS = (b"true", b"1", b"on", b"yes", b"y")
_PRIMARY_KEY = "lance-schema:unenforced-primary-key"
_CLUSTERING_KEY = "lance-schema:unenforced-clustering-key"
_POSITION = re.compile(rb"\+?[0-9]{1,20}")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One node of a file's or table's schema.

    Parameters
    ----------
    name
        Name of the field, unique among siblings.
    id
        Number in the schema; -1 for the descriptor fields of a blob column.
    parent_id
        -1 at the top.
    logical_type
        The Arrow type in the format's spelling.
    nullable
        Arrow nullability.
    metadata
        Arrow field metadata; values are bytes.
    extension_name
        Name of the Arrow extension type, empty for none.
    children
        Struct fields, list items, map entries.
    """

    name: str
    id: int
    parent_id: int
    logical_type: str
    nullable: bool = True
    metadata: Mapping[str, bytes] = field(default_factory=dict)
    extension_name: str = ""
    children: tuple[SchemaField, ...] = ()

    def is_packed(self, version: FileVersion) -> bool:
        """Return whether this is a struct in one column of a file of this version.

        Source: field metadata ``lance-encoding:packed`` and, older, ``packed``; one of them is enough. 2.0 writers read
        the older key. Without it, they treat the newer key as true, for any value.
        """
        if self.logical_type != "struct" or not self.children or version is FileVersion.V0_1:
            return False
        if version is FileVersion.V2_0 and _OLD_PACKED_KEY not in self.metadata:
            return _PACKED_KEY in self.metadata
        keys = (_OLD_PACKED_KEY,) if version is FileVersion.V2_0 else (_PACKED_KEY, _OLD_PACKED_KEY)
        return any(self.metadata.get(key, b"").lower() in _TRUE_WORDS for key in keys)

    @property
    def is_blob(self) -> bool:
        """Whether values are outside the pages: the key has any value. Source: ``lance-encoding:blob``."""
        return BLOB_KEY in self.metadata and self.logical_type in ("binary", "large_binary", "struct")

    def walk(self) -> Iterator[SchemaField]:
        """Yield this field and all below it, in pre-order."""
        yield self
        for child in self.children:
            yield from child.walk()


def too_deep(path: str) -> UnsupportedError:
    """Return the error of a column that cannot be written: it has more levels than could be read."""
    column = path.partition(".")[0]
    return UnsupportedError(f"it is nested deeper than {MAX_DEPTH} levels", column=column, detail=MAX_DEPTH)


def fields_from_messages(messages: Iterable[file_schema_pb2.Field]) -> tuple[SchemaField, ...]:
    """Build the field tree from the list in the file.

    Parameters
    ----------
    messages
        Fields in pre-order.

    Returns
    -------
    tuple of SchemaField
        The top-level fields, in order.

    Raises
    ------
    CorruptFileError
        Ids repeat, a parent is missing or comes later, siblings share a name, or the tree is deeper than 63.
    """
    nodes = _Nodes()
    for message in messages:
        nodes.add(message)
    return nodes.top()


class _Nodes:
    """The tree during construction: nodes by position in the list, children by position of their parent."""

    def __init__(self) -> None:
        self.messages: list[file_schema_pb2.Field] = []
        self.children: list[list[int]] = []
        self.depths: list[int] = []
        self.roots: list[int] = []
        self.by_id: dict[int, int] = {}
        self.open_blob: int | None = None

    def add(self, message: file_schema_pb2.Field) -> None:
        number = len(self.messages)
        if message.id < NO_ID or message.parent_id < NO_ID:
            raise CorruptFileError(f"field {message.name!r} has the id {message.id} and the parent {message.parent_id}")
        parent = self._parent(message)
        depth = 1 if parent is None else self.depths[parent] + 1
        if depth > MAX_DEPTH:
            raise CorruptFileError(f"field {message.name!r} lies deeper than {MAX_DEPTH} levels")
        if message.id != NO_ID:
            if message.id in self.by_id:
                raise CorruptFileError(f"field id {message.id} is used twice, the second time by {message.name!r}")
            self.by_id[message.id] = number
            self.open_blob = number if _is_blob_struct(message) else None
        self.messages.append(message)
        self.children.append([])
        self.depths.append(depth)
        (self.roots if parent is None else self.children[parent]).append(number)

    def _parent(self, message: file_schema_pb2.Field) -> int | None:
        if message.parent_id == NO_ID:
            # Descriptor fields of a blob column have no id and no parent id; they follow their parent directly.
            return self.open_blob if message.id == NO_ID else None
        if message.parent_id not in self.by_id:
            raise CorruptFileError(
                f"field {message.name!r} names the parent {message.parent_id}, which does not precede it"
            )
        return self.by_id[message.parent_id]

    def top(self) -> tuple[SchemaField, ...]:
        # Children follow their parents in the list, so a backward pass visits each field after all below it.
        built: dict[int, SchemaField] = {}
        for number in range(len(self.messages) - 1, -1, -1):
            children = tuple(built.pop(child) for child in self.children[number])
            _check_names(children, self.messages[number].name)
            built[number] = _field(self.messages[number], children)
        top = tuple(built[number] for number in self.roots)
        _check_names(top, None)
        return top


def field_metadata(message: file_schema_pb2.Field) -> dict[str, bytes]:
    """Return the Arrow metadata of a field, with the name of its extension type."""
    # A protobuf map has no order; keys are sorted, so that a file gives the same bytes in every process.
    metadata = dict(sorted(message.metadata.items()))
    if message.extension_name:
        metadata.setdefault(EXTENSION_NAME, message.extension_name.encode())
    return metadata


def _field(message: file_schema_pb2.Field, children: tuple[SchemaField, ...]) -> SchemaField:
    return SchemaField(
        name=message.name,
        id=message.id,
        parent_id=message.parent_id,
        logical_type=message.logical_type,
        nullable=message.nullable,
        metadata=field_metadata(message),
        extension_name=message.extension_name,
        children=children,
    )


def _is_blob_struct(message: file_schema_pb2.Field) -> bool:
    return message.logical_type == "struct" and BLOB_KEY in message.metadata


def _check_names(siblings: Sequence[SchemaField], parent: str | None) -> None:
    names = [sibling.name for sibling in siblings]
    if len(set(names)) != len(names):
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        where = "the schema" if parent is None else f"field {parent!r}"
        raise CorruptFileError(f"{where} has two fields of the name {twice!r}", column=twice)


def fields_to_messages(fields: Iterable[SchemaField]) -> list[file_schema_pb2.Field]:
    """Flatten a field tree into the list of the file, in pre-order."""
    found = []
    make = file_schema_pb2.Field
    hints: dict[str, file_schema_pb2.Encoding] = {}
    for top in fields:
        if top.children or top.metadata:
            found += [_message(node) for node in top.walk()]
            continue
        # Most columns: a few calls for each would take most of the time of planning a wide file.
        text = top.logical_type
        if text not in hints:
            hints[text] = _encoding_hint(text)
        found.append(
            make(
                name=top.name,
                id=top.id,
                parent_id=top.parent_id,
                logical_type=text,
                nullable=top.nullable,
                encoding=hints[text],
                extension_name=top.extension_name,
            )
        )
    return found


def _message(node: SchemaField) -> file_schema_pb2.Field:
    said, position = node.metadata.get(_PRIMARY_KEY, b""), _position(node.metadata, _PRIMARY_KEY)
    return file_schema_pb2.Field(
        name=node.name,
        id=node.id,
        parent_id=node.parent_id,
        logical_type=node.logical_type,
        nullable=node.nullable,
        encoding=_encoding_hint(node.logical_type),
        extension_name=node.extension_name,
        metadata=dict(node.metadata),
        # A position makes a key, even with "false" beside it; for clustering keys the reference writes only the
        # position.
        unenforced_primary_key=said.lower() in _TRUE_WORDS or position is not None,
        unenforced_primary_key_position=position or 0,
        unenforced_clustering_key_position=_position(node.metadata, _CLUSTERING_KEY) or 0,
    )


def primary_key(schema: pa.Schema) -> tuple[str, ...]:
    """Return the names of the columns that the metadata of a schema declare as primary key, in order of the key."""
    found = []
    for column in schema:
        metadata = {name.decode("utf-8", "replace"): value for name, value in (column.metadata or {}).items()}
        position = _position(metadata, _PRIMARY_KEY)
        if metadata.get(_PRIMARY_KEY, b"").lower() in _TRUE_WORDS or position is not None:
            found.append((position or 0, column.name))
    return tuple(name for _, name in sorted(found, key=lambda one: one[0]))


def _position(metadata: Mapping[str, bytes], key: str) -> int | None:
    text = metadata.get(f"{key}:position", b"")
    return int(text) if _POSITION.fullmatch(text) and int(text) < 1 << 32 else None


def _encoding_hint(logical_type: str) -> file_schema_pb2.Encoding:
    """Return the value that writers still store in the legacy hint. Source: lance.file.Field.encoding."""
    kind = logical_type.split(":", 1)[0]
    if kind in ("struct", "null"):
        return file_schema_pb2.NONE
    if kind == "dict":
        return file_schema_pb2.DICTIONARY
    if kind in ("string", "large_string", "binary", "large_binary", "json"):
        return file_schema_pb2.VAR_BINARY
    return file_schema_pb2.PLAIN
