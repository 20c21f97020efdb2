"""Loaded pages: `LocatedPage`, located encoded values, and `StructuredPage`, values of another page."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Levels, NumBytes
from lance_arrow.spi.chunks import ValueBatch
from lance_arrow.spi.codecs import BoundPerValueCodec
from lance_arrow.spi.layouts import DictionaryItems, LoadedPage
from lance_arrow.spi.slots import PageStructure


@dataclass(frozen=True, slots=True, eq=False)
class LocatedPage:
    """Selected values that were located and are encoded one by one."""

    levels: Levels
    codec: BoundPerValueCodec
    values: ValueBatch
    num_bytes: NumBytes
    dictionary = None

    @classmethod
    def of(cls, levels: Levels, codec: BoundPerValueCodec, values: ValueBatch) -> LocatedPage:
        return cls(levels, codec, values, codec.measure(values))

    @property
    def shape(self) -> BlockShape:
        return self.codec.shape

    @property
    def num_values(self) -> int:
        return self.values.num_values

    def decode(self, out: BlockSlice) -> None:
        self.codec.decode(self.values, out)


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
