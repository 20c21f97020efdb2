"""Sparse structure: the codecs of positions, and the checked positions of a page.

Each layer of the path, outer-most first, has a domain of slots. The first domain is the rows. The items of a list layer
are the next one, or `dimension` times the slots of a fixed-size list of structs. A position set stores the null slots
of a domain, or the valid ones. A list layer also stores the lists that are not empty, with their numbers of items.
Source: lance.encodings23.SparseStructure; spec 11.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.spi import BindScope, BoundChunkCodec, Bytes, ChunkBatch, DecodeContext, FixedWidth, new_block
from lance_arrow.spi.layouts import NodeKind
from lance_arrow.spi.slots import SlotLayer

_POSITION = FixedWidth(64)
_NULL_POSITIONS, _VALID_POSITIONS = 1, 2
_NODES = {"validity": NodeKind.ITEM, "list": NodeKind.LIST, "fixed_size_list": NodeKind.FIXED_SIZE_LIST}


@dataclass(frozen=True, slots=True)
class BoundNumbers:
    """Encoding of `count` positions or counts."""

    codec: BoundChunkCodec
    count: int

    @classmethod
    def of(cls, message: Any, count: int, scope: BindScope) -> BoundNumbers:
        """Bind the codec; positions and counts are 64 bits wide."""
        codec = scope.chunk_codec(message, DecodeContext.BLOCK)
        if codec.shape != _POSITION:
            raise CorruptFileError(f"positions in a structure are {codec.shape}, expected 64 bits")
        scope.limits.check("max_batch_bytes", count * 8)
        return cls(codec, count)

    def decode(self, buffers: list[Bytes]) -> NDArray[np.uint64]:
        """Decode all numbers from the next of `buffers`, or from none if the codec has no bytes."""
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
    """Description of a position set."""

    lists_nulls: bool
    positions: BoundNumbers

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> BoundValidity:
        if message.meaning not in (_NULL_POSITIONS, _VALID_POSITIONS):
            raise CorruptFileError(f"a position set has the unknown kind {message.meaning}")
        numbers = BoundNumbers.of(message.positions, message.num_positions, scope)
        return cls(message.meaning == _NULL_POSITIONS, numbers)


@dataclass(frozen=True, slots=True)
class BoundLists:
    """Description of a list layer: the lists with items, the items of each, and their total."""

    slots: BoundNumbers
    counts: BoundNumbers
    num_items: int

    def load(self, buffers: list[Bytes], domain: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Decode and check the lists' slots, and the offsets of their items (then the end)."""
        slots = self.slots.positions(buffers, domain)
        counts = self.counts.decode(buffers)
        starts = np.zeros(len(counts) + 1, np.uint64)
        np.cumsum(counts, out=starts[1:])
        # A sum that wraps around descends.
        if not (starts[1:] > starts[:-1]).all() or int(starts[-1]) != self.num_items:
            raise CorruptPageError(f"the lists of a structure do not sum to {self.num_items} items, or one is empty")
        return slots, starts.view(np.int64)


@dataclass(frozen=True, slots=True)
class BoundLayer:
    """Description of one layer; `lists` is None except for lists, `dimension` is 0 except for fixed-size lists."""

    validity: BoundValidity
    lists: BoundLists | None = None
    dimension: int = 0

    @property
    def numbers(self) -> tuple[BoundNumbers, ...]:
        """Return codecs in the order of their buffers."""
        own = () if self.lists is None else (self.lists.slots, self.lists.counts)
        return (*own, self.validity.positions)

    def load(self, buffers: list[Bytes], domain: int) -> SlotLayer:
        """Decode and check the layer's positions."""
        list_slots = item_starts = None
        if self.lists is not None:
            list_slots, item_starts = self.lists.load(buffers, domain)
        positions = self.validity.positions.positions(buffers, domain)
        return SlotLayer(domain, self.validity.lists_nulls, positions, list_slots, item_starts, self.dimension)

    def domain_inside(self, domain: int) -> int:
        """Return the number of slots of the layer inside."""
        if self.lists is not None:
            return self.lists.num_items
        inside = domain * max(1, self.dimension)
        if inside >> 63:
            raise CorruptPageError(f"fixed-size lists of a structure hold {inside} items")
        return inside


