"""Values beside a sparse structure, located by leaf slot: in chunks, zipped, by index, one scalar, none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages import (
    ChunkedPages,
    Held,
    NativePage,
    ZippedPages,
    bind_chunked,
    bind_zipped,
    held_values,
    index_in_memory,
)
from lance_arrow.pages.native_pages import native_by_index, native_constant, native_spread
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    FixedWidth,
    Limits,
    new_block,
)
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LayerKind, PageFacts, RowRanges
from lance_arrow.spi.slots import SlotLayer, SlotStructure
from lance_arrow_layouts.planar.dense import checked_scalar, chunked_form, zipped_form

_PLAIN = (LayerKind.ALL_VALID_ITEM,)
_INDEX_BITS = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True, eq=False)
class Slots:
    """Leaf slots of a page, and the sizes of its buffers; `layers` are those of the whole page, inner-most first."""

    layers: tuple[SlotLayer, ...]
    buffer_sizes: tuple[int, ...]
    limits: Limits

    @property
    def validity(self) -> SlotLayer:
        """The leaf's own layer."""
        return self.layers[0]

    def num_reached(self) -> int:
        """Return the number of leaf slots that are valid and not inside a null, where validity is not defined."""
        reached = np.ones(self.limits.check("max_batch_bytes", self.layers[-1].num_slots), bool)
        for layer, inner in zip(self.layers[:0:-1], self.layers[-2::-1], strict=True):
            self.limits.check("max_batch_bytes", inner.num_slots)
            reached &= ~layer.nulls(np.arange(layer.num_slots))
            if layer.list_slots is not None and layer.item_starts is not None:
                reached = np.repeat(reached[layer.list_slots], np.diff(layer.item_starts))
            elif layer.dimension:
                reached = np.repeat(reached, layer.dimension)
        return int(np.count_nonzero(reached & ~self.validity.nulls(np.arange(self.validity.num_slots))))

    def facts(self, num_values: int, start: int, stop: int) -> PageFacts:
        """Return buffers ``start .. stop`` as a separate page."""
        return PageFacts(num_values, self.buffer_sizes[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class HeldPlane:
    """Values of all slots of a page as one for the engine, whose levels mean nothing; and what it keeps beside it.

    `native` is None if the engine does not support the values.
    """

    native: NativePage | None
    held_bytes: int = 0

    @property
    def nbytes(self) -> int:
        return self.held_bytes + (0 if self.native is None else self.native.nbytes)


class ValuePlane(Protocol):
    """Values of a page whose structure is stored elsewhere."""

    @property
    def roles(self) -> tuple[BufferRole, ...]: ...

    def load(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> HeldPlane:
        """Make the page of what was fetched: its buffers that hold no values by slot."""


def bind_values(message: Any, scope: BindScope) -> ValuePlane:
    """Bind the value plane."""
    case = message.WhichOneof("plane")
    if case == "chunked":
        return ChunkedSlots(bind_chunked(chunked_form(message.chunked, _PLAIN, None), scope))
    if case == "zipped":
        return ZippedSlots(_zipped(message.zipped, scope), message.zipped.num_visible_items)
    if case == "indexed":
        return _indexed(message.indexed, scope)
    if case == "constant":
        return RepeatedSlots(*checked_scalar(message.constant, scope))
    return RepeatedSlots(scope.leaf.shape, None)


def _zipped(message: Any, scope: BindScope) -> ZippedPages:
    if message.levels.bits_rep or message.levels.bits_def:
        raise CorruptFileError("values beside a sparse structure have control words")
    if message.num_items != message.num_visible_items:
        raise CorruptFileError(f"{message.num_items} zipped entries hold {message.num_visible_items} values")
    return bind_zipped(zipped_form(message, _PLAIN, None, None), scope)


def _indexed(message: Any, scope: BindScope) -> IndexedSlots:
    indices = scope.chunk_codec(message.indices, DecodeContext.BLOCK)
    if not isinstance(indices.shape, FixedWidth) or indices.shape.bits not in _INDEX_BITS:
        raise CorruptFileError(f"indices are {indices.shape}, expected integers")
    scope.limits.check("max_dictionary_bytes", message.items.num_items)
    return IndexedSlots(
        indices, _zipped(message.items, scope), message.items.num_items, scope.leaf.items is not None, scope.limits
    )


@dataclass(frozen=True, slots=True)
class RepeatedSlots:
    """One scalar for all valid slots; without a scalar every slot is null, or the column has no values."""

    shape: BlockShape | None
    scalar: bytes | None
    roles: tuple[BufferRole, ...] = ()

    def load(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> HeldPlane:
        if self.scalar is None and self.shape is not None and page.validity.num_valid and (found := page.num_reached()):
            raise CorruptPageError(f"a page without values has {found} valid slots")
        is_null = self.shape is not None and self.scalar is None
        return HeldPlane(_constant(page, self.shape, self.scalar, is_null=is_null))


def _constant(page: Slots, shape: BlockShape | None, scalar: bytes | None, *, is_null: bool) -> NativePage | None:
    layers = (LayerKind.NULLABLE_ITEM,) if is_null else _PLAIN
    facts = page.facts(page.validity.num_slots, 0, 0)
    return native_constant(facts, layers, shape, scalar, (None, None), (0, 0), 0)


@dataclass(frozen=True, slots=True)
class ChunkedSlots:
    """A value for every slot, also for nulls, in chunks."""

    pages: ChunkedPages

    @property
    def roles(self) -> tuple[BufferRole, ...]:
        dictionary = () if self.pages.items is None else (BufferRole.DICTIONARY,)
        return (BufferRole.CHUNK_TABLE, BufferRole.DATA, *dictionary)

    def load(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> HeldPlane:
        facts = page.facts(page.validity.num_slots, 0, len(self.roles))
        return HeldPlane(_indexed_page(self.pages, facts, fetched))


@dataclass(frozen=True, slots=True)
class ZippedSlots:
    """Values of only the valid slots, one after the other; `num_values` is the number in the description."""

    pages: ZippedPages
    num_values: int

    @property
    def roles(self) -> tuple[BufferRole, ...]:
        return _zipped_roles(self.pages)

    def load(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> HeldPlane:
        if page.validity.num_valid != self.num_values:
            raise CorruptPageError(f"{self.num_values} values are zipped for {page.validity.num_valid} valid slots")
        stored = _indexed_page(self.pages, page.facts(self.num_values, 0, len(self.roles)), fetched)
        return HeldPlane(native_spread(stored, page.validity), 0 if stored is None else stored.nbytes)


def _zipped_roles(pages: ZippedPages) -> tuple[BufferRole, ...]:
    return (BufferRole.DATA,) if pages.row_bytes is not None else (BufferRole.DATA, BufferRole.ROW_INDEX)


def _indexed_page(
    pages: ChunkedPages | ZippedPages, facts: PageFacts, fetched: tuple[FetchedSlices, ...]
) -> NativePage | None:
    """Make a page of values, and let it read its index of the buffers that hold no values."""
    places = [place for place, role in enumerate(pages.roles(facts)) if role is not BufferRole.DATA]
    native = pages.native_page(facts)
    if native is not None and places:
        buffers = {place: slices.one() for place, slices in zip(places, fetched, strict=True)}
        index_in_memory(native, facts, buffers, pages.limits)
    return native


@dataclass(frozen=True, slots=True)
class IndexedSlots:
    """An index for every slot into distinct items, which are zipped."""

    indices: BoundChunkCodec
    items: ZippedPages
    num_items: int
    keeps_items: bool
    limits: Limits

    @property
    def roles(self) -> tuple[BufferRole, ...]:
        index = _zipped_roles(self.items)[1:]
        return (*(BufferRole.INDICES,) * self.indices.num_buffers, BufferRole.DICTIONARY, *index)

    def load(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> HeldPlane:
        first = self.indices.num_buffers
        indices = self._indices(page.validity.num_slots, fetched[:first])
        everything = SlotStructure.select(page.layers, RowRanges.one(0, page.layers[-1].num_slots))
        # Of nulls they may be anything.
        kernels.clear_null_indices(indices.values, self.indices.shape.bits, self.num_items, 0, everything.null_flags())
        shape = self.items.values.shape
        if not self.num_items:
            return HeldPlane(_constant(page, indices.shape if self.keeps_items else shape, None, is_null=True))
        items = self._items(page.facts(self.num_items, first, len(self.roles)), fetched[first:])
        if items is None:
            return HeldPlane(None)
        native = native_by_index(indices, items, shape, keeps_items=self.keeps_items)
        _, values, offsets, _, _ = items
        return HeldPlane(native, indices.values.nbytes + values.nbytes + (0 if offsets is None else offsets.nbytes))

    def _items(self, facts: PageFacts, fetched: tuple[FetchedSlices, ...]) -> Held | None:
        data, *index = fetched
        native = _indexed_page(self.items, facts, tuple(index))
        if native is None:
            return None
        return held_values(native, self.items.values.shape, facts, {0: data.one()}, self.limits)

    def _indices(self, num_slots: int, fetched: tuple[FetchedSlices, ...]) -> BlockSlice:
        self.limits.check("max_batch_bytes", num_slots * self.indices.shape.bytes_per_value)
        data = fetched[0].one() if fetched else np.empty(0, np.uint8)
        places = (len(fetched), 1)
        batch = ChunkBatch(
            data, np.zeros(places, np.int64), np.full(places, data.size, np.int64), np.array([0, num_slots], np.int64)
        )
        block = new_block(self.indices.shape, num_slots)
        self.indices.decode(batch, block)
        return block
