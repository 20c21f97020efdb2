"""`ZonePredicate`: finds zones in which no row, or every row, satisfies a filter.

filter ─► `expression_tree` (bound by Arrow) ─► `zone_programs` ─► native code: NO, MAYBE, ALL per zone
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from lance_arrow.arrays.column_paths import Path, leaf_at
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.pruning.zone_programs import Tree, ZoneProgram, compiled, is_understood
from lance_arrow.pruning.zone_values import zones_as
from lance_arrow.statistics.zone_maps import ZoneMap

__all__ = ["Tree", "Verdict", "ZonePredicate", "is_understood"]


class Verdict(enum.IntEnum):
    """Result of a filter for one zone."""

    NO = 0
    MAYBE = 1
    ALL = 2


class ZonePredicate:
    """A filter as a tree.

    Parameters
    ----------
    tree
        Result of `expression_tree`.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._leaves = PerTree(partial(_leaves, tree))

    @cached_property
    def program(self) -> ZoneProgram:
        """The compiled filter, which judges zones and small files."""
        return compiled(self.tree)

    @cached_property
    def fields(self) -> tuple[Path, ...]:
        """Fields of the tree, each once, as paths from the column downwards."""
        return _fields(self.tree)

    def leaves(self, roots: Sequence[ColumnNode]) -> Mapping[Path, LeafNode]:
        """Return the leaves of a file, or of a table, that the tree refers to; see `leaf_at`."""
        return self._leaves.of(roots)

    def calls(self, function: str) -> bool:
        """Return whether the tree calls a function, or may call it in parts that are too deep to see."""
        waiting = [self.tree]
        while waiting:
            node = waiting.pop()
            if node[0] == "call":
                if node[1] in (function, ""):
                    return True
                waiting.extend(node[2])
        return False

    def verdicts(self, zone_maps: Mapping[Path, ZoneMap], num_zones: int) -> NDArray[np.int8]:
        """Judge each zone.

        Parameters
        ----------
        zone_maps
            Zone maps of fields, all of the same zones; the values of a field without one are unknown.
        num_zones
            Number of zones.

        Returns
        -------
        ndarray
            ``(num_zones,) int8`` of `Verdict`: NO if no row can satisfy the filter, ALL if every row does.
        """
        program = self.program
        columns = [
            None if (zone_map := zone_maps.get(field.path)) is None else zones_as(zone_map, field.types)
            for field in program.fields
        ]
        return program.native.judge(columns, num_zones)


def _fields(tree: Tree) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if node[0] == "field":
            found[node[1]] = None
        elif node[0] == "call":
            waiting.extend(node[2])
    return tuple(found)


def _leaves(tree: Tree, roots: Sequence[ColumnNode]) -> Mapping[Path, LeafNode]:
    return {path: leaf for path in _fields(tree) if (leaf := leaf_at(roots, path)) is not None}
