"""`cached_tree`: the columns of a file in results; files of one schema share the derived data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, TypeVar

import pyarrow as pa

from lance_arrow.arrays.column_roots import ColumnRoots
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.extension_types import holds_json
from lance_arrow.container.file_reader import LanceFileReader
from lance_arrow.container.schema_facts import SchemaFacts

T = TypeVar("T")

_MAX_ANSWERS = 8
_MAX_SETS = 16


class ByColumns(Generic[T]):
    """Cache of data derived from the last few sets of columns.

    The key is the identities of their nodes. The cache keeps the nodes alive, so identities are not reused.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[tuple[ColumnNode, ...], T]] = {}
        self._last: tuple[Sequence[ColumnNode], T] | None = None

    def of(self, nodes: Sequence[ColumnNode], find: Callable[[], T]) -> T:
        """Return the cached data of columns, or compute it by `find`."""
        last = self._last
        if last is not None and last[0] is nodes:
            return last[1]
        key = tuple(map(id, nodes))
        held = self._kept.get(key)
        if held is None:
            found = tuple(nodes), find()
            if len(self._kept) >= _MAX_SETS:
                self._kept = {}
            held = self._kept[key] = found
        if isinstance(nodes, tuple):
            # The same object for reads of all columns, and for those of one projection; a list might change.
            self._last = nodes, held[1]
        return held[1]


class ShownColumns:
    """Columns of a file in results.

    Parameters
    ----------
    facts
        The schema of the file.
    options
        Options that decide the types in results.

    Attributes
    ----------
    roots
        The whole column tree; files with a shared tree have the same object.
    plans, projections, leaves, row_bytes
        Data that readers derive from sets of columns, for all files that share the tree.
    """

    def __init__(self, facts: SchemaFacts, options: ReadOptions) -> None:
        self._facts = facts
        self._options = options
        self.roots = ColumnRoots(facts, options)
        self.plans: ByColumns[Any] = ByColumns()
        self.projections: ByColumns[Any] = ByColumns()
        self.leaves: ByColumns[tuple[LeafNode, ...]] = ByColumns()
        self.row_bytes: ByColumns[int] = ByColumns()

    @property
    def has_blobs(self) -> bool:
        """Whether a column has values outside the pages."""
        return self._facts.has_blobs

    @property
    def metadata(self) -> Mapping[bytes, bytes] | None:
        """Metadata of the schema."""
        return self._facts.metadata

    @cached_property
    def schema(self) -> pa.Schema:
        """Schema with the requested forms of blobs, JSON and dictionaries."""
        may_be_json = self._options.json == "text" and self._facts.may_hold_json
        is_json_shown = may_be_json and any(map(holds_json, self._facts.schema))
        if self._facts.has_blobs or self._options.has_forms or is_json_shown:
            return pa.schema([root.shown for root in self.roots], self.metadata)
        if self._options.dictionaries == "decode":
            from lance_arrow.arrays.dictionaries import decoded_schema  # noqa: PLC0415 - for decoded dictionaries alone

            return decoded_schema(self._facts.schema)
        return self._facts.schema


def cached_tree(file: LanceFileReader, options: ReadOptions) -> ShownColumns:
    """Return the columns of a file for some `options`; files of equal schemas share them."""
    facts = file.facts
    shown: ShownColumns = facts.derived.of(options, lambda: ShownColumns(facts, options))
    return shown


class PerTree(Generic[T]):
    """Cache of data derived from a column tree, shared by files with the tree, and by threads.

    Parameters
    ----------
    work_out
        Called once for each of the last few trees. It must not refer to the object that keeps this cache. Such a cycle
        would keep files of that object open until the garbage collector runs.
    """

    def __init__(self, work_out: Callable[[Sequence[ColumnNode]], T]) -> None:
        self._work_out = work_out
        self._answers: dict[int, tuple[Sequence[ColumnNode], T]] = {}

    def of(self, roots: Sequence[ColumnNode]) -> T:
        """Return the data of a tree."""
        held = self._answers.get(id(roots))
        if held is not None and held[0] is roots:
            return held[1]
        answer = self._work_out(roots)
        if len(self._answers) >= _MAX_ANSWERS:
            self._answers = {}
        self._answers[id(roots)] = (roots, answer)
        return answer
