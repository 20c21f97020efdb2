"""FSST of chunks in the place of the built-in codec, with a native side built against the public headers.

Source: CompressiveEncoding.Fsst.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.spi import (
    COMPRESSIVE,
    BindScope,
    BlockSlice,
    BoundChunkCodec,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    VariableWidth,
    hookimpl,
    new_block,
)
from lance_arrow.spi.native import native_side
from swift_words import _native

_TABLE_BYTES = 2312
_ESCAPE = 255


@dataclass(frozen=True, slots=True)
class BoundWords:
    """Expands the codes of chunks and blocks: natively, or in Python where that is asked for."""

    child: Any
    shape: VariableWidth
    table: bytes
    num_buffers: int

    def native(self) -> object | None:
        child = native_side(self.child)
        return None if child is None else _native.words(child, self.table)

    def measure(self, chunks: ChunkBatch) -> int:
        return sum(map(len, self._words(chunks)))

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        words = self._words(chunks)
        width = self.shape.offset_bits // 8
        offsets = out.offsets.view(f"<i{width}")
        np.cumsum([offsets[0], *map(len, words)], out=offsets)
        out.values[: sum(map(len, words))] = np.frombuffer(b"".join(words), np.uint8)

    def _words(self, chunks: ChunkBatch) -> list[bytes]:
        codes = new_block(VariableWidth(64), chunks.num_values, self.child.measure(chunks))
        self.child.decode(chunks, codes)
        ends = codes.offsets.view(np.int64).tolist()
        data = codes.values.tobytes()
        return [self._expanded(data[start:stop]) for start, stop in pairwise(ends)]

    def _expanded(self, codes: bytes) -> bytes:
        if self.table[3] != 1:
            return codes
        count, found, at = self.table[0], bytearray(), 0
        while at < len(codes):
            code = codes[at]
            if code == _ESCAPE and at + 1 < len(codes):
                found.append(codes[at + 1])
                at += 2
                continue
            if code >= count:
                raise CorruptPageError("a word has a code of no symbol")
            size = self.table[8 + 8 * count + code]
            found += self.table[8 + 8 * code : 8 + 8 * code + size]
            at += 1
        return bytes(found)


class Words:
    """The factory."""

    key = EncodingKey(COMPRESSIVE, "fsst")
    contexts = frozenset((DecodeContext.MINI_BLOCK, DecodeContext.BLOCK))

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundChunkCodec:
        table = message.symbol_table
        if len(table) != _TABLE_BYTES or table[4:8] != b"TSSF":
            raise CorruptFileError("swift-words knows no such table of symbols")
        child = scope.chunk_codec(message.values, context)
        if not isinstance(child.shape, VariableWidth):
            raise CorruptFileError(f"codes are of shape {child.shape}, expected variable width")
        return BoundWords(child, child.shape, bytes(table), child.num_buffers)


@hookimpl
def lance_provide_codecs() -> list[Words]:
    return [Words()]
