"""`SchemaFacts`: data derived from a schema message, computed once for all files with that schema.

Only what is asked for is computed: opening a file with thousands of columns makes no object for each of them.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeVar

import pyarrow as pa

from lance_arrow.container.extension_types import EXTENSION_NAME
from lance_arrow.container.fields import SchemaField, fields_from_messages
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import LEGACY_VERSIONS, LeafColumn, arrow_schema, column_mapping, count_columns
from lance_arrow.container.schema_nodes import SchemaNodes
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import file_schema_pb2
from lance_arrow.proto.reading import parse

T = TypeVar("T")


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

    def clear(self) -> None:
        """Forget all results."""
        with self._lock:
            self._held.clear()


class SchemaFacts:
    """Data derived from a schema message, each part at its first use.

    Parameters
    ----------
    message
        The serialized Schema.
    version
        Version of the file.

    Attributes
    ----------
    num_columns
        Number of physical columns.
    lengths
        Path of every physical column, and how often its pages count a row; None if only decoding shows it.
    derived
        Data derived above the container, for all files with this schema.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `fields_from_messages`, `arrow_schema` and `column_mapping`.
    """

    def __init__(self, message: bytes, version: FileVersion) -> None:
        self._message = message
        self._version = version
        self._nodes = SchemaNodes.read(message, version)
        self.derived = Derived()
        self.lengths: Mapping[int, tuple[str, int | None]]
        if self._nodes is not None:
            self.num_columns = self._nodes.num_columns
            self.lengths = _LazyLengths(self._nodes)
            return
        # All of it is made at once, and what is wrong is raised.
        assert self.schema is not None
        self.num_columns = count_columns(self.leaves)
        self.lengths = _lengths(self.leaves, version)

    @cached_property
    def _parsed(self) -> file_schema_pb2.Schema:
        return parse(file_schema_pb2.Schema, self._message, what="the schema")

    @cached_property
    def fields(self) -> tuple[SchemaField, ...]:
        """Top-level fields, with ids."""
        return fields_from_messages(self._parsed.fields)

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, metadata included."""
        if self._nodes is not None:
            return self._nodes.schema()
        return arrow_schema(self.fields, self._parsed.metadata)

    @cached_property
    def leaves(self) -> tuple[LeafColumn, ...]:
        """Leaves of the schema and their physical columns, in order."""
        if self._nodes is not None:
            return tuple(self._nodes.all_leaves())
        return column_mapping(self.fields, self._version)

    @property
    def metadata(self) -> dict[bytes, bytes] | None:
        """Metadata of the schema; None if it has none."""
        return self.schema.metadata if self._nodes is None else self._nodes.metadata or None

    @property
    def names(self) -> list[str]:
        """Names of the top-level fields."""
        names: list[str] = self.schema.names if self._nodes is None else self._nodes.names
        return names

    def top(self, number: int) -> tuple[pa.Field, Sequence[LeafColumn]]:
        """Return a top-level field, and its leaves."""
        if self._nodes is not None:
            return self._nodes.field(number), self._nodes.leaves(number)
        start, stop = self._spans[number : number + 2]
        return self.schema.field(number), self.leaves[start:stop]

    def top_with(self, column: int) -> int | None:
        """Return the number of the top-level field that has a physical column; None if there is none."""
        if not 0 <= column < self.num_columns:
            return None
        if self._nodes is not None:
            return self._nodes.top_with(column)
        # Headers of 2.0 come before the leaves below them.
        last = next(at for at, leaf in enumerate(self.leaves) if leaf.column >= column)
        return bisect_right(self._spans, last) - 1

    def tops(self) -> list[tuple[pa.Field, Sequence[LeafColumn]]]:
        """Return all top-level fields, each with its leaves."""
        leaves = self.leaves
        spans = self._spans if self._nodes is None else self._nodes.leaf_spans()
        fields = list(self.schema)
        return [(field, leaves[spans[at] : spans[at + 1]]) for at, field in enumerate(fields)]

    @cached_property
    def _spans(self) -> list[int]:
        """First leaf of each top-level field, then the number of leaves."""
        spans = [0]
        for node in self.fields:
            spans.append(spans[-1] + len(column_mapping([node], self._version)))
        return spans

    @cached_property
    def counts_rows_once(self) -> bool:
        """Whether the pages of all columns count each row of the file once; False if that is not known."""
        return self._nodes is not None and self._nodes.counts_rows_once

    @property
    def has_blobs(self) -> bool:
        """Whether a column has values outside the pages."""
        if self._nodes is not None:
            return self._nodes.has_blobs
        return any(leaf.is_blob for leaf in self.leaves)

    @property
    def has_extensions(self) -> bool:
        """Whether a field names an extension type."""
        if self._nodes is not None:
            return self._nodes.has_extensions
        return any(EXTENSION_NAME in node.metadata for top in self.fields for node in top.walk())

    @property
    def may_hold_json(self) -> bool:
        """Whether a field may be binary JSON, which metadata tell."""
        return self._nodes is None or self._nodes.has_field_metadata