@dataclass(frozen=True, slots=True)
class BoundStructure:
    """Description of a sparse structure, outer-most layer first."""

    layers: tuple[BoundLayer, ...]

    @classmethod
    def of(cls, message: Any, scope: BindScope) -> BoundStructure:
        """Bind all layers.

        Raises
        ------
        CorruptFileError
            Layers contradict the schema or themselves.
        """
        nodes = scope.leaf.nodes
        if len(message.layers) != len(nodes):
            raise CorruptFileError(f"a page has {len(message.layers)} layers, expected {len(nodes)} from the schema")
        return cls(
            tuple(_bind_layer(*pair, scope) for pair in zip(message.layers, reversed(nodes), strict=True)),
        )

    @property
    def num_buffers(self) -> int:
        """Number of structure buffers: one per codec with bytes."""
        return sum(one.codec.num_buffers for layer in self.layers for one in layer.numbers)

    @property
    def lengths_per_row(self) -> int:
        """How many rows a page's length counts per row: the product of all fixed-size lists of structs."""
        return math.prod(max(1, layer.dimension) for layer in self.layers)

    def load(self, buffers: list[Bytes], num_rows: int) -> tuple[SlotLayer, ...]:
        """Decode and check the positions of a page; removes the buffers from the list.

        Returns
        -------
        tuple of SlotLayer
            Inner-most first.
        """
        loaded: list[SlotLayer] = []
        domain = num_rows
        for bound in self.layers:
            loaded.append(bound.load(buffers, domain))
            _check_holders(loaded)
            domain = bound.domain_inside(domain)
        return tuple(reversed(loaded))


def _check_holders(layers: list[SlotLayer]) -> None:
    """Raise if a list with items is null or inside a null; `layers` are outer-most first."""
    holders = layers[-1].list_slots
    if holders is None:
        return
    for layer in reversed(layers):
        if layer is not layers[-1]:
            if layer.list_slots is not None:
                return
            holders = holders // max(1, layer.dimension)
        if layer.has_nulls and _any_null(layer, holders):
            raise CorruptPageError("a list of a structure has items inside a null")


def _any_null(layer: SlotLayer, slots: NDArray[np.int64]) -> bool:
    """Return whether one of the ascending slots is null; searches the shorter list in the longer one."""
    if not layer.lists_nulls or len(layer.positions) > len(slots):
        return bool(layer.nulls(slots).any())
    places = np.searchsorted(slots, layer.positions)
    return bool((slots[np.minimum(places, len(slots) - 1)] == layer.positions).any())


def _bind_layer(message: Any, node: NodeKind, scope: BindScope) -> BoundLayer:
    case = message.WhichOneof("layer")
    if case is None or _NODES[case] is not node:
        raise CorruptFileError(f"a page has a layer {case} where the schema has a {node.value}")
    if case == "validity":
        return BoundLayer(BoundValidity.of(message.validity, scope))
    if case == "fixed_size_list":
        dimension = message.fixed_size_list.dimension
        if not 0 < dimension < 1 << 31:
            raise CorruptFileError(f"fixed-size lists of a structure have the dimension {dimension}")
        return BoundLayer(BoundValidity.of(message.fixed_size_list.validity, scope), dimension=dimension)
    lists = message.list
    if lists.num_child_slots >> 63:
        raise CorruptFileError(f"lists of a structure hold {lists.num_child_slots} items")
    return BoundLayer(
        BoundValidity.of(lists.validity, scope),
        BoundLists(
            BoundNumbers.of(lists.non_empty_positions, lists.num_non_empty_positions, scope),
            BoundNumbers.of(lists.counts, lists.num_non_empty_positions, scope),
            lists.num_child_slots,
        ),
    )
