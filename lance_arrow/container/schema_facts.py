"""`SchemaFacts`: data derived from a schema message, computed once for all files with that schema."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.fields import SchemaField, fields_from_messages
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS, LeafColumn, arrow_schema, column_mapping, count_columns
from lance_arrow.proto import file_schema_pb2
from lance_arrow.proto.reading import parse


class Derived:
    """Cache of derived data by key; the last few results are kept."""

    max_answers = 8

    def __init__(self) -> None:
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, key: Hashable, work_out: Callable[[], Any]) -> Any:
        """Return the result for a key, computed if needed; two threads may compute it, and get the same result."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        answer = work_out()
        with self._lock:
            answer = self._held.setdefault(key, answer)
            if len(self._held) > self.max_answers:
                self._held.popitem(last=False)
        return answer


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """Data derived from a schema message."""

    fields: tuple[SchemaField, ...]
    schema: pa.Schema
    leaves: tuple[LeafColumn, ...]
    num_columns: int
    lengths: Mapping[int, tuple[str, int | None]]
    """Path of every physical column, and how often its pages count a row; None if only decoding shows it."""
    derived: Derived = field(default_factory=Derived, compare=False, repr=False)
    """Data derived above the container, for all files with this schema."""

    @classmethod
    def of(cls, message: file_schema_pb2.Schema, version: FileVersion) -> SchemaFacts:
        fields = fields_from_messages(message.fields)
        schema, leaves = arrow_schema(fields, message.metadata), column_mapping(fields, version)
        return cls(fields, schema, leaves, count_columns(leaves), _lengths(leaves, version))

    @property
    def has_extensions(self) -> bool:
        return any(EXTENSION_NAME in node.metadata for top in self.fields for node in top.walk())


def _lengths(leaves: Sequence[LeafColumn], version: FileVersion) -> Mapping[int, tuple[str, int | None]]:
    found: dict[int, tuple[str, int | None]] = {}
    for leaf in leaves:
        nodes = [(leaf.column, leaf.path), *((above.header_column, above.path) for above in leaf.ancestors)]
        for depth, (column, path) in enumerate(nodes):
            if column is not None:
                above = leaf.ancestors[depth:]
                in_list = version in LEGACY_VERSIONS and any("list" in node.kind.value for node in above)
                found[column] = path, None if in_list else leaf.lengths_per_row
    return found


class KnownSchemas:
    """Schemas of recently opened files, by content: files of a dataset share one, and building it is most of an open.

    Schemas with extension types are not kept: the registered types may change.
    """

    max_schemas = 32
    max_bytes = 64 << 10

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[bytes, FileVersion], SchemaFacts] = OrderedDict()
        self._lock = threading.Lock()

    def held(self, message: bytes, version: FileVersion) -> SchemaFacts | None:
        """Return the data of a serialized Schema, if it is kept."""
        key = message, version
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
            return held

    def keep(self, message: bytes, version: FileVersion, facts: SchemaFacts) -> None:
        """Keep the data of a serialized Schema, if it is small."""
        if len(message) <= self.max_bytes and not facts.has_extensions:
            with self._lock:
                self._held[message, version] = facts
                if len(self._held) > self.max_schemas:
                    self._held.popitem(last=False)

    def get(self, message: bytes, version: FileVersion) -> SchemaFacts:
        """Return the data of a serialized Schema."""
        facts = self.held(message, version)
        if facts is None:
            facts = SchemaFacts.of(parse(file_schema_pb2.Schema, message, what="the schema"), version)
            self.keep(message, version, facts)
        return facts


known_schemas = KnownSchemas()
