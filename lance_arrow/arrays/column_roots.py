"""`ColumnRoots`: the top-level columns of a file, each made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, partial
from typing import overload

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, column_of, column_tree
from lance_arrow.arrays.read_options import ReadOptions
from lance_arrow.container.schema import LeafColumn
from lance_arrow.container.schema_facts import SchemaFacts

_FEW_NAMES = 4


class ColumnRoots(Sequence[ColumnNode]):
    """The columns of a file in results; readers of a few of many columns make no others.

    Parameters
    ----------
    facts
        The schema of the file.
    options
        Options that decide the types in results.
    """

    def __init__(self, facts: SchemaFacts, options: ReadOptions) -> None:
        self._facts = facts
        self._options = options
        self._made: dict[int, ColumnNode] = {}

    @property
    def num_columns(self) -> int:
        """Number of physical columns."""
        return self._facts.num_columns

    @property
    def names(self) -> Collection[str]:
        """Names of the columns."""
        return self._places.keys()

    @cached_property
    def _places(self) -> dict[str, int]:
        names = self._facts.names
        return dict(zip(names, range(len(names)), strict=True))

    def named(self, name: str) -> ColumnNode | None:
        """Return the column of a name; None if there is none."""
        place = self._places.get(name)
        return None if place is None else self._at(place)

    def place_with(self, column: int) -> int | None:
        """Return the number of the top-level column that has a physical column; None if there is none."""
        return self._facts.top_with(column)

    def _at(self, place: int) -> ColumnNode:
        made = self._made.get(place)
        if made is None:
            made = self._make(place, *self._facts.top(place))
        return made

    def _make(self, place: int, field: pa.Field, leaves: Sequence[LeafColumn]) -> ColumnNode:
        if self._options.dictionaries == "decode":
            field = _decoded(field)
        # Threads that make the same column must agree on one object: caches know columns by identity.
        return self._made.setdefault(place, column_of(field, leaves, self._options))

    @overload
    def __getitem__(self, index: int) -> ColumnNode: ...

    @overload
    def __getitem__(self, index: slice) -> list[ColumnNode]: ...

    def __getitem__(self, index: int | slice) -> ColumnNode | list[ColumnNode]:
        made = self._made.get(index) if isinstance(index, int) else None
        if made is not None:
            return made
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])

    def __iter__(self) -> Iterator[ColumnNode]:
        return iter(self.all)

    @cached_property
    def all(self) -> tuple[ColumnNode, ...]:
        """All columns; always the same object, as caches of sets of columns know it best."""
        made = self._made
        if len(made) < len(self):
            fields = self._facts.schema
            if self._options.dictionaries == "decode":
                fields = [_decoded(field) for field in fields]
            # Columns that were made before stay the same objects.
            for place, root in enumerate(column_tree(fields, self._facts.leaves, self._options)):
                made.setdefault(place, root)
        return tuple([made[place] for place in range(len(self))])

    def __len__(self) -> int:
        return len(self._facts.names)


def _decoded(field: pa.Field) -> pa.Field:
    from lance_arrow.arrays.dictionaries import decoded_field  # noqa: PLC0415 - for them alone

    return decoded_field(field)


class NamedRoots(tuple[ColumnNode, ...]):
    """Top-level columns that are looked up by name, again and again."""

    @cached_property
    def _by_name(self) -> dict[str, ColumnNode]:
        found: dict[str, ColumnNode] = {}
        for root in self:
            # Of equal names the first counts.
            found.setdefault(root.field.name, root)
        return found

    @property
    def names(self) -> Collection[str]:
        """Names of the columns."""
        return self._by_name.keys()

    def named(self, name: str) -> ColumnNode | None:
        """Return the column of a name; None if there is none."""
        return self._by_name.get(name)


def all_roots(roots: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
    """Return all top-level columns; the same object each time, where they are those of a file."""
    return roots.all if isinstance(roots, ColumnRoots) else tuple(roots)


def root_named(roots: Sequence[ColumnNode], name: str) -> ColumnNode | None:
    """Return the top-level column of a name; None if there is none."""
    if isinstance(roots, (ColumnRoots, NamedRoots)):
        return roots.named(name)
    return next((root for root in roots if root.field.name == name), None)


def named_among(roots: Sequence[ColumnNode], num_names: int) -> Callable[[str], ColumnNode | None]:
    """Return what finds top-level columns by name, as `root_named` does; `num_names` will be looked for."""
    if isinstance(roots, (ColumnRoots, NamedRoots)):
        return roots.named
    if num_names < _FEW_NAMES:
        return partial(root_named, roots)
    return {root.field.name: root for root in roots}.get


def root_names(roots: Sequence[ColumnNode]) -> Collection[str]:
    """Return the names of top-level columns."""
    if isinstance(roots, (ColumnRoots, NamedRoots)):
        return roots.names
    return dict.fromkeys([root.field.name for root in roots])


def num_leaves(roots: Sequence[ColumnNode]) -> int:
    """Return the number of leaves of top-level columns; for files of 2.0, with the columns of structs and lists."""
    if isinstance(roots, ColumnRoots):
        return roots.num_columns
    return sum([1 if isinstance(root, LeafNode) else len(list(root.leaves())) for root in roots])
