"""Loaded pages with the values of another page."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.spi.blocks import BlockShape, BlockSlice, NumBytes
from lance_arrow.spi.layouts import DictionaryItems, LoadedPage
from lance_arrow.spi.slots import PageStructure


@dataclass(frozen=True, slots=True, eq=False)
class StructuredPage:
    """A page with the values of another page, slot by slot, and with levels from elsewhere."""

    levels: PageStructure
    values: LoadedPage

    @property
    def shape(self) -> BlockShape | None:
        return self.values.shape

    @property
    def num_values(self) -> int:
        return self.values.num_values

    @property
    def num_bytes(self) -> NumBytes:
        return self.values.num_bytes

    @property
    def dictionary(self) -> DictionaryItems | None:
        return self.values.dictionary

    def decode(self, out: BlockSlice) -> None:
        self.values.decode(out)
