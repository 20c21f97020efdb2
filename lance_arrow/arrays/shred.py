"""`shred`: convert rows of Arrow arrays to the content of one page of one leaf, the inverse of `unravel`.

Levels are first written with the largest numbering that the arrays allow: a layer with a bitmap may be null, every list
may be empty. This is one native pass per chunk. Levels that did not occur are then removed by a table, if necessary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_blocks import VisibleValues, build_block
from lance_arrow.arrays.leaf_dictionaries import indices_and_items
from lance_arrow.arrays.leaf_path import PathNode, path_to_leaf
from lance_arrow.errors import InternalError, InvalidArgumentError, UnsupportedError, located
from lance_arrow.kernels import end_levels, number_levels, shred_levels
from lance_arrow.spi import BlockShape, BlockSlice, VariableWidth
from lance_arrow.spi.blocks import LayerKind, Levels
from lance_arrow.spi.encoding import PageContent
from lance_arrow.spi.leaf_type import NodeKind


def shred(leaf: LeafNode, arrays: Sequence[pa.Array]) -> PageContent:
    """Convert consecutive chunks of a top-level column to a page of one of its leaves.

    Parameters
    ----------
    leaf
        The leaf, from `column_tree` of the file's schema.
    arrays
        Chunks of its top-level column, with exactly its type. Views, and dictionaries of several chunks, are converted;
        slices are allowed. They must have passed ``Array.validate()``; other properties are checked here.

    Returns
    -------
    PageContent
        Its values may share memory with `arrays`. Blobs are their plain bytes, with the leaf's own shape.

    Raises
    ------
    InvalidArgumentError
        The type of an array differs from the leaf's, or an array contradicts itself. Also if text is not UTF-8, or if
        offsets cannot count the bytes.
    UnsupportedError
        The format cannot store the values: JSON text that was not encoded, null children of a packed struct.
    """
    if leaf.refusal is not None:
        raise UnsupportedError(f"{leaf.refusal} cannot be written", column=leaf.path)
    with located(column=leaf.path):
        chunks = [array for array in arrays if len(array)]
        paths = [path_to_leaf(leaf, array) for array in chunks]
        items: BlockSlice | None = None
        leaves = [path[-1].array for path in paths]
        if leaf.leaf.items is not None:
            leaves, items = indices_and_items(leaf, leaves)
            paths = [(*path[:-1], PathNode(array)) for path, array in zip(paths, leaves, strict=True)]
        structure = _Structure(leaf, paths)
        values = structure.visible_values()
        block = build_block(leaf, _value_shape(leaf, leaves), leaves, values)
    num_nulls = values.num_nulls
    if block is not None and 0 < num_nulls < values.num_values:
        block = replace(block, present=values.present())
    if items is not None and block is not None:
        _check_indices(block, items.num_values, num_nulls, leaf)
    return PageContent(
        num_rows=sum(map(len, chunks)),
        levels=structure.levels,
        values=block,
        leaf=leaf.leaf,
        num_nulls=num_nulls,
        items=items,
        dimensions=leaf.dimensions,
    )


def _value_shape(leaf: LeafNode, leaves: Sequence[pa.Array]) -> BlockShape | None:
    """Return the shape of the given values: for blobs their bytes, not the descriptors in the file."""
    bytes_bits = {pa.binary(): 32, pa.large_binary(): 64}
    given = leaves[0].type if leaves else (leaf.bytes_field or leaf.field).type
    if leaf.is_blob and given in bytes_bits:
        return VariableWidth(bytes_bits[given])
    return leaf.leaf.shape


def _check_indices(block: BlockSlice, num_items: int, num_nulls: int, leaf: LeafNode) -> None:
    """Raise for indices without an item; those of nulls are already 0."""
    indices = block.values.view(str(leaf.storage.index_type))
    if num_nulls == block.num_values:
        return
    smallest, largest = int(indices.min()), int(indices.max())
    if smallest < 0 or largest >= num_items:
        wrong = smallest if smallest < 0 else largest
        raise InvalidArgumentError(
            f"index {wrong} into a dictionary of {num_items} items", column=leaf.path, detail=wrong
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """Ranges of the entries and visible slots of one chunk."""

    run_starts: NDArray[np.int64]
    run_stops: NDArray[np.int64]
    entry_start: int
    entry_stop: int


class _Structure:
    """Levels of a page, and the visible slots of each of its chunks."""

    def __init__(self, leaf: LeafNode, paths: Sequence[tuple[PathNode, ...]]) -> None:
        self._nodes = leaf.leaf.nodes
        self._num_nodes = len(self._nodes)
        self._nullable = leaf.nullable
        self._paths = paths
        self._parts: list[_Part] | None
        moves = any(kind is not NodeKind.ITEM for kind in self._nodes)
        if moves or any(node.validity is not None for path in paths for node in path):
            self._parts, self.levels = self._shredded()
        else:
            # Every row is a value: no levels are needed.
            num_rows = sum(path[0].num_slots for path in paths)
            self._parts, self.levels = None, Levels((LayerKind.ALL_VALID_ITEM,) * self._num_nodes, num_rows)

    def _shredded(self) -> tuple[list[_Part], Levels]:
        traits = np.zeros((self._num_nodes, 3), np.uint8)
        for node, (kind, nullable) in enumerate(zip(self._nodes[::-1], self._nullable[::-1], strict=True)):
            has_validity = any(path[node].validity is not None for path in self._paths)
            traits[node] = kind is NodeKind.LIST, nullable, has_validity
        numbers = np.zeros((self._num_nodes, 2), np.uint16)
        number_levels(traits, numbers)
        capacity = sum(map(_most_levels, self._paths))
        has_rep = NodeKind.LIST in self._nodes
        rep = np.empty(capacity, np.uint16) if has_rep else None
        def_ = np.empty(capacity, np.uint16)
        seen = np.zeros((self._num_nodes, 2), np.uint8)
        parts = []
        start = 0
        for path in self._paths:
            out = (None if rep is None else rep[start:], def_[start:])
            parts.append(_shred_chunk(path, numbers, out, start, seen))
            start = parts[-1].entry_stop
        rep = None if rep is None else rep[:start]
        layers = np.zeros(self._num_nodes, np.uint8)
        has_levels = end_levels(traits, numbers, seen, def_[:start], layers)
        kinds = tuple(map(LayerKind, layers.tolist()))
        return parts, Levels(kinds, start, rep, def_[:start] if has_levels else None)

    def visible_values(self) -> VisibleValues:
        """Return the slots with values, and their nulls."""
        levels = self.levels
        if self._parts is None:
            return VisibleValues.of_slots([path[0].num_slots for path in self._paths])
        num_values = sum(int((part.run_stops - part.run_starts).sum()) for part in self._parts)
        num_nulls = 0
        if levels.def_ is not None:
            num_nulls = num_values - (levels.num_entries - int(np.count_nonzero(levels.def_)))
        return VisibleValues(
            num_values=num_values,
            num_nulls=num_nulls,
            runs=tuple((part.run_starts, part.run_stops) for part in self._parts),
            def_=levels.def_ if num_nulls else None,
            entry_starts=(*(part.entry_start for part in self._parts), levels.num_entries),
            max_visible=levels.max_visible_def,
        )


def _most_levels(path: Sequence[PathNode]) -> int:
    """Return the maximum of level entries for the rows of a chunk."""
    start, stop = 0, path[0].num_slots
    num_levels = stop
    for node, below in pairwise(path):
        first, last = node.items(start, stop)
        if not 0 <= first <= last <= below.num_slots:
            raise InvalidArgumentError(
                f"items {first} to {last} of an array of type {node.array.type} leave its {below.num_slots} items"
            )
        num_levels = node.most_levels(num_levels, last - first)
        start, stop = first, last
    return num_levels


def _shred_chunk(
    path: Sequence[PathNode],
    numbers: NDArray[np.uint16],
    out: tuple[NDArray[np.uint16] | None, NDArray[np.uint16]],
    start: int,
    seen: NDArray[np.uint8],
) -> _Part:
    nodes = [
        (
            node.num_slots,
            node.validity,
            node.array.offset,
            node.offsets if node.is_list else None,
            node.dimension,
            node.first_item,
        )
        for node in path
    ]
    # Visible slots are one run, interrupted only by slots under nulls, and there are never more runs than entries.
    most_breaks = sum(node.array.null_count for node in path[:-1])
    runs = np.empty((2, min(most_breaks, len(out[1])) + 1), np.int64)
    num_entries, num_runs = shred_levels(nodes, path[0].num_slots, numbers, *out, runs[0], runs[1], seen)
    if num_runs > runs.shape[1]:
        raise InternalError(f"{num_runs} runs of visible slots with {most_breaks} nulls around them")
    return _Part(runs[0, :num_runs], runs[1, :num_runs], start, start + num_entries)
