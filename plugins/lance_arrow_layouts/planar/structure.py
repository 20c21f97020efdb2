"""Sparse structure: which codec holds which positions, and the checked positions of a page.

Each layer of the path, outer-most first, has a domain of slots; the rows are the first, the items of a list layer the
next. A position set names the null slots of a domain, or the valid ones; a list layer also names the lists that are not
empty, with their numbers of items. Source: lance.encodings23.SparseStructure; spec 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.spi import (
    BindScope,
    BoundChunkCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    FixedWidth,
    LayerKind,
    Limits,
    NodeKind,
    new_block,
)

_POSITION = FixedWidth(64)
_NULL_POSITIONS, _VALID_POSITIONS = 1, 2
_NODES = {"validity": NodeKind.ITEM, "list": NodeKind.LIST, "fixed_size_list": NodeKind.FIXED_SIZE_LIST}


@dataclass(frozen=True, slots=True)
class BoundNumbers:
    """How `count` positions or counts are stored."""

    codec: BoundChunkCodec
    count: int

    @classmethod
    def of(cls, message: Any, count: int, scope: BindScope) -> BoundNumbers:
        """Bind; positions and counts are 64 bits wide."""
        codec = scope.chunk_codec(message, DecodeContext.BLOCK)
        if codec.shape != _POSITION:
            raise CorruptFileError(f"positions in a structure are {codec.shape}, expected 64 bits")
        scope.limits.check("max_batch_bytes", count * 8)
        return cls(codec, count)

    def decode(self, buffers: list[Bytes]) -> NDArray[np.uint64]:
        """Decode all numbers from the next of `buffers`, or from none where the codec has no bytes."""
        data = buffers.pop(0) if self.codec.num_buffers else np.empty(0, np.uint8)
        places = (self.codec.num_buffers, 1)
        batch = ChunkBatch(
            data, np.zeros(places, np.int64), np.full(places, data.size, np.int64), np.array([0, self.count], np.int64)
        )
        block = new_block(_POSITION, self.count)
        self.codec.decode(batch, block)
        return block.values.view(np.uint64)

    def positions(self, buffers: list[Bytes], domain: int) -> NDArray[np.int64]:
        """Decode positions: strictly ascending, below `domain`."""
        if self.count > domain:
            raise CorruptPageError(f"a structure lists {self.count} of {domain} slots")
        found = self.decode(buffers)
        if not (found[1:] > found[:-1]).all():
            raise CorruptPageError("positions in a structure do not ascend")
        if len(found) and int(found[-1]) >= domain:
            raise CorruptPageError(f"a structure lists slot {int(found[-1])} of {domain}", detail=int(found[-1]))
        return found.view(np.int64)


@dataclass(frozen=True, slots=True)
class BoundValidity:
    """A position set as described."""

    lists_nulls: bool
    positions: BoundNumbers

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> BoundValidity:
        if message.meaning not in (_NULL_POSITIONS, _VALID_POSITIONS):
            raise CorruptFileError(f"a position set has the unknown meaning {message.meaning}")
        numbers = BoundNumbers.of(message.positions, message.num_positions, scope)
        return cls(message.meaning == _NULL_POSITIONS, numbers)

    @property
    def has_nulls(self) -> bool:
        """Whether some slot may be null: a set that lists the valid slots does not know."""
        return not self.lists_nulls or self.positions.count > 0

    def load(self, buffers: list[Bytes], domain: int) -> Validity:
        return Validity(domain, self.lists_nulls, self.positions.positions(buffers, domain))


@dataclass(frozen=True, slots=True, eq=False)
class Validity:
    """Null slots (or valid ones) of a domain of `num_slots`, ascending."""

    num_slots: int
    lists_nulls: bool
    positions: NDArray[np.int64]

    @property
    def num_valid(self) -> int:
        return self.num_slots - len(self.positions) if self.lists_nulls else len(self.positions)

    def nulls(self, slots: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each slot whether it is null."""
        if not len(self.positions):
            return np.full(len(slots), not self.lists_nulls)
        places = np.minimum(np.searchsorted(self.positions, slots), len(self.positions) - 1)
        listed = self.positions[places] == slots
        return listed if self.lists_nulls else ~listed

    def valid_before(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count for each slot the valid slots before it."""
        listed = np.searchsorted(self.positions, slots)
        return slots - listed if self.lists_nulls else listed


@dataclass(frozen=True, slots=True, eq=False)
class Lists:
    """Lists that are not empty: their slots, and where their items begin (then the end)."""

    positions: NDArray[np.int64]
    item_starts: NDArray[np.int64]

    def items_before(self, slots: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count for each slot the items of all lists before it."""
        return self.item_starts[np.searchsorted(self.positions, slots)]


@dataclass(frozen=True, slots=True)
class BoundLayer:
    """One layer as described; `null_level` and `empty_level` are the definition levels it gets.

    `non_empty`, `counts` and `num_items` are None where the layer is no list.
    """

    kind: LayerKind
    null_level: int
    empty_level: int
    validity: BoundValidity
    non_empty: BoundNumbers | None = None
    counts: BoundNumbers | None = None
    num_items: int | None = None

    def load(self, buffers: list[Bytes], domain: int) -> LoadedLayer:
        """Decode and check the layer's positions; inside a layer buffers are in the order of `spec 11`."""
        if self.non_empty is None or self.counts is None or self.num_items is None:
            return LoadedLayer(self, self.validity.load(buffers, domain))
        positions = self.non_empty.positions(buffers, domain)
        counts = self.counts.decode(buffers)
        starts = np.zeros(len(counts) + 1, np.uint64)
        np.cumsum(counts, out=starts[1:])
        # A sum that wraps around falls.
        if not (starts[1:] > starts[:-1]).all() or int(starts[-1]) != self.num_items:
            raise CorruptPageError(f"lists of a structure do not hold {self.num_items} items, or one has none")
        validity = self.validity.load(buffers, domain)
        if validity.nulls(positions).any():
            raise CorruptPageError("a null list of a structure holds items")
        return LoadedLayer(self, validity, Lists(positions, starts.view(np.int64)))


@dataclass(frozen=True, slots=True, eq=False)
class LoadedLayer:
    """One layer of a page."""

    bound: BoundLayer
    validity: Validity
    lists: Lists | None = None

    @property
    def nbytes(self) -> int:
        size = self.validity.positions.nbytes
        return size if self.lists is None else size + self.lists.positions.nbytes + self.lists.item_starts.nbytes


@dataclass(frozen=True, slots=True)
class BoundStructure:
    """A sparse structure as described, outer-most layer first; the first `num_outer` are checked and then left out."""

    layers: tuple[BoundLayer, ...]
    num_outer: int
    limits: Limits

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> BoundStructure:
        """Bind all layers and number their definition levels, inner-most first.

        Raises
        ------
        CorruptFileError
            Layers contradict the schema or themselves.
        """
        nodes = scope.leaf.nodes
        # Structs without fields are taken by themselves: earlier versions write no layer of what is around them.
        num_outer = len(message.layers) - len(nodes) if scope.leaf.shape is None else 0
        if num_outer > 0:
            nodes = (*nodes, *(NodeKind.ITEM,) * num_outer)
        if len(message.layers) != len(nodes):
            raise CorruptFileError(f"a page has {len(message.layers)} layers, expected {len(nodes)} from the schema")
        layers: list[BoundLayer] = []
        level = 0
        for layer, node in zip(reversed(message.layers), nodes, strict=True):
            layers.append(_bind_layer(layer, node, level, scope))
            level += layers[-1].kind.num_def_levels
        return cls(tuple(reversed(layers)), max(num_outer, 0), scope.limits)

    @property
    def kinds(self) -> tuple[LayerKind, ...]:
        """Inner-most first, as `Levels` has them."""
        return tuple(layer.kind for layer in reversed(self.layers[self.num_outer :]))

    @property
    def num_buffers(self) -> int:
        """Structure buffers: one per codec that has bytes."""
        numbers = [one for layer in self.layers for one in (layer.validity.positions, layer.non_empty, layer.counts)]
        return sum(one.codec.num_buffers for one in numbers if one is not None)

    def load(self, buffers: list[Bytes], num_rows: int) -> tuple[LoadedLayer, ...]:
        """Decode and check the positions of a page; takes the buffers out of the list."""
        layers = []
        domain = num_rows
        for bound in self.layers:
            layers.append(bound.load(buffers, domain))
            domain = domain if bound.num_items is None else bound.num_items
        return tuple(layers[self.num_outer :])


def _bind_layer(message: Any, node: NodeKind, level: int, scope: BindScope) -> BoundLayer:
    case = message.WhichOneof("layer")
    if case is None or _NODES[case] is not node:
        raise CorruptFileError(f"a page has a layer {case} where the schema has a {node.value}")
    if case == "fixed_size_list":
        raise UnsupportedError("sparse structure of fixed-size lists of structs is not readable")
    if case == "validity":
        validity = BoundValidity.of(message.validity, scope)
        kind = LayerKind.NULLABLE_ITEM if validity.has_nulls else LayerKind.ALL_VALID_ITEM
        return BoundLayer(kind, level + 1, 0, validity)
    lists = message.list
    if lists.num_child_slots >> 63:
        raise CorruptFileError(f"lists of a structure hold {lists.num_child_slots} items")
    validity = BoundValidity.of(lists.validity, scope)
    return BoundLayer(
        LayerKind.NULL_AND_EMPTY_LIST if validity.has_nulls else LayerKind.EMPTYABLE_LIST,
        level + 1,
        level + 1 + int(validity.has_nulls),
        validity,
        BoundNumbers.of(lists.non_empty_positions, lists.num_non_empty_positions, scope),
        BoundNumbers.of(lists.counts, lists.num_non_empty_positions, scope),
        lists.num_child_slots,
    )
