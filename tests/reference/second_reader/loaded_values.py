"""Loaded pages: `LocatedPage`, located encoded values, and `StructuredPage`, values of another page."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Levels, NumBytes
from lance_arrow.spi.chunks import ValueBatch
from lance_arrow.spi.codecs import BoundPerValueCodec


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
