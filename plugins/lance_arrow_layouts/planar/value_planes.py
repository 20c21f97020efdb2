"""Values beside a sparse structure, located by leaf slot: in chunks, zipped, by index, one scalar, none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.pages import (
    ChunkedPages,
    DictionaryPage,
    IndexPage,
    RepeatedPage,
    StructuredPage,
    ZippedPages,
    bind_chunked,
    bind_zipped,
    native_by_index,
    native_constant,
    native_spread,
)
from lance_arrow.spi import (
    BindScope,
    BlockShape,
    BlockSlice,
    BoundChunkCodec,
    BufferRole,
    ChunkBatch,
    DecodeContext,
    FetchedSlices,
    FixedWidth,
    LayerKind,
    Limits,
    LoadedPage,
    NumBytes,
    PackedStruct,
    PageFacts,
    PageIndex,
    PageReadPlan,
    RowRanges,
    Scratch,
    SlotLayer,
    SlotStructure,
    Structure,
    VariableWidth,
    copy_runs,
    new_block,
)
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


class ValuePlane(Protocol):
    """Values of a page whose structure is stored elsewhere; like a `BoundLayout`, with leaf slots as rows.

    Slot ranges may be empty.
    """

    @property
    def roles(self) -> tuple[BufferRole, ...]: ...

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None: ...

    def native(self, page: Slots, index: Any) -> object | None:
        """Return the values of all slots as a native page, whose levels mean nothing; None where there is none."""

    def plan(self, page: Slots, index: Any, slots: RowRanges) -> PageReadPlan: ...

    def load(
        self, page: Slots, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage: ...


def bind_values(message: Any, scope: BindScope) -> ValuePlane:
    """Bind the value plane."""
    case = message.WhichOneof("plane")
    if case == "chunked":
        return ChunkedSlots(bind_chunked(chunked_form(message.chunked, _PLAIN, None), scope))
    if case == "zipped":
        return ZippedSlots(_zipped(message.zipped, scope), message.zipped.num_visible_items, scope.scratch)
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

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> None:
        if self.scalar is None and self.shape is not None and page.validity.num_valid and (found := page.num_reached()):
            raise CorruptPageError(f"a page without values has {found} valid slots")

    def native(self, page: Slots, index: None) -> object | None:
        layers = _PLAIN if self.shape is None or self.scalar is not None else (LayerKind.NULLABLE_ITEM,)
        facts = page.facts(page.validity.num_slots, 0, 0)
        return native_constant(facts, layers, self.shape, self.scalar, (None, None), (0, 0), 0)

    def plan(self, page: Slots, index: None, slots: RowRanges) -> PageReadPlan:
        return PageReadPlan(())

    def load(
        self, page: Slots, index: None, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        return RepeatedPage(selected, self.shape, selected.num_slots, self.scalar)


@dataclass(frozen=True, slots=True)
class ChunkedSlots:
    """A value for every slot, also for nulls, in chunks."""

    pages: ChunkedPages

    @property
    def roles(self) -> tuple[BufferRole, ...]:
        dictionary = () if self.pages.items is None else (BufferRole.DICTIONARY,)
        return (BufferRole.CHUNK_TABLE, BufferRole.DATA, *dictionary)

    def _facts(self, page: Slots) -> PageFacts:
        return page.facts(page.validity.num_slots, 0, len(self.roles))

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> PageIndex:
        self.pages.roles(self._facts(page))
        return self.pages.load_index(self._facts(page), fetched)

    def native(self, page: Slots, index: Any) -> object | None:
        native: object | None = index.native
        return native

    def plan(self, page: Slots, index: Any, slots: RowRanges) -> PageReadPlan:
        return self.pages.plan(self._facts(page), index, slots) if len(slots) else PageReadPlan(())

    def load(
        self, page: Slots, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        if not selected.num_slots:
            return RepeatedPage(selected, self.pages.shape, 0, None)
        return StructuredPage(selected, self.pages.load_slots(index, plan, fetched, selected.null_flags()))


@dataclass(frozen=True, slots=True)
class ZippedSlots:
    """Values of only the valid slots, one after the other; `num_values` is the number in the description."""

    pages: ZippedPages
    num_values: int
    scratch: Scratch

    @property
    def roles(self) -> tuple[BufferRole, ...]:
        if self.pages.row_bytes is not None:
            return (BufferRole.DATA,)
        return (BufferRole.DATA, BufferRole.ROW_INDEX)

    def _facts(self, page: Slots) -> PageFacts:
        return page.facts(self.num_values, 0, len(self.roles))

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
        if page.validity.num_valid != self.num_values:
            raise CorruptPageError(f"{self.num_values} values are zipped for {page.validity.num_valid} valid slots")
        self.pages.roles(self._facts(page))
        return self.pages.load_index(self._facts(page), fetched)

    def native(self, page: Slots, index: Any) -> object | None:
        return native_spread(index.native, page.validity)

    def plan(self, page: Slots, index: Any, slots: RowRanges) -> PageReadPlan:
        validity = page.validity
        starts, stops = validity.valid_before(slots.starts), validity.valid_before(slots.stops)
        stored = RowRanges(starts[stops > starts], stops[stops > starts])
        return self.pages.plan(self._facts(page), index, stored) if len(stored) else PageReadPlan(())

    def load(
        self, page: Slots, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...], selected: SlotStructure
    ) -> LoadedPage:
        num_slots = selected.num_slots
        if not plan.slices:
            return RepeatedPage(selected, self.pages.values.shape, num_slots, None)
        stored = self.pages.load(self._facts(page), index, plan, fetched)
        flags = selected.null_flags()
        if flags is None:
            return StructuredPage(selected, stored)
        return SpreadPage(selected, stored, np.cumsum(flags == 0), self.scratch)


@dataclass(frozen=True, slots=True, eq=False)
class ItemIndex:
    """Distinct items of a page, and an index for every slot."""

    items: BlockSlice
    indices: BlockSlice

    @property
    def nbytes(self) -> int:
        return self.items.values.nbytes + self.items.offsets.nbytes + self.indices.values.nbytes


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
        index = () if self.items.row_bytes is not None else (BufferRole.ROW_INDEX,)
        return (*(BufferRole.INDICES,) * self.indices.num_buffers, BufferRole.DICTIONARY, *index)

    def load_index(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> ItemIndex:
        first = self.indices.num_buffers
        indices = self._indices(page.validity.num_slots, fetched[:first])
        everything = SlotStructure.select(page.layers, RowRanges.one(0, page.layers[-1].num_slots))
        # Of nulls they may be anything.
        kernels.clear_null_indices(indices.values, self.indices.shape.bits, self.num_items, 0, everything.null_flags())
        return ItemIndex(self._items(page, fetched[first:]), indices)

    def _items(self, page: Slots, fetched: tuple[FetchedSlices, ...]) -> BlockSlice:
        if not self.num_items:
            return new_block(self.items.values.shape, 0)
        first = self.indices.num_buffers
        facts = page.facts(self.num_items, first, len(self.roles))
        self.items.roles(facts)
        index = self.items.load_index(facts, fetched[1:])
        plan = self.items.plan(facts, index, RowRanges.one(0, self.num_items))
        loaded = self.items.load(facts, index, plan, fetched[:1])
        self.limits.check("max_dictionary_bytes", loaded.num_bytes)
        block = new_block(loaded.shape, self.num_items, loaded.num_bytes)
        loaded.decode(block)
        return block

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

    def native(self, page: Slots, index: ItemIndex) -> object | None:
        if not self.num_items:
            shape = self.indices.shape if self.keeps_items else self.items.values.shape
            facts = page.facts(page.validity.num_slots, 0, 0)
            return native_constant(facts, (LayerKind.NULLABLE_ITEM,), shape, None, (None, None), (0, 0), 0)
        return native_by_index(index.indices, index.items, keeps_items=self.keeps_items)

    def plan(self, page: Slots, index: ItemIndex, slots: RowRanges) -> PageReadPlan:
        return PageReadPlan((), slots)

    def load(
        self,
        page: Slots,
        index: ItemIndex,
        plan: PageReadPlan,
        fetched: tuple[FetchedSlices, ...],
        selected: SlotStructure,
    ) -> LoadedPage:
        slots: RowRanges = plan.notes
        chosen = new_block(self.indices.shape, selected.num_slots)
        copy_runs(index.indices, slots.starts, slots.stops, chosen)
        if self.keeps_items:
            return IndexPage(selected, chosen, index.items)
        if not self.num_items:
            return RepeatedPage(selected, self.items.values.shape, selected.num_slots, None)
        return DictionaryPage.of(selected, chosen, index.items)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadPage:
    """Values of the valid slots, spread to all slots; `valid_through` counts valid slots up to and including each."""

    levels: Structure
    stored: LoadedPage
    valid_through: NDArray[np.int64]
    scratch: Scratch
    dictionary = None

    @property
    def shape(self) -> BlockShape | None:
        return self.stored.shape

    @property
    def num_values(self) -> int:
        return len(self.valid_through)

    @property
    def num_bytes(self) -> NumBytes:
        return self.stored.num_bytes

    def decode(self, out: BlockSlice) -> None:
        with self.scratch.block(out.shape, self.stored.num_values, self.num_bytes) as block:
            self.stored.decode(block)
            _spread(block, self.valid_through, out)


def _spread(block: BlockSlice, valid_through: NDArray[np.int64], out: BlockSlice) -> None:
    """Copy the value of each slot; nulls get the value of the valid slot before, since their content is undefined."""
    shape = out.shape
    if isinstance(shape, PackedStruct):
        for own, field in zip(block.fields, out.fields, strict=True):
            _spread(own, valid_through, field)
    elif isinstance(shape, VariableWidth):
        offsets, own_offsets = (one.view(f"i{shape.offset_bits // 8}") for one in (out.offsets, block.offsets))
        offsets[1:] = offsets[0] + own_offsets[valid_through]
        out.values[:] = block.values
    else:
        places = np.maximum(valid_through - 1, 0)
        copy_runs(block, places, places + 1, out)
