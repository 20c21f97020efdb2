"""`SchemaNodes`: the fields of a schema as arrays; Arrow fields and leaves are made for the columns that are asked for.

Files with thousands of columns are opened for a few of them. So the schema is read natively, and checked as a whole;
objects for its fields are made later. Unusual schemas are read by `fields_from_messages`, which raises exact errors.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.container.extension_types import with_extension_types
from lance_arrow.container.fields import field_metadata
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.logical_types import parse_logical_type
from lance_arrow.container.schema import LEGACY_VERSIONS, Ancestor, AncestorKind, LeafColumn, child_path
from lance_arrow.engine import read_schema_message
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import file_schema_pb2

# Members of a node, as the engine's `SchemaNode` has them, and its flags.
_MESSAGE, _MESSAGE_BYTES, _ID, _PARENT, _END, _TYPE, _COLUMN, _FLAGS = 0, 1, 4, 5, 6, 7, 8, 9
_NULLABLE, _HAS_METADATA, _HAS_EXTENSION, _IS_LEAF, _IS_PACKED, _IS_BLOB = 1, 2, 4, 8, 16, 32
_MINOR = {FileVersion.V2_0: 0, FileVersion.V2_1: 1, FileVersion.V2_2: 2, FileVersion.V2_3: 3}


class SchemaNodes:
    """A schema whose fields and types are known to be valid.

    Parameters
    ----------
    message
        The serialized Schema.
    version
        Version of the file.
    facts
        ``(n, k) int64``: members of each node, in pre-order.
    names
        Names of the nodes.
    types
        Distinct types: their names, and the Arrow types of those without fields below.
    num_columns
        Physical columns.
    metadata
        Metadata of the schema, in order.
    """

    def __init__(
        self,
        message: bytes,
        version: FileVersion,
        facts: NDArray[np.int64],
        names: list[str],
        types: list[tuple[str, pa.DataType | None]],
        num_columns: int,
        metadata: dict[bytes, bytes],
    ) -> None:
        self._message = message
        self._version = version
        self._facts = facts
        self._all_names = names
        self._types = types
        self.num_columns = num_columns
        self.metadata = metadata
        self._above: dict[int, tuple[Ancestor, ...]] = {-1: ()}

    @classmethod
    def read(cls, message: bytes, version: FileVersion) -> SchemaNodes | None:
        """Read a serialized Schema; None if it is unusual or damaged, or in a file of 0.1."""
        minor = _MINOR.get(version)
        found = None if minor is None else read_schema_message(message, minor)
        if found is None:
            return None
        facts, names, texts, num_columns, metadata = found
        try:
            types = [(text, parse_logical_type(text, ()) if is_leaf else None) for text, is_leaf in texts]
            nodes = cls(message, version, facts, names, types, num_columns, dict(sorted(metadata)))
            nodes._check()
        except (CorruptFileError, UnsupportedError):
            return None
        return nodes

    def _check(self) -> None:
        """Check the sizes of fixed-size lists of structs, and that extension types fit their storage."""
        item = pa.field("item", pa.struct([]))
        for text, leaf in self._types:
            if leaf is None and text.startswith("fixed_size_list"):
                parse_logical_type(text, (item,))
        if self.has_extensions:
            extended = np.flatnonzero(self._facts[:, _FLAGS] & _HAS_EXTENSION)
            for top in np.unique(np.searchsorted(self._tops, extended, side="right") - 1).tolist():
                self.field(top)

    @cached_property
    def has_extensions(self) -> bool:
        """Whether some field names an extension type."""
        return bool((self._facts[:, _FLAGS] & _HAS_EXTENSION).any())

    @cached_property
    def has_field_metadata(self) -> bool:
        """Whether some field has metadata."""
        return bool((self._facts[:, _FLAGS] & _HAS_METADATA).any())

    @cached_property
    def _is_plain(self) -> bool:
        """Whether no field has metadata, or fields below it."""
        is_flat = len(self._tops) == len(self._facts) and all(type_ is not None for _, type_ in self._types)
        return is_flat and not self.has_field_metadata

    @property
    def counts_rows_once(self) -> bool:
        """Whether each page of the file has a row for each of the file's: no lists of 2.0, no fixed-size ones."""
        repeats = any(leaf is None and text.startswith("fixed_size_list") for text, leaf in self._types)
        return not repeats and self._version not in LEGACY_VERSIONS

    @cached_property
    def has_blobs(self) -> bool:
        """Whether some leaf has values outside the pages."""
        return bool((self._facts[:, _FLAGS] & (_IS_BLOB | _IS_LEAF) == (_IS_BLOB | _IS_LEAF)).any())

    @cached_property
    def _tops(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._facts[:, _PARENT] == -1)

    @cached_property
    def names(self) -> list[str]:
        """Names of the top-level fields."""
        names = self._all_names
        return names if len(self._tops) == len(names) else [names[number] for number in self._tops.tolist()]

    def field(self, top: int) -> pa.Field:
        """Return the Arrow field of a top-level field, with its extension types.

        Raises
        ------
        CorruptFileError
            An extension type does not fit its storage.
        """
        number = int(self._tops[top])
        stop = int(self._facts[number, _END])
        (field,) = self._arrow_fields(number, stop)
        if self.has_extensions and (self._facts[number:stop, _FLAGS] & _HAS_EXTENSION).any():
            field = with_extension_types(pa.schema([field])).field(0)
        return field

    def schema(self) -> pa.Schema:
        """Build the Arrow schema of all fields.

        Raises
        ------
        CorruptFileError
            As `field`.
        """
        fields = self._arrow_fields(0, len(self._facts)) if len(self._facts) else []
        schema = pa.schema(fields, metadata=self.metadata or None)
        return with_extension_types(schema) if self.has_extensions else schema

    def _arrow_fields(self, start: int, stop: int) -> list[pa.Field]:
        """Build the fields of whole subtrees with one parent, without extension types."""
        names, types, make = self._all_names, self._types, pa.field
        if self._is_plain:
            # As most wide schemas are.
            return [
                make(name, types[kind][1], flags & _NULLABLE != 0 or types[kind][0] == "null")
                for name, kind, flags in zip(
                    names[start:stop],
                    self._facts[start:stop, _TYPE].tolist(),
                    self._facts[start:stop, _FLAGS].tolist(),
                    strict=True,
                )
            ]
        # Children follow their parents, so a backward pass visits each field after all below it.
        waiting: dict[int, list[pa.Field]] = {}
        facts = self._facts[start:stop].tolist()
        for number in range(stop - 1, start - 1, -1):
            own = facts[number - start]
            text, type_ = types[own[_TYPE]]
            if type_ is None:
                type_ = parse_logical_type(text, waiting.pop(number, [])[::-1])
            nullable = own[_FLAGS] & _NULLABLE != 0 or text == "null"
            metadata = self._metadata(own) if own[_FLAGS] & _HAS_METADATA else None
            waiting.setdefault(own[_PARENT], []).append(make(names[number], type_, nullable, metadata))
        return waiting[facts[0][_PARENT]][::-1]

    def _metadata(self, own: list[int]) -> dict[str, bytes]:
        start = own[_MESSAGE]
        message = file_schema_pb2.Field.FromString(self._message[start : start + own[_MESSAGE_BYTES]])
        return field_metadata(message)

    @cached_property
    def _node_of_column(self) -> NDArray[np.intp]:
        # Columns are numbered in pre-order.
        return np.flatnonzero(self._facts[:, _COLUMN] >= 0)

    def leaves(self, top: int) -> list[LeafColumn]:
        """Return the leaves of a top-level field."""
        number = int(self._tops[top])
        return self._leaves(number, int(self._facts[number, _END]))

    def all_leaves(self) -> list[LeafColumn]:
        """Return the leaves of all fields."""
        return self._leaves(0, len(self._facts))

    def top_with(self, column: int) -> int:
        """Return the number of the top-level field that has an existing physical column."""
        # A search of numpy for one number takes twenty times as long.
        return bisect_right(self._tops, self._node_of_column[column]) - 1

    def leaf_spans(self) -> list[int]:
        """Return the first leaf of each top-level field, then the number of leaves."""
        leaves = np.flatnonzero(self._facts[:, _FLAGS] & _IS_LEAF)
        spans: list[int] = np.append(np.searchsorted(leaves, self._tops), len(leaves)).tolist()
        return spans

    def _leaves(self, start: int, stop: int) -> list[LeafColumn]:
        facts = self._facts[start:stop]
        leaves = np.flatnonzero(facts[:, _FLAGS] & _IS_LEAF)
        names, types, special = self._all_names, self._types, _IS_PACKED | _IS_BLOB
        found = []
        for number, own in zip((leaves + start).tolist(), facts[leaves].tolist(), strict=True):
            type_ = types[own[_TYPE]][1]
            if type_ is None or own[_PARENT] >= 0 or own[_FLAGS] & special:
                found.append(self._leaf(number, own))
                continue
            found.append(
                LeafColumn(
                    column=own[_COLUMN],
                    path=names[number],
                    type=type_,
                    nullable=own[_FLAGS] & _NULLABLE != 0,
                    field_id=own[_ID],
                )
            )
        return found

    def _leaf(self, number: int, own: list[int]) -> LeafColumn:
        type_ = self._types[own[_TYPE]][1]
        if type_ is None:
            type_ = self._arrow_fields(number, own[_END])[0].type
        flags, parent = own[_FLAGS], own[_PARENT]
        return LeafColumn(
            column=own[_COLUMN],
            path=self._path(number, parent),
            type=type_,
            nullable=flags & _NULLABLE != 0,
            ancestors=self._ancestors(parent),
            is_packed=flags & _IS_PACKED != 0,
            is_blob=flags & _IS_BLOB != 0,
            field_id=own[_ID],
        )

    def _path(self, number: int, parent: int) -> str:
        if parent < 0:
            return self._all_names[number]
        (above, *_) = self._ancestors(parent)
        return child_path(above.kind.value, above.path, self._all_names[number])

    def _ancestors(self, number: int) -> tuple[Ancestor, ...]:
        """Return a node and those above it, inner-most first."""
        held = self._above.get(number)
        if held is None:
            own = self._facts[number].tolist()
            text = self._types[own[_TYPE]][0]
            kind = AncestorKind(text.split(".", 1)[0].split(":", 1)[0])
            ancestor = Ancestor(
                kind=kind,
                path=self._path(number, own[_PARENT]),
                nullable=own[_FLAGS] & _NULLABLE != 0,
                header_column=None if own[_COLUMN] < 0 else own[_COLUMN],
                list_size=int(text.rpartition(":")[2]) if kind is AncestorKind.FIXED_SIZE_LIST else 1,
                field_id=own[_ID],
            )
            held = self._above[number] = (ancestor, *self._ancestors(own[_PARENT]))
        return held

    def lengths(self, column: int) -> tuple[str, int | None]:
        """Return the path of a physical column, and how often its pages count a row; see `SchemaFacts.lengths`."""
        number = int(self._node_of_column[column])
        parent = int(self._facts[number, _PARENT])
        above = self._ancestors(parent)
        product = 1
        for ancestor in above:
            product *= ancestor.list_size
        in_list = self._version in LEGACY_VERSIONS and any("list" in ancestor.kind.value for ancestor in above)
        return self._path(number, parent), None if in_list else product