class HasSchema:
    """Base of files: the schema, as its facts have it.

    Attributes
    ----------
    facts
        Data derived from the schema.
    """

    facts: SchemaFacts

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        """Top-level fields of the schema, with ids."""
        return self.facts.fields

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema, metadata included."""
        return self.facts.schema

    @property
    def leaves(self) -> tuple[LeafColumn, ...]:
        """The leaves of the schema and their physical columns, in order."""
        return self.facts.leaves

    def derived(self, what: str, make: Callable[[], T]) -> T:
        """Return a cache of what follows from the metadata alone, by its name; here each file has its own."""
        del what
        return make()


class _LazyLengths(Mapping[int, tuple[str, int | None]]):
    """`SchemaFacts.lengths`, found out for one column at a time."""

    def __init__(self, nodes: SchemaNodes) -> None:
        self._nodes = nodes
        self._known: dict[int, tuple[str, int | None]] = {}

    def __getitem__(self, column: int) -> tuple[str, int | None]:
        found = self._known.get(column)
        if found is None:
            if column not in self:
                raise KeyError(column)
            found = self._known[column] = self._nodes.lengths(column)
        return found

    def __contains__(self, column: object) -> bool:
        return isinstance(column, int) and 0 <= column < len(self)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return self._nodes.num_columns


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
    max_bytes = 2 << 20
    """Of all messages together."""

    def __init__(self) -> None:
        self._held: OrderedDict[tuple[bytes, FileVersion], SchemaFacts] = OrderedDict()
        self._num_bytes = 0
        self._lock = threading.Lock()

    def clear(self) -> None:
        """Forget all schemas."""
        with self._lock:
            forgotten = list(self._held.values())
            self._held.clear()
            self._num_bytes = 0
        for facts in forgotten:
            facts.derived.clear()

    def valid(self, message: bytes, version: FileVersion) -> SchemaFacts | None:
        """Return the data of a serialized Schema that is not kept; None if it is damaged or not supported."""
        try:
            return self._made(message, version)
        except (CorruptFileError, UnsupportedError):
            return None

    def get(self, message: bytes, version: FileVersion) -> SchemaFacts:
        """Return the data of a serialized Schema.

        Raises
        ------
        CorruptFileError, UnsupportedError
            As `SchemaFacts`.
        """
        return self.held(message, version) or self._made(message, version)

    def held(self, message: bytes, version: FileVersion) -> SchemaFacts | None:
        """Return the data of a serialized Schema, if it is kept."""
        key = message, version
        with self._lock:
            held = self._held.get(key)
            if held is not None:
                self._held.move_to_end(key)
            return held

    def _made(self, message: bytes, version: FileVersion) -> SchemaFacts:
        facts = SchemaFacts(message, version)
        if len(message) > self.max_bytes or facts.has_extensions:
            return facts
        key = message, version
        forgotten = []
        with self._lock:
            if key in self._held:
                return self._held[key]
            self._held[key] = facts
            self._num_bytes += len(message)
            while len(self._held) > self.max_schemas or self._num_bytes > self.max_bytes:
                (oldest, _), one = self._held.popitem(last=False)
                self._num_bytes -= len(oldest)
                forgotten.append(one)
        # What is derived refers to the schema: without this, only a search for garbage would find both.
        for one in forgotten:
            one.derived.clear()
        return facts


known_schemas = KnownSchemas()
