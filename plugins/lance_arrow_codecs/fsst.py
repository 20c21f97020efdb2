"""FSST: strings whose frequent byte sequences are replaced by one-byte codes, value by value.

The codes lie in a child that yields variable-width values (always Variable so far); the table is part of the
description. Source: CompressiveEncoding.Fsst; spec 5.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import CorruptFileError
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    ValueBatch,
    ValueLocator,
    VariableWidth,
    hookimpl,
    native_side,
    new_block,
)

_NO_PLACES = np.empty(0, np.int64)
_CODE_OFFSET_BITS = 64


@dataclass(frozen=True, slots=True)
class Fsst:
    """Binds ``fsst`` around a variable-width child."""

    key = EncodingKey(COMPRESSIVE, "fsst")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.PER_VALUE: "2.1"})

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundFsst:
        """Check the symbol table and that the child yields byte strings."""
        child: BoundChunkCodec | BoundPerValueCodec
        if context is DecodeContext.PER_VALUE:
            child = scope.value_codec(message.values)
            num_buffers = 0
        else:
            child = scope.chunk_codec(message.values, context)
            num_buffers = child.num_buffers
        if not isinstance(child.shape, VariableWidth):
            raise CorruptFileError(f"FSST codes are of shape {child.shape}, expected variable width")
        table = np.frombuffer(message.symbol_table, np.uint8)
        kernels.measure_symbols(table, np.empty(0, np.uint8), _NO_PLACES, _NO_PLACES)
        return BoundFsst(child, child.shape, table, num_buffers)


@dataclass(frozen=True, slots=True)
class LocatedCodes:
    """Codes that were found already."""

    shape: VariableWidth

    @property
    def value_codec(self) -> LocatedCodes:
        return self

    def locate(self, batch: ValueBatch) -> ValueBatch:
        return batch


@dataclass(frozen=True, slots=True)
class BoundFsst:
    """Decodes the codes, then expands them; serves chunks, blocks and zipped values alike."""

    child: Any
    shape: VariableWidth
    table: Bytes
    num_buffers: int
    value_bits: None = None

    def native(self) -> object | None:
        compose = native_codecs.symbols if self.num_buffers else native_codecs.zipped_symbols
        return compose(native_side(self.child), self.table)

    def measure(self, batch: ChunkBatch | ValueBatch) -> int:
        codes = self._codes(batch)
        return kernels.measure_symbols(self.table, codes.data, codes.starts, codes.sizes)

    def decode(self, batch: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        shape, codes = out.shape, self._codes(batch)
        assert isinstance(shape, VariableWidth)
        places = (codes.data, codes.starts, codes.sizes)
        kernels.expand_symbols(self.table, *places, out.offsets, shape.offset_bits, out.values)

    def locate(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        return self._codes(batch)

    @property
    def value_codec(self) -> BoundFsst:
        return BoundFsst(LocatedCodes(self.shape), self.shape, self.table, 0)

    def _codes(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        """Codes of all values: where they lie already, or decoded."""
        return batch.derive(self, lambda: self._find_codes(batch))

    def _find_codes(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        if isinstance(self.child, ValueLocator):
            return self.child.locate(batch)
        codes = new_block(VariableWidth(_CODE_OFFSET_BITS), batch.num_values, self.child.measure(batch))
        self.child.decode(batch, codes)
        offsets = codes.offsets.view(np.int64)
        return ValueBatch(codes.values, offsets[:-1], np.diff(offsets))


@hookimpl
def lance_provide_codecs() -> list[Fsst]:
    return [Fsst()]
