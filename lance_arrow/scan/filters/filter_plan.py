"""`FilterPlan`: a filter bound to a schema, by which files are judged and read side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.coded_leaves import can_be_coded, coded_as_stored, plain
from lance_arrow.arrays.column_paths import Path, project
from lance_arrow.arrays.column_tree import ColumnNode, ItemJudge, LeafNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.arrays.viewed_leaves import unviewed
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_pruning import zone_predicate
from lance_arrow.scan.filters.bound_filters import bound_to_values, evaluated_mask, installed_expressions, is_number
from lance_arrow.scan.predicates import MISFITS
from lance_arrow.spi import FixedWidth
from lance_arrow.statistics.zone_types import is_variable

if TYPE_CHECKING:
    from lance_arrow.scan.filters.item_filters import ItemFilters
    from lance_arrow.scan.filters.judges import Judge


class FilterPlan:
    """A filter, bound to a schema; files are judged and read by it side by side.

    Parameters
    ----------
    expression
        Bound or not.
    schema
        Schema of its fields: that of the file, or of a dataset. Columns that the file lacks are null; columns of
        another type are cast.

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema.
    """

    def __init__(self, expression: pc.Expression, schema: pa.Schema) -> None:
        self.identity = object()
        """The same for all scans of one plan."""
        self.schema = schema
        self.native = installed_expressions()
        self.predicate: ZonePredicate | None = None
        self.expression = expression
        self.paths: tuple[Path, ...] | None = None
        """Columns, and fields of structs, that the filter mentions; None if they are unknown."""
        # Without that module, pyarrow does not show the parts of an expression.
        if self.native is not None:
            self.expression, self.paths, self.schema = bound_to_values(self.native, expression, schema)
            self.predicate = zone_predicate(self.native, self.expression, self.schema)
        self.is_repeatable = self.predicate is not None and not self.predicate.calls("random")
        """Whether the same rows satisfy it each time it is asked."""
        self._items: ItemFilters | None = None
        if self.native is not None and self.is_repeatable and self.paths is not None:
            columns = _judged_columns(self.paths, self.schema)
            if columns:
                from lance_arrow.scan.filters.item_filters import ItemFilters  # noqa: PLC0415 - for these alone

                self._items = ItemFilters.of(self.native, self.expression, columns, self.schema)
        of_items = frozenset() if self._items is None else self._items.names
        self._nodes = PerTree(partial(_mentioned, self.paths, dict.fromkeys(of_items)))
        self._judging: dict[tuple[frozenset[str], bool], PerTree[tuple[ColumnNode, ...]]] = {}

    def counting_nodes(self, roots: Sequence[ColumnNode]) -> tuple[ColumnNode, ...] | None:
        """Return the one column of a file whose items tell which rows satisfy it, as `count_judged` takes it.

        None if it is about several columns, if the file lacks the column, or if items of its type cannot be judged.
        """
        if self._items is None or not self._items.are_all:
            return None
        nodes = self.judging_nodes(roots, ())
        return nodes if len(nodes) == 1 and isinstance(nodes[0], LeafNode) and nodes[0].judge is not None else None

    def for_scan(self) -> FilterPlan:
        """Return this plan for one scan, which may remember of its rows what the plan must not keep."""
        if self._items is None:
            return self
        plan = copy(self)
        plan._items = self._items.for_scan()
        return plan

    def nodes(self, roots: Sequence[ColumnNode]) -> tuple[ColumnNode, ...]:
        """Return the columns of a file that the filter mentions."""
        return self._nodes.of(roots)

    def judging_nodes(
        self, roots: Sequence[ColumnNode], wanted: Collection[str], *, flags_wanted: bool = False
    ) -> tuple[ColumnNode, ...]:
        """Return such columns as `nodes` does; those whose values are not wanted come as flags where they can.

        With `flags_wanted`, so do those that are wanted, where it pays: numbers, and strings in no dictionary if the
        condition is ranges of them.
        """
        if self._items is None:
            return self.nodes(roots)
        names = self._items.names.difference(wanted)
        key = names, flags_wanted and names != self._items.names
        found = self._judging.get(key)
        if found is None:
            judges: dict[str, Judge | None] = {name: self._items.judge(name) for name in self._items.names}
            for name in judges.keys() - names:
                judges[name] = _flagging(judges[name]) if flags_wanted else None
            found = self._judging.setdefault(key, PerTree(partial(_mentioned, self.paths, judges)))
        return found.of(roots)

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None = None) -> pa.Array:
        """Evaluate it for rows that are here; see `evaluated_mask`."""
        if self._items is not None:
            try:
                found = self._items.mask(batch, pool)
            except MISFITS as error:
                raise InvalidArgumentError(f"the filter {self.expression} cannot be evaluated: {error}") from error
            if found is not None:
                return found
        return evaluated_mask(self.native, self.expression, self.schema, batch, pool)


def _judged_columns(paths: Sequence[Path], schema: pa.Schema) -> frozenset[str]:
    """Return the columns of strings, bytes and numbers at some paths."""
    types = [(path[0], schema.field(path[0]).type) for path in paths if len(path) == 1]
    return frozenset([name for name, type_ in types if is_variable(type_) or is_number(type_)])


def _mentioned(
    paths: tuple[Path, ...] | None, of_items: Mapping[str, ItemJudge | None], roots: Sequence[ColumnNode]
) -> tuple[ColumnNode, ...]:
    """Return the columns at some paths; all where paths are unknown.

    Strings come as such in place of views; those of which items are judged as codes, or flags, where stored so. Numbers
    that are judged come as flags.
    """
    wanted = tuple((root.field.name,) for root in roots) if paths is None else paths
    nodes = [unviewed(node) for node in project(roots, wanted, missing_ok=True)]
    return tuple(
        [
            _of_items(node, of_items[node.field.name])
            if isinstance(node, LeafNode) and node.field.name in of_items
            else node
            for node in nodes
        ]
    )


def _of_items(leaf: LeafNode, judge: ItemJudge | None) -> LeafNode:
    """Return a leaf whose items, or numbers, are judged; what callers see as a dictionary comes as such if wanted."""
    if not can_be_coded(leaf):
        # A file may store another type, which is cast.
        return replace(leaf, judge=judge) if judge and _has_numbers(leaf) and leaf.field.type == judge.type else leaf
    if leaf.is_coded and (judge is None or judge.keeps_codes):
        return leaf
    return coded_as_stored(plain(leaf), judge)


def _flagging(judge: Judge | None) -> Judge | None:
    """Return what judges a column whose values are wanted as well."""
    if judge is None or is_number(judge.type):
        return judge
    return None if judge.texts is None else judge.keeping_codes()


def _has_numbers(leaf: LeafNode) -> bool:
    """Return whether values are numbers as files store them."""
    shape, type_ = leaf.leaf.shape, leaf.field.type
    is_stored = leaf.column >= 0 and leaf.leaf.items is None and len(leaf.offset_bits) == 1
    return is_stored and is_number(type_) and isinstance(shape, FixedWidth) and shape.bits == type_.bit_width
