"""List: the ends of the items of each list, in the next column; the end of a null list is increased by the adjustment.

All ends of a page are read before any list, and kept as positions. A null list may have items, which are not visible.
Source: ArrayEncoding.List; spec 2.0, 3.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, CorruptPageError, UnsupportedError
from lance_arrow.pages.arrays import LoadedLists, decode_integers, load_whole, native_lists, require_width
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.encodings_v20_pb2 import List as ListMessage
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodeScope, EncodingKey, FixedWidth, LeafType, hookimpl
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, NodeKind, PageFacts, PageReadPlan, RowRanges
from lance_arrow.spi.slots import SlotLayer, SlotStructure

_NONE = np.empty(0, np.int64)
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class List:
    """Binds and writes ``list``."""

    key = EncodingKey(ARRAY, "list")

    def bind(self, message: Any, scope: BindScope) -> BoundList:
        """Check that this is the column of a list."""
        if scope.leaf.nodes != (NodeKind.LIST,):
            raise CorruptFileError("a page has lists, but the schema has none there")
        if message.num_items > _INT64_MAX:
            raise CorruptFileError(f"a page declares {message.num_items} items, more than 63 bits hold")
        ends = require_width(scope.for_shape(FixedWidth(64)).array(message.offsets), 64, "ends of lists")
        return BoundList(ends, message.null_offset_adjustment, message.num_items)

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for columns of lists, and None for others."""
        return None if content.ends is None else float(content.ends.nbytes)

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Write the ends."""
        if content.ends is None:
            raise UnsupportedError("expected a column of lists")
        num_items = int(content.ends[-1]) if len(content.ends) else 0
        ends = content.ends if content.nulls is None else content.ends + content.nulls * (num_items + 1)
        block = BlockSlice(FixedWidth(64), content.num_values, ends.view(np.uint8))
        offsets = scope.encode_array(ArrayContent(LeafType(FixedWidth(64)), content.num_values, block), first_buffer)
        message = ListMessage(
            offsets=offsets.description,  # type: ignore[arg-type]
            null_offset_adjustment=num_items + 1,
            num_items=num_items,
        )
        return EncodedArray(ArrayEncoding(list=message), offsets.buffers)


@dataclass(slots=True, eq=False)
class _Lists:
    """Lists, their items below, and the borders of both."""

    layers: tuple[SlotLayer, SlotLayer]
    borders: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        return self.borders.nbytes + sum(layer.nbytes for layer in self.layers)


@dataclass(frozen=True, slots=True)
class BoundList:
    """Lists of one page."""

    ends: BoundArray
    null_adjustment: int
    num_items: int
    shape = None
    has_nulls = True

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return tuple((buffer, BufferRole.REPETITION) for buffer, _ in self.ends.buffers)

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return tuple(buffer for buffer, _ in self.ends.buffers)

    def native_page(self, page: PageFacts) -> Any | None:
        """Return a native page if the ends are plain."""
        return native_lists(page, self.ends, self.null_adjustment, self.num_items)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> _Lists:
        """Remove the adjustment, and check that the ends ascend to the number of items."""
        ends = decode_integers(load_whole(self.ends, page, buffers))
        stored = np.empty(page.num_rows + 1, np.uint64)
        stored[0] = 0
        stored[1:] = ends
        lists = self._lists(stored)
        if int(lists.borders[-1]) != self.num_items:
            raise CorruptPageError(
                f"the lists hold {int(lists.borders[-1])} items, the description declares {self.num_items}"
            )
        return lists

    def _lists(self, borders: NDArray[np.uint64]) -> _Lists:
        """Remove the adjustment from borders, and check that they ascend within the items."""
        nulls = borders >= np.uint64(self.null_adjustment)
        if not self.null_adjustment:
            nulls = np.zeros(len(borders), np.bool_)
        elif nulls.any():
            # The adjustment is added at most once: larger ends do not refer to an item.
            borders = borders - nulls * np.uint64(self.null_adjustment)
        outside = borders > np.uint64(self.num_items)
        if outside.any():
            wrong = int(np.argmax(outside))
            raise CorruptPageError(f"lists end at item {int(borders[wrong])} of {self.num_items}", detail=wrong)
        places = borders.astype(np.int64)
        lengths = np.diff(places)
        if len(lengths) and int(lengths.min()) < 0:
            wrong = int(np.argmin(lengths))
            raise CorruptPageError(f"list {wrong} ends before it begins", detail=wrong)
        filled = np.flatnonzero(lengths)
        starts = np.append(places[filled], places[-1])
        items = SlotLayer(self.num_items, True, _NONE)
        lists = SlotLayer(len(lengths), True, np.flatnonzero(nulls[1:]), filled, starts)
        return _Lists((items, lists), places)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return PageReadPlan((), rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        return LoadedLists(SlotStructure.select(index.layers, plan.notes))


@hookimpl
def lance_provide_arrays() -> list[List]:
    return [List()]
