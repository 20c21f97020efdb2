"""`cached_tree`: the columns of a file in results; files of one schema share the derived data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, column_tree
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.file_reader import LanceFileReader

T = TypeVar("T")

_MAX_ANSWERS = 8
_MAX_SETS = 16


class ByColumns(Generic[T]):
    """Cache of data derived from the last few sets of columns.

    The key is the identities of their nodes. The cache keeps the nodes alive, so identities are not reused.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[int, ...], tuple[tuple[ColumnNode, ...], T]] = {}

    def of(self, nodes: Sequence[ColumnNode], find: Callable[[], T]) -> T:
        """Return the cached data of columns, or compute it by `find`."""
        key = tuple(map(id, nodes))
        held = self._kept.get(key)
        if held is None:
            found = tuple(nodes), find()
            if len(self._kept) >= _MAX_SETS:
                self._kept = {}
            held = self._kept[key] = found
        return held[1]


@dataclass(frozen=True, slots=True, eq=False)
class ShownColumns:
    """Columns of a file in results.

    Parameters
    ----------
    schema
        Schema with the requested forms of blobs and dictionaries.
    roots
        The whole column tree; files with a shared tree have the same object.
    plans, projections
        Data that readers derive from sets of columns, for all files that share the tree.
    """

    schema: pa.Schema
    roots: tuple[ColumnNode, ...]
    plans: ByColumns[Any] = field(default_factory=ByColumns, repr=False)
    projections: ByColumns[Any] = field(default_factory=ByColumns, repr=False)


def cached_tree(file: LanceFileReader, options: ReadOptions) -> ShownColumns:
    """Return the columns of a file for some `options`; files of equal schemas share them."""
    shown: ShownColumns = file.facts.derived.of(options, lambda: _shown(file, options))
    return shown


def _shown(file: LanceFileReader, options: ReadOptions) -> ShownColumns:
    stored = file.schema
    if options.dictionaries == "decode":
        from lance_arrow.arrays.dictionaries import decoded_schema  # noqa: PLC0415 - for decoded dictionaries alone

        stored = decoded_schema(stored)
    roots = column_tree(stored, file.leaves, options)
    if any(leaf.is_blob for root in roots for leaf in root.leaves()):
        stored = pa.schema([root.shown for root in roots], file.schema.metadata)
    return ShownColumns(stored, roots)


class PerTree(Generic[T]):
    """Cache of data derived from a column tree, shared by files with the tree, and by threads.

    Parameters
    ----------
    work_out
        Called once for each of the last few trees. It must not refer to the object that keeps this cache. Such a cycle
        would keep files of that object open until the garbage collector runs.
    """

    def __init__(self, work_out: Callable[[tuple[ColumnNode, ...]], T]) -> None:
        self._work_out = work_out
        self._answers: dict[int, tuple[tuple[ColumnNode, ...], T]] = {}

    def of(self, roots: tuple[ColumnNode, ...]) -> T:
        """Return the data of a tree."""
        held = self._answers.get(id(roots))
        if held is not None and held[0] is roots:
            return held[1]
        answer = self._work_out(roots)
        if len(self._answers) >= _MAX_ANSWERS:
            self._answers = {}
        self._answers[id(roots)] = (roots, answer)
        return answer
