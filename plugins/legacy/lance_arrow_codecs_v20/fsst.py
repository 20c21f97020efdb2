"""FSST: strings whose frequent byte sequences are replaced by one-byte codes, value by value.

Source: ArrayEncoding.Fsst; spec 2.0, 3.6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import NativePage
from lance_arrow.proto.encodings_v20_pb2 import ArrayEncoding
from lance_arrow.proto.encodings_v20_pb2 import Fsst as FsstMessage
from lance_arrow.spi import BindScope, BlockSlice, Bytes, EncodeScope, EncodingKey, LeafType, VariableWidth, hookimpl
from lance_arrow.spi.arrays import ARRAY, ArrayContent, BoundArray, EncodedArray
from lance_arrow.spi.layouts import BufferRole, FetchedSlices, LoadedPage, PageFacts, PageIndex, PageReadPlan, RowRanges
from lance_arrow.spi.scratch import Scratch
from lance_arrow.spi.slots import ItemValidity, PageStructure
from lance_arrow_codecs import native

_CODES = VariableWidth(64)
_TABLE_BYTES = 2312
_NO_PLACES = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Fsst:
    """Binds and writes ``fsst`` around byte strings."""

    key = EncodingKey(ARRAY, "fsst")

    def bind(self, message: Any, scope: BindScope) -> BoundFsst:
        """Check the symbol table and that the codes are byte strings."""
        shape = scope.leaf.shape
        if not isinstance(shape, VariableWidth):
            raise CorruptFileError(f"byte strings where the schema has {shape}", detail=shape)
        codes = scope.for_shape(_CODES).array(message.binary)
        if codes.shape != _CODES:
            raise CorruptFileError(f"FSST codes are of shape {codes.shape}, expected byte strings")
        table = np.frombuffer(message.symbol_table, np.uint8)
        native.measure_symbols(table, np.empty(0, np.uint8), _NO_PLACES, _NO_PLACES)
        return BoundFsst(shape, codes, table, scope.scratch)

    def score(self, content: ArrayContent, scope: EncodeScope) -> float | None:
        """Return a score for byte strings with 32-bit offsets if the options require FSST; None for others."""
        block = content.values
        is_wanted = scope.options.compression == "fsst" and block is not None and block.shape == VariableWidth(32)
        return 0.0 if is_wanted and len(block.values) else None

    def encode(self, content: ArrayContent, first_buffer: int, scope: EncodeScope) -> EncodedArray:
        """Replace frequent bytes by codes, which another encoding stores."""
        block = content.values
        if block is None or not isinstance(block.shape, VariableWidth) or not len(block.values):
            raise UnsupportedError("FSST needs byte strings")
        bits = block.shape.offset_bits
        table = np.empty(_TABLE_BYTES, np.uint8)
        native.train_symbols(block.offsets, bits, block.values, table)
        offsets, codes = np.zeros(len(block.offsets), np.uint8), np.empty(2 * len(block.values), np.uint8)
        total = native.compress_symbols(table, block.offsets, bits, block.values, offsets, bits, codes)
        coded = BlockSlice(block.shape, block.num_values, codes[:total], offsets=offsets)
        held = scope.for_parts().encode_array(replace(content, leaf=LeafType(block.shape), values=coded), first_buffer)
        message = FsstMessage(binary=held.description, symbol_table=table.tobytes())  # type: ignore[arg-type]
        return EncodedArray(ArrayEncoding(fsst=message), held.buffers)


@dataclass(frozen=True, slots=True)
class BoundFsst:
    """Finds the codes by their encoding."""

    shape: VariableWidth
    codes: BoundArray
    table: Bytes
    scratch: Scratch

    @property
    def has_nulls(self) -> bool:
        return self.codes.has_nulls

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return self.codes.buffers

    @property
    def index_buffers(self) -> tuple[int, ...]:
        return self.codes.index_buffers

    def native_page(self, page: PageFacts) -> NativePage | None:
        coded = getattr(self.codes, "native_coded", None)
        if coded is None:
            return None
        symbols = native.zipped_symbols_codec(native_codecs.zipped(0), self.table)
        made: NativePage | None = coded(page, self.shape, symbols)
        return made

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> PageIndex | None:
        return self.codes.load_index(page, buffers)

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        return self.codes.plan(page, index, rows)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[FetchedSlices, ...]) -> LoadedPage:
        loaded = self.codes.load(page, index, plan, fetched)
        block = self.scratch.new_block(_CODES, loaded.num_values, loaded.num_bytes)
        loaded.decode(block)
        assert isinstance(loaded.levels, ItemValidity)
        return LoadedFsst(self.shape, loaded.levels, block, self.table)


class LoadedFsst:
    """Codes of selected values, with their measured size."""

    dictionary = None

    def __init__(self, shape: VariableWidth, levels: PageStructure, codes: BlockSlice, table: Bytes) -> None:
        offsets = codes.offsets.view(np.int64)
        self.shape, self.levels, self.num_values = shape, levels, codes.num_values
        self._table = table
        self._places = codes.values, offsets[:-1], np.diff(offsets)
        self.num_bytes = native.measure_symbols(table, *self._places)

    def decode(self, out: BlockSlice) -> None:
        native.expand_symbols(self._table, *self._places, out.offsets, self.shape.offset_bits, out.values)


@hookimpl
def lance_provide_arrays() -> list[Fsst]:
    return [Fsst()]
