"""FSST: strings whose frequent byte sequences are replaced by one-byte codes, value by value.

The codes are stored in a Variable child; the table is part of the description. Other children of the format are
rejected, as in the reference: no writer encodes FSST codes of FSST codes, or of compressed bytes. Source:
CompressiveEncoding.Fsst; spec 5.6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from lance_arrow import spi
from lance_arrow.errors import CorruptFileError, PluginContractError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.proto.encodings_v21_pb2 import CompressiveEncoding
from lance_arrow.proto.encodings_v21_pb2 import Fsst as FsstMessage
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    BoundPerValueCodec,
    Bytes,
    ChunkBatch,
    DecodeContext,
    EncodeScope,
    EncodingKey,
    ValueBatch,
    VariableWidth,
    hookimpl,
    new_block,
)
from lance_arrow.spi.native import native_side
from lance_arrow_codecs import native

_NO_CODES, _NO_PLACES = np.empty(0, np.uint8), np.empty(0, np.int64)
_CODE_OFFSET_BITS = 64
_VARIABLE = EncodingKey(COMPRESSIVE, "variable")
_GENERAL = EncodingKey(COMPRESSIVE, "general")
_CHILDREN = (_VARIABLE.case, "private_codec")
_TABLE_BYTES = 2312
_LEAST_BYTES = 32 << 10
_LEAST_LENGTH = 5
"""Minimum sizes of a page whose values are encoded automatically. Source: spec 10."""
_MOST_BYTES = 1 << 30
"""Escapes may double the bytes, and 32-bit offsets must still count them."""
_SAMPLED_BYTES = 64 << 10
_NUM_SAMPLES = 8
_PROVEN = 0.997
"""A table from an earlier page must encode a sample so much better than one that is trained on this very sample."""
_TOLERANCE = 1.002
"""How much worse a proven table may fit another page: less than two tables differ that are trained on one column."""
_WORK = {"fast": 1.5, "default": 1.05, "compact": 1.0}
"""Cost of expanding a byte, so that small savings are not used."""


@dataclass(frozen=True, slots=True)
class Fsst:
    """Binds ``fsst`` around a variable-width child; writes it around ``variable``."""

    key = EncodingKey(COMPRESSIVE, "fsst")
    contexts = frozenset(DecodeContext)
    since = MappingProxyType({DecodeContext.MINI_BLOCK: "2.1", DecodeContext.PER_VALUE: "2.1"})
    writes = since
    kinds = (VariableWidth,)

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundFsst:
        """Check the symbol table, and that the child is `variable`, or a private codec of byte strings."""
        case = message.values.WhichOneof("compression")
        if case not in _CHILDREN:
            raise CorruptFileError(f"FSST codes are encoded as {case}, expected variable", detail=case)
        child: BoundChunkCodec | BoundPerValueCodec
        if context is DecodeContext.PER_VALUE:
            child = scope.value_codec(message.values)
            num_buffers = 0
        else:
            child = scope.chunk_codec(message.values, context)
            num_buffers = child.num_buffers
        if not isinstance(child.shape, VariableWidth):
            raise CorruptFileError(f"FSST codes are of shape {child.shape}, expected variable width")
        # A private codec may locate bytes that are not codes yet.
        is_located = case == _VARIABLE.case and hasattr(child, "locate")
        return _bound(child, child.shape, message.symbol_table, num_buffers, is_located)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Estimate from an encoded sample; None for bytes that are not text, or for too few or too short values."""
        if not isinstance(block.shape, VariableWidth) or len(block.values) > _MOST_BYTES:
            return None
        options, summary = scope.options, scope.summary(block)
        is_wanted = options.compression == "fsst" or options.codec == self.key.case
        if not is_wanted:
            if options.compression is not None or not (scope.leaf.is_text or options.preset == "compact"):
                return None
            if len(block.values) < _LEAST_BYTES or summary.max_value_bytes < _LEAST_LENGTH:
                return None
        if context is DecodeContext.MINI_BLOCK and not _fits(block, scope):
            return None
        coded = _symbols(block, context, scope).ratio * len(block.values) + _TABLE_BYTES
        work = 0.5 if is_wanted else _WORK[options.preset]
        return coded * work + block.num_values * (block.shape.offset_bits // 8)

    def native_encoder(self, shape: spi.BlockShape, context: DecodeContext, scope: EncodeScope) -> object | None:
        """Return an encoder that fits no small blocks, and is asked in Python about others."""
        options = scope.options
        if context is not DecodeContext.MINI_BLOCK or options.compression == "fsst" or options.codec == self.key.case:
            return None
        if options.compression is not None or not (scope.leaf.is_text or options.preset == "compact"):
            return native_codecs.unfit_encoder()
        return native_codecs.asked_encoder(_LEAST_BYTES, 0)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> spi.Encoded:
        """Replace frequent bytes by codes, which `variable` encodes."""
        if not isinstance(block.shape, VariableWidth) or len(block.values) > _MOST_BYTES:
            raise UnsupportedError(f"FSST needs values of variable width, not {block.shape}")
        table, codes = _symbols(block, context, scope).table, _codes_of(block, context, scope)
        child = scope.encode_with(_VARIABLE, codes, context)
        description = CompressiveEncoding(
            fsst=FsstMessage(symbol_table=table.tobytes(), values=child.description)  # type: ignore[arg-type]
        )
        if isinstance(child, spi.EncodedChunks | spi.EncodedValues):
            return replace(child, description=description)
        raise PluginContractError(
            f"{_VARIABLE} returned {type(child).__name__} for FSST codes, expected chunks or values"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Symbols:
    """Symbols for a block.

    Parameters
    ----------
    table
        The table.
    ratio
        Ratio of code bytes to plain bytes in a sample of the block.
    proven_ratio
        The ratio for a block on whose sample another table was trained that was no better; 0 before there is one.
    """

    table: Bytes
    ratio: float
    proven_ratio: float = 0.0


def _symbols(block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> _Symbols:
    """Return symbols for the block, those of earlier pages if they fit."""
    # Items of dictionaries are other values than those of pages without.
    name = "fsst items" if context is DecodeContext.BLOCK else "fsst"
    return scope.summary(block).remember("fsst", lambda: scope.carried(name, lambda found: _find(block, found)))


def _find(block: BlockSlice, before: _Symbols | None) -> _Symbols:
    """Train a table, unless one from before is proven and fits as well as when it was proven."""
    assert isinstance(block.shape, VariableWidth)
    known = math.inf if before is None else _ratio(before.table, block)
    if before is not None and known <= before.proven_ratio:
        return replace(before, ratio=known)
    table = np.empty(_TABLE_BYTES, np.uint8)
    native.train_symbols(block.offsets, block.shape.offset_bits, block.values, table)
    ratio = _ratio(table, block)
    if before is not None and known <= _PROVEN * ratio:
        return _Symbols(before.table, known, _TOLERANCE * known)
    return _Symbols(table, ratio)


def _codes_of(block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> BlockSlice:
    return scope.summary(block).remember("fsst codes", lambda: _encode(_symbols(block, context, scope).table, block))


def _fits(block: BlockSlice, scope: EncodeScope) -> bool:
    """Return whether two values fit a chunk; large values must be encoded to find out."""
    assert isinstance(block.shape, VariableWidth)
    worst = 4 * scope.summary(block).max_value_bytes + block.shape.offset_bits // 2
    if worst <= scope.chunk_rules.max_bytes:
        return True
    codes = _codes_of(block, DecodeContext.MINI_BLOCK, scope)
    return scope.estimate_child(codes, DecodeContext.MINI_BLOCK, without=frozenset({Fsst.key, _GENERAL})) is not None


def _ratio(table: Bytes, block: BlockSlice) -> float:
    """Return the ratio of code bytes to plain bytes in a sample."""
    plain_bytes = coded_bytes = 0
    for part in _samples(block):
        plain_bytes += len(part.values)
        coded_bytes += len(_encode(table, part).values)
    return coded_bytes / plain_bytes if plain_bytes else 1.0


def _samples(block: BlockSlice) -> list[BlockSlice]:
    """Return values from several positions."""
    assert isinstance(block.shape, VariableWidth)
    offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}")
    if len(block.values) <= _SAMPLED_BYTES:
        return [block]
    firsts = np.arange(_NUM_SAMPLES) * (len(block.values) // _NUM_SAMPLES)
    starts = np.searchsorted(offsets, offsets[0] + firsts, side="right") - 1
    stops = np.searchsorted(offsets, offsets[0] + firsts + _SAMPLED_BYTES // _NUM_SAMPLES, side="left")
    parts = []
    for start, stop in zip(starts.tolist(), np.maximum(stops, starts + 1).tolist(), strict=True):
        own = offsets[start : stop + 1]
        begin, end = int(own[0] - offsets[0]), int(own[-1] - offsets[0])
        if end - begin > _SAMPLED_BYTES:
            # One long value: its beginning is enough.
            own, end = np.array([0, _SAMPLED_BYTES], offsets.dtype), begin + _SAMPLED_BYTES
        parts.append(BlockSlice(block.shape, len(own) - 1, block.values[begin:end], offsets=own.view(np.uint8)))
    return parts


def _encode(table: Bytes, block: BlockSlice) -> BlockSlice:
    assert isinstance(block.shape, VariableWidth)
    offsets = np.zeros((block.num_values + 1) * block.shape.offset_bits // 8, np.uint8)
    codes = np.empty(2 * len(block.values), np.uint8)
    bits = block.shape.offset_bits
    total = native.compress_symbols(table, block.offsets, bits, block.values, offsets, bits, codes)
    return BlockSlice(block.shape, block.num_values, codes[:total], offsets=offsets)


def _bound(child: Any, shape: VariableWidth, symbol_table: bytes, num_buffers: int, is_located: bool) -> BoundFsst:
    """Return a codec of a table of bytes that a file has; raises `CorruptPageError` if it is none."""
    table = np.frombuffer(symbol_table, np.uint8)
    # It checks the table, too.
    side = _native_side(child, table, num_buffers)
    if side is None:
        native.measure_symbols(table, _NO_CODES, _NO_PLACES, _NO_PLACES)
    return BoundFsst(child, shape, table, num_buffers, is_located, side)


def _native_side(child: Any, table: Bytes, num_buffers: int) -> object | None:
    """Return the native side of codes, None if the child has none; raises `CorruptPageError` if the table is none."""
    compose = native.symbols_codec if num_buffers else native.zipped_symbols_codec
    made: object | None = compose(native_side(child), table)
    return made


@dataclass(frozen=True, slots=True)
class LocatedCodes:
    """Codes that are already located."""

    shape: VariableWidth

    @property
    def value_codec(self) -> LocatedCodes:
        return self

    def locate(self, batch: ValueBatch) -> ValueBatch:
        return batch


@dataclass(frozen=True, slots=True)
class BoundFsst:
    """Decodes the codes, then expands them; for chunks, blocks and zipped values."""

    child: Any
    shape: VariableWidth
    table: Bytes
    num_buffers: int
    is_located: bool
    """Whether the child locates the codes; otherwise the child decodes them."""
    side: Any = field(default=None, compare=False, repr=False)
    """The native side where it was made to check the table."""
    value_bits: None = None

    @property
    def parameters(self) -> dict[str, int | bytes]:
        return {"symbol_table": self.table.tobytes()}

    def with_parameters(self, parameters: Mapping[str, int | bytes]) -> BoundFsst:
        symbols = parameters["symbol_table"]
        assert isinstance(symbols, bytes)
        return _bound(self.child, self.shape, symbols, self.num_buffers, self.is_located)

    def native(self) -> object | None:
        return _native_side(self.child, self.table, self.num_buffers) if self.side is None else self.side

    def native_marks(self) -> object | None:
        made: object | None = native.symbol_marks(self.native()) if self.num_buffers else None
        return made

    def measure(self, batch: ChunkBatch | ValueBatch) -> int:
        codes = self._codes(batch)
        return native.measure_symbols(self.table, codes.data, codes.starts, codes.sizes)

    def decode(self, batch: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        shape, codes = out.shape, self._codes(batch)
        assert isinstance(shape, VariableWidth)
        places = (codes.data, codes.starts, codes.sizes)
        native.expand_symbols(self.table, *places, out.offsets, shape.offset_bits, out.values)

    def locate(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        return self._codes(batch)

    @property
    def value_codec(self) -> BoundFsst:
        return BoundFsst(LocatedCodes(self.shape), self.shape, self.table, 0, True)

    def _codes(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        """Return the codes of all values, located or decoded."""
        return batch.derive(self, lambda: self._find_codes(batch))

    def _find_codes(self, batch: ChunkBatch | ValueBatch) -> ValueBatch:
        if self.is_located:
            return self.child.locate(batch)
        codes = new_block(VariableWidth(_CODE_OFFSET_BITS), batch.num_values, self.child.measure(batch))
        self.child.decode(batch, codes)
        offsets = codes.offsets.view(np.int64)
        return ValueBatch(codes.values, offsets[:-1], np.diff(offsets))


@hookimpl
def lance_provide_codecs() -> list[Fsst]:
    return [Fsst()]
