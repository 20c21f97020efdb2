"""Values as indices into the items of a page, for arrays: loads the items once per page and finds null rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError
from lance_arrow.pages.arrays import decode_integers, load_whole
from lance_arrow.settings import Limits
from lance_arrow.spi.arrays import BoundArray
from lance_arrow.spi.block_runs import copy_runs
from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, FixedWidth, NumBytes
from lance_arrow.spi.layouts import LoadedPage, PageFacts
from lance_arrow.spi.scratch import block_bytes, new_block
from lance_arrow.spi.slots import ItemValidity

__all__ = ["ItemsIndex"]


@dataclass(frozen=True, slots=True, eq=False)
class ItemsIndex:
    """All items of a page; also the `DictionaryItems` of leaves that keep them.

    Parameters
    ----------
    block
        Decoded items.
    nulls
        ``(num_items,) bool``, None if no item is null.
    num_bytes
        Their measured bytes.
    indices
        Index of the node of the indices.
    """

    block: BlockSlice
    nulls: NDArray[np.bool_] | None
    num_bytes: int
    indices: Any

    @classmethod
    def load(
        cls, items: BoundArray, page: PageFacts, buffers: Mapping[int, Bytes], indices: Any, limits: Limits
    ) -> ItemsIndex:
        """Decode all items; `page.num_rows` is their number.

        Raises
        ------
        ResourceLimitError
            The items are larger than `Limits.max_dictionary_bytes`.
        CorruptPageError
            The bytes contradict themselves.
        """
        assert items.shape is not None
        limits.check("max_dictionary_bytes", block_bytes(items.shape, page.num_rows))
        loaded = load_whole(items, page, buffers)
        size: NumBytes = loaded.num_bytes
        assert isinstance(size, int)
        limits.check("max_dictionary_bytes", block_bytes(items.shape, page.num_rows, size))
        block = new_block(items.shape, page.num_rows, size)
        loaded.decode(block)
        assert isinstance(loaded.levels, ItemValidity)
        return cls(block, loaded.levels.null_flags(), size, indices)

    @property
    def nbytes(self) -> int:
        own = self.block.values.nbytes + self.block.offsets.nbytes
        return own + (0 if self.indices is None else self.indices.nbytes)

    @property
    def shape(self) -> BlockShape:
        return self.block.shape

    @property
    def num_items(self) -> int:
        return self.block.num_values

    def decode(self, out: BlockSlice) -> None:
        """Copy all items."""
        copy_runs(self.block, np.zeros(1, np.int64), np.array([self.num_items]), out)

    def nulls_at(
        self, indices: LoadedPage, items: NDArray[Any], nulls: NDArray[np.bool_]
    ) -> tuple[NDArray[np.bool_], NDArray[Any]]:
        """Return null flags of the rows: from `nulls`, from null indices and from null items. Also return the items.

        Raises
        ------
        CorruptPageError
            A row that is not null has no item; ``detail`` is its number.
        """
        assert isinstance(indices.levels, ItemValidity)
        own = indices.levels.null_flags()
        nulls = nulls if own is None else nulls | own
        outside = (items >= self.num_items) & ~nulls
        if outside.any():
            wrong = int(np.argmax(outside))
            raise CorruptPageError(f"item {int(items[wrong])} of a dictionary of {self.num_items} items", detail=wrong)
        if self.nulls is not None:
            nulls = nulls.copy()
            nulls[~nulls] = self.nulls[items[~nulls].astype(np.int64)]
        return nulls, items

    def select(self, indices: LoadedPage, shape: FixedWidth) -> LoadedIndices:
        """Decode indices that count items from 0, and keep them."""
        numbers = decode_integers(indices, shape.bytes_per_value)
        nulls, _ = self.nulls_at(indices, numbers, np.zeros(len(numbers), np.bool_))
        bits = np.packbits(~nulls, bitorder="little") if nulls.any() else None
        kept = np.where(nulls, 0, numbers).astype(numbers.dtype)
        return LoadedIndices(shape, ItemValidity(len(numbers), bits), kept, self)


@dataclass(frozen=True, slots=True, eq=False)
class LoadedIndices:
    """Selected indices, with all items."""

    shape: FixedWidth
    levels: ItemValidity
    indices: NDArray[np.unsignedinteger]
    dictionary: ItemsIndex
    num_bytes = 0

    @property
    def num_values(self) -> int:
        return len(self.indices)

    def decode(self, out: BlockSlice) -> None:
        out.values[:] = self.indices.view(np.uint8)
