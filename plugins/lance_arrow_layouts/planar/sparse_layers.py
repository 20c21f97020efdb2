"""Sparse structure from levels: for each node, outer-most first, its slots, the null ones, and the lists with items.

An entry belongs to a domain if two conditions hold. Its repetition level is at least the number of lists inside, and
nothing outside is null or empty there. Source: spec 2 and 11.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import UnsupportedError
from lance_arrow.spi.layouts import LayerKind, Levels, NodeKind

_NULLABLE_LISTS = (LayerKind.NULLABLE_LIST, LayerKind.NULL_AND_EMPTY_LIST)


@dataclass(frozen=True, slots=True, eq=False)
class SparseLayer:
    """One layer of a page.

    Parameters
    ----------
    kind
        Kind of the node.
    is_null
        ``(num_slots,) bool``: slots that are null, or inside a null.
    list_slots, counts
        Lists only: ``(n,) int64`` slots of lists with items, and their numbers of items.
    dimension
        Fixed-size lists of structs only.
    """

    kind: NodeKind
    is_null: NDArray[np.bool_]
    list_slots: NDArray[np.int64] | None = None
    counts: NDArray[np.int64] | None = None
    dimension: int = 0


def sparse_layers(levels: Levels, nodes: tuple[NodeKind, ...], dimensions: tuple[int, ...]) -> list[SparseLayer]:
    """Return the layers, outer-most first.

    Parameters
    ----------
    levels
        Levels of the page.
    nodes, dimensions
        Inner-most first; dimensions may be empty if no node is a fixed-size list.

    Raises
    ------
    UnsupportedError
        The dimension of a fixed-size list is unknown.
    """
    if NodeKind.FIXED_SIZE_LIST in nodes and len(dimensions) != len(nodes):
        raise UnsupportedError("a sparse structure of fixed-size lists with unknown dimensions")
    def_ = np.zeros(levels.num_entries, np.uint16) if levels.def_ is None else levels.def_
    found: list[SparseLayer] = []
    below = lists_inside = 0  # definition levels, and lists, of the layers inside
    step = 1  # slots of the domain that one slot outside fixed-size lists takes
    domain = _domain(levels, def_, 0)
    is_repeated = np.zeros(levels.num_entries, bool)
    for place, (layer, node) in enumerate(zip(levels.layers, nodes, strict=True)):
        list_slots = counts = None
        dimension = dimensions[place] if node is NodeKind.FIXED_SIZE_LIST else 0
        step *= max(1, dimension)
        if layer.is_list:
            items = domain[::step]
            lists_inside += 1
            # Each struct of a fixed-size list repeats its entry, with the repetition level: only the first counts.
            is_repeated[domain] = True
            is_repeated[items] = False
            domain = _domain(levels, def_, lists_inside)
            domain = domain[~is_repeated[domain]]
            step = 1
            list_slots = np.flatnonzero(def_[domain] <= below)
            counts = np.diff(np.append(np.searchsorted(items, domain[list_slots]), len(items)))
        is_null = _nulls(def_[domain[::step]], layer, below)
        found.append(SparseLayer(node, is_null, list_slots, counts, dimension))
        below += layer.num_def_levels
    return found[::-1]


def _domain(levels: Levels, def_: NDArray[np.uint16], lists_inside: int) -> NDArray[np.int64]:
    """Return entries that begin a slot just outside `lists_inside` lists; outer nulls and empty lists have none."""
    if levels.rep is None or lists_inside == 0 == levels.max_rep:
        return np.arange(levels.num_entries)
    chosen = levels.rep >= lists_inside
    if lists_inside < levels.max_rep:
        chosen &= def_ <= _levels_inside(levels.layers, lists_inside)
    return np.flatnonzero(chosen)


def _levels_inside(layers: tuple[LayerKind, ...], lists_inside: int) -> int:
    """Return the definition levels of the layers inside the list that follows `lists_inside` of them."""
    total = 0
    for layer in layers:
        if layer.is_list and lists_inside == 0:
            break
        lists_inside -= layer.is_list
        total += layer.num_def_levels
    return total


def _nulls(levels: NDArray[np.uint16], layer: LayerKind, below: int) -> NDArray[np.bool_]:
    """Return flags of slots that are null, or inside a null up to the next list, as the reference counts values."""
    if not layer.is_list:
        return levels > below
    is_inside: NDArray[np.bool_] = levels > below + layer.num_def_levels
    return is_inside | (levels == below + 1) if layer in _NULLABLE_LISTS else is_inside
