"""`FixedWidthCodec`: base class of a codec that turns an array of numbers into bytes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.bases.authored import TypedCodec, encoded_chunks, parts_of, require_children
from lance_arrow.spi.blocks import BlockSlice, FixedWidth
from lance_arrow.spi.chunks import ChunkBatch
from lance_arrow.spi.encoding import Encoded, EncodedBlock
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.private import private_description
from lance_arrow.spi.scopes import BindScope, EncodeScope


class FixedWidthCodec(TypedCodec):
    """Inherit, set ``id``, ``distribution`` and ``dtypes``, and write two methods: numbers to bytes and back.

    Bytes of chunks are independent. A column whose values do not fit the chunks of a page, or have another width, is
    written by other codecs.
    """

    chunk_bytes: ClassVar[int] = 8 << 10
    """Bytes of the values of a chunk before encoding. Takes decode whole chunks."""
    contexts: ClassVar[frozenset[DecodeContext]] = frozenset({DecodeContext.MINI_BLOCK, DecodeContext.BLOCK})
    writes = MappingProxyType(dict.fromkeys(contexts, "2.1"))
    kinds = (FixedWidth,)

    def encode_values(self, values: NDArray[Any]) -> bytes:
        """Encode `values`, ``(n,)`` with n > 0 and one of `dtypes`. A null has the value before it."""
        raise NotImplementedError

    def decode_values(self, data: bytes, num_values: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the ``(num_values,)`` values of `dtype` that `encode_values` made `data` of.

        `data` may be damaged. Raise one of ``decode_errors`` or `CorruptPageError`, or return other values. Memory
        must not exceed what `num_values` values need by far.
        """
        raise NotImplementedError

    def native_decoder(self, dtype: np.dtype[Any]) -> object | None:
        """Return a capsule ``lance_arrow.chunk_codec/1`` that decodes values of `dtype`; None without a C side."""
        return None

    def native_marks(self, dtype: np.dtype[Any]) -> object | None:
        """Return a capsule ``lance_arrow.chunk_marks/1`` that compares values of `dtype` for filters; None without."""
        return None

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundArrays:
        """Check the dtype and the parameters."""
        require_children(message, 0, self.id)
        return BoundArrays(*self._for_description(message.config))

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Encode by chunks that obey the rules, or by other codecs."""
        found = self._for_column(block.shape, scope)
        if found is None or context not in self.contexts:
            return self._by_others(block, context, scope)
        codec, dtype = found
        description = private_description(self.key, self.distribution, codec._described(dtype))
        values = scope.summary(block).forward_filled.values.view(dtype)

        def encode(start: int, stop: int) -> bytes:
            return codec._encoded(codec.encode_values(values[start:stop]))

        if context is DecodeContext.BLOCK:
            whole = encode(0, len(values)) if len(values) else b""
            return EncodedBlock(description, np.frombuffer(whole, np.uint8))
        rules = scope.chunk_rules
        most_values = max(self.chunk_bytes, rules.target_bytes) // dtype.itemsize
        chunks = encoded_chunks(description, len(values), most_values, rules, encode)
        return self._by_others(block, context, scope) if chunks is None else chunks


@dataclass(frozen=True, slots=True)
class BoundArrays:
    """Decodes chunk after chunk by the author's method."""

    codec: Any
    dtype: np.dtype[Any]
    num_buffers: int = 1

    @property
    def shape(self) -> FixedWidth:
        return FixedWidth(8 * self.dtype.itemsize)

    def native(self) -> object | None:
        return self.codec.native_decoder(self.dtype)

    def native_marks(self) -> object | None:
        return self.codec.native_marks(self.dtype)

    def measure(self, chunks: ChunkBatch) -> int:
        return 0

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        values = out.values.view(self.dtype)
        parts = parts_of(chunks.data, chunks.starts[0], chunks.sizes[0])
        for chunk, (data, (start, stop)) in enumerate(zip(parts, pairwise(chunks.value_starts.tolist()), strict=True)):
            if start == stop:
                continue
            with self.codec._decoding(chunk):
                made = self.codec.decode_values(data, stop - start, self.dtype)
            values[start:stop] = self.codec._array(made, stop - start, self.dtype, chunk)
