"""One page of an array encoding, read as by a scan: index, plan, slices and values, with a check of each contract."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow import engine
from lance_arrow.errors import LanceError
from lance_arrow.pages.arrays import ArrayPages
from lance_arrow.pages.value_rows import list_parts, row_bits, value_bits
from lance_arrow.spi import Bitmap, BlockShape, BlockSlice, FixedSizeList, PackedStruct, VariableWidth
from lance_arrow.spi.arrays import BoundArray, HoldsItems
from lance_arrow.spi.layouts import (
    BufferSlices,
    FetchedSlices,
    LoadedPage,
    PageFacts,
    PageIndex,
    PageReadPlan,
    RowRanges,
)
from lance_arrow.spi.slots import ItemValidity, SlotStructure
from lance_arrow.testing.array_samples import python_values, with_nulls
from lance_arrow.testing.samples import Destination
from lance_arrow.testing.scattered import fetch_scattered, some, unaligned

MOST_BYTES = 1 << 26
"""Memory limit of these reads; a loaded page that declares more is not decoded."""
_LARGEST_OFFSET = (1 << 31) - 1
_MOST_ITEMS = 1 << 62
_SINGLE_ROWS = 12
_RANDOM_RUNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class ArrayPage:
    """A bound array and the page it reads.

    Parameters
    ----------
    bound
        Result of `ArrayFactory.bind`.
    num_rows
        Number of values, as the container stores it.
    buffers
        Buffers of the page.
    items
        Shape of the items of a dictionary that is kept; None where values are no indices.
    """

    bound: BoundArray
    num_rows: int
    buffers: tuple[bytes, ...]
    items: BlockShape | None = None

    @property
    def facts(self) -> PageFacts:
        return PageFacts(self.num_rows, tuple(map(len, self.buffers)))

    def load_index(self) -> PageIndex | None:
        """Run the first round; the array gets only the buffers that it requested."""
        # `ArrayPages` checks the buffers of the page before any array reads them.
        ArrayPages(self.bound).roles(self.facts)
        whole = {number: unaligned(self.buffers[number]) for number in self.bound.index_buffers}
        index = self.bound.load_index(self.facts, whole)
        assert index is None or index.nbytes >= 0
        return index

    def read(self, rows: RowRanges, index: PageIndex | None = None, *, is_loaded: bool = False) -> list[Any]:
        """Read rows with the whole index (loaded here unless `is_loaded`), into guarded memory, twice."""
        index = index if is_loaded else self.load_index()
        plan = self.bound.plan(self.facts, index, rows)
        return self._opened(index, plan, rows)

    def read_natively(self, rows: RowRanges) -> list[Any] | str | None:
        """Read rows by the engine; returns the text of its error, or None if it does not support the page."""
        page = ArrayPages(self.bound).native_page(self.facts)
        bits = row_bits(self.bound.shape)
        if page is None or bits is None or not rows.num_rows:
            return None
        assert page.num_rows == self.num_rows
        memory, places = bytearray(b"\xee"), []
        for buffer in self.buffers:
            places.append(len(memory))
            memory += buffer + b"\xee" * 3
        shape = self.bound.shape
        offset_bits = shape.offset_bits if isinstance(shape, VariableWidth) else 0
        sizes = np.array([len(buffer) for buffer in self.buffers], np.int64)
        fields = _field_bytes(shape) if isinstance(shape, PackedStruct) else ()
        form: Any = "plain"
        if self.items is not None:
            form = _item_bits(self.items), getattr(self.items, "offset_bits", 0), _MOST_ITEMS
        forms = engine.ReadForms([((0,), bits, offset_bits, fields, None, form, list_parts(shape), False, (), 1)])
        pages = engine.PagesWithRows(forms, [[(page, 0, np.array(places, np.int64), sizes)]])
        whole = np.frombuffer(bytes(memory), np.uint8)
        done, *_ = forms.take(
            pages,
            rows.starts,
            rows.stops,
            rows.num_rows,
            -1,
            whole,
            whole.size,
            None,
            None,
            MOST_BYTES,
            _LARGEST_OFFSET,
            None,
            pa.allocate_buffer,
        )
        if isinstance(done, engine.Refusal):
            return done.message
        if done[0] is None:
            return None
        values, dictionaries = _laid_out(self.bound, done[0], rows.num_rows), done[0][2]
        if self.items is None:
            return values
        items = _items_of(self.items, dictionaries[0]) if dictionaries else []
        return [None if one is None else items[int.from_bytes(one, "little")] for one in values]

    def planned_bytes(self, rows: RowRanges, index: PageIndex | None) -> int:
        """Return the number of bytes that a plan requests."""
        return sum(int((one.stops - one.starts).sum()) for one in self.bound.plan(self.facts, index, rows).slices)

    def _fetched(self, slices: tuple[BufferSlices, ...]) -> tuple[FetchedSlices, ...]:
        known = dict(self.bound.buffers)
        assert all(one.buffer in known for one in slices), "a plan requests a buffer that the array did not name"
        return tuple(fetch_scattered(self.buffers[one.buffer], one) for one in slices)

    def _opened(self, index: PageIndex | None, plan: PageReadPlan, rows: RowRanges) -> list[Any]:
        loaded = self.bound.load(self.facts, index, plan, self._fetched(plan.slices))
        if isinstance(loaded.levels, SlotStructure):
            return _lists_of(self.bound, loaded, loaded.levels, rows)
        assert isinstance(loaded.levels, ItemValidity)
        assert loaded.num_values == loaded.levels.num_slots == rows.num_rows
        assert loaded.shape == self.bound.shape
        assert self.bound.has_nulls or loaded.levels.bits is None, "nulls in an array with has_nulls=False"
        nulls = loaded.levels.null_flags()
        if rows.num_rows > MOST_BYTES:
            return []
        values = [()] * rows.num_rows if loaded.shape is None else _decoded(loaded)
        if loaded.shape is not None:
            assert _decoded(loaded) == values, "decoding again returned other values"
        if loaded.dictionary is not None:
            items = _decoded(loaded.dictionary)
            numbers = [int.from_bytes(one, "little") for one in values]
            valid = np.ones(len(numbers), np.bool_) if nulls is None else ~nulls
            assert all(number < len(items) for number, is_valid in zip(numbers, valid, strict=True) if is_valid)
            values = [items[number] if is_valid else None for number, is_valid in zip(numbers, valid, strict=True)]
        return values if nulls is None else with_nulls(values, nulls)


def _decoded(loaded: Any) -> list[Any]:
    """Decode into guarded memory: a loaded page, or the items of its dictionary."""
    count = loaded.num_items if hasattr(loaded, "num_items") else loaded.num_values
    sizes = loaded.num_bytes if isinstance(loaded.num_bytes, tuple) else (loaded.num_bytes,)
    assert min(sizes, default=0) >= 0
    if sum(sizes) > MOST_BYTES:
        return [b""] * count
    destination = Destination(loaded.shape, count, loaded.num_bytes)
    try:
        loaded.decode(destination.block)
    finally:
        destination.assert_untouched_outside()
    return python_values(destination.block)


def _lists_of(bound: BoundArray, loaded: LoadedPage, structure: SlotStructure, rows: RowRanges) -> list[Any]:
    """Return the items of each selected list, None if it is null."""
    items, lists = structure.layers
    assert isinstance(bound, HoldsItems)
    assert items.num_slots == bound.num_items
    assert not items.has_nulls
    assert structure.runs[1].num_rows == rows.num_rows
    assert loaded.num_values == rows.num_rows
    assert loaded.shape is None
    found: list[Any] = []
    held = 0
    for start, stop in zip(structure.runs[1].starts.tolist(), structure.runs[1].stops.tolist(), strict=True):
        for slot in range(start, stop):
            inside = lists.inside(RowRanges.one(slot, slot + 1))
            assert len(inside) <= 1
            pair = (int(inside.starts[0]), int(inside.stops[0])) if len(inside) else ()
            assert not pair or 0 <= pair[0] < pair[1] <= bound.num_items
            held += inside.num_rows
            is_null = bool(lists.nulls(np.array([slot]))[0])
            assert bound.has_nulls or not is_null
            found.append(None if is_null else pair)
    assert structure.num_slots == held, "the selected items are not those of the lists"
    return found


def _field_bytes(shape: PackedStruct) -> tuple[int, ...]:
    return tuple((value_bits(field) or 0) // 8 for field in shape.fields)


def _item_bits(shape: BlockShape) -> int:
    bits = row_bits(shape)
    assert bits is not None
    return bits


def _items_of(shape: BlockShape, dictionary: Any) -> list[Any]:
    _, count, offsets, values = dictionary
    if count == 0:
        return []  # a page of nulls
    if isinstance(shape, VariableWidth):
        places = np.frombuffer(offsets, np.uint8)[: (count + 1) * shape.offset_bits // 8]
        return python_values(BlockSlice(shape, count, np.frombuffer(values, np.uint8), offsets=places))
    size = count * _item_bits(shape) // 8
    return python_values(BlockSlice(shape, count, np.frombuffer(values, np.uint8)[:size]))


def _laid_out(bound: BoundArray, done: Any, num_rows: int) -> list[Any]:
    count, values, offsets, nodes = done
    assert count == num_rows
    shape = bound.shape
    assert shape is not None
    if isinstance(shape, PackedStruct):
        fields = tuple(
            BlockSlice(field, count, np.frombuffer(memory, np.uint8)[: count * width])
            for field, memory, width in zip(shape.fields, values, _field_bytes(shape), strict=True)
        )
        block = BlockSlice(shape, count, np.empty(0, np.uint8), fields=fields)
    elif isinstance(shape, VariableWidth):
        places = np.frombuffer(offsets, np.uint8)[: (count + 1) * shape.offset_bits // 8]
        size = int(places.view(f"<i{shape.offset_bits // 8}")[-1])
        block = BlockSlice(shape, count, np.frombuffer(values, np.uint8)[:size], offsets=places)
    elif isinstance(shape, FixedSizeList):
        *bitmaps, items = values if isinstance(values, tuple) else (values,)
        bitmaps = [bitmap for bitmap in bitmaps if bitmap is not None]
        dimensions = shape.validity_dimensions
        validity = tuple(
            Bitmap(np.frombuffer(bitmap, np.uint8), 0, count * bits)
            for bitmap, bits in zip(bitmaps, dimensions, strict=True)
        )
        size = (count * shape.items_per_value * shape.leaf.bits + 7) // 8
        block = BlockSlice(shape, count, np.frombuffer(items, np.uint8)[:size], validity=validity)
    else:
        size = (count * (value_bits(shape) or 0) + 7) // 8
        block = BlockSlice(shape, count, np.frombuffer(values, np.uint8)[:size])
    found = python_values(block)
    bits = nodes[0][1]
    if bits is None:
        return found
    return with_nulls(found, np.unpackbits(np.frombuffer(bits, np.uint8), count=count, bitorder="little") == 0)


def selections(num_rows: int) -> list[RowRanges]:
    """Return selections: all rows, first, last, none, single ones, separate ones, every other, random runs."""
    found = [RowRanges.one(0, num_rows), RowRanges.one(0, min(1, num_rows)), RowRanges.one(num_rows - 1, num_rows)]
    found.append(RowRanges.one(0, 0))
    if not num_rows:
        return [found[0]]
    found += [RowRanges.one(row, row + 1) for row in some(range(num_rows), _SINGLE_ROWS)]
    chance = random.Random(num_rows)
    starts = np.arange(0, num_rows, 2)
    found.append(RowRanges(starts, starts + 1))
    cut = num_rows // 3
    if cut:
        found.append(RowRanges(np.array([0, cut, 2 * cut]), np.array([cut, 2 * cut, num_rows])))
    for _ in range(_RANDOM_RUNS):
        edges = sorted(chance.sample(range(num_rows + 1), min(num_rows + 1, 6)))
        edges = edges[: len(edges) // 2 * 2]
        found.append(RowRanges(np.array(edges[::2], np.int64), np.array(edges[1::2], np.int64)))
    return found


def read_or_refuse(page: ArrayPage, selections: list[RowRanges]) -> None:
    """Read a damaged page in every way; each must raise a `LanceError` or return the requested rows."""
    for rows in selections:
        found = _rows_or_none(page.read, rows)
        natively = page.read_natively(rows)
        if isinstance(natively, list):
            # In reads of few rows, the engine does not see damage elsewhere.
            assert found is not None or rows.num_rows < page.num_rows, "the engine accepts rows that the array rejects"
            assert found is None or natively == found, "the engine returns other values of damaged bytes"


def _rows_or_none(read: Callable[[RowRanges], list[Any] | None], rows: RowRanges) -> list[Any] | None:
    try:
        return read(rows)
    except LanceError:
        return None
