"""`ElementwiseCodec`: base class of a codec that maps numbers to numbers, which another codec then encodes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.spi.bases.authored import TypedCodec, require_children
from lance_arrow.spi.blocks import BlockSlice, FixedWidth
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch
from lance_arrow.spi.encoding import Encoded
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.private import private_description
from lance_arrow.spi.scopes import BindScope, EncodeScope


class ElementwiseCodec(TypedCodec):
    """Inherit, set ``id``, ``distribution`` and ``dtypes``, and write two methods: values to numbers and back.

    Each number depends on its own value alone. The numbers are unsigned integers as wide as the values. The smallest
    codec for them is chosen, so make them small: bit packing then does the rest.
    """

    kinds = (FixedWidth,)

    def map_values(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers of `values`, ``(n,)`` with one of `dtypes`. A null has the value before it."""
        raise NotImplementedError

    def restore_values(self, numbers: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return the ``(n,)`` values of `dtype` of unsigned `numbers`, ``(n,)``; every number has a value."""
        raise NotImplementedError

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundElementwise:
        """Check the parameters, and bind the codec of the numbers."""
        require_children(message, 1, self.id)
        codec, dtype = self._for_description(message.config)
        (numbers,) = message.children
        is_single = context is DecodeContext.PER_VALUE
        child = scope.value_codec(numbers) if is_single else scope.chunk_codec(numbers, context)
        if child.shape != FixedWidth(8 * dtype.itemsize):
            raise CorruptFileError(f"the codec {self.id!r} of {dtype} around {child.shape}")
        return BoundElementwise(codec, dtype, child)

    def score(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> float | None:
        """Return the score of the numbers; None for values of another width."""
        numbers = self._numbers(block, scope)
        return None if numbers is None else super().score(numbers[0], context, scope)

    def encode(self, block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> Encoded:
        """Encode the numbers by the codec that suits them."""
        numbers = self._numbers(block, scope)
        if numbers is None:
            raise UnsupportedError(f"the codec {self.id!r} does not take values of {block.shape}")
        mapped, config = numbers
        child = scope.encode_child(mapped, context)
        inner: Any = child.description
        description = private_description(self.key, self.distribution, config, [inner])
        return replace(child, description=description)

    def _numbers(self, block: BlockSlice, scope: EncodeScope) -> tuple[BlockSlice, bytes] | None:
        """Return the numbers, made once for scoring and for encoding, and the config."""
        found = self._for_column(block.shape, scope)
        if found is None:
            return None
        codec, dtype = found
        config, summary = codec._described(dtype), scope.summary(block)

        def find() -> BlockSlice:
            values = summary.forward_filled.values.view(dtype)
            made = codec.map_values(values)
            is_like = (
                isinstance(made, np.ndarray) and made.shape == values.shape and made.dtype.itemsize == dtype.itemsize
            )
            if not is_like:
                raise self._broken(
                    f"`map_values` returned {made!r:.80}, expected an array of {values.shape} and {dtype}"
                )
            return replace(block, values=np.ascontiguousarray(made).view(np.uint8))

        return summary.remember((self.id, config), find), config


@dataclass(frozen=True, slots=True)
class BoundElementwise:
    """Lets the child fill the destination, then restores the values."""

    codec: Any
    dtype: np.dtype[Any]
    child: Any

    @property
    def shape(self) -> FixedWidth:
        return FixedWidth(8 * self.dtype.itemsize)

    @property
    def num_buffers(self) -> int:
        return self.child.num_buffers

    @property
    def value_bits(self) -> int | None:
        return self.child.value_bits

    def measure(self, batch: ChunkBatch | ValueBatch) -> int:
        return 0

    def decode(self, batch: ChunkBatch | ValueBatch, out: BlockSlice) -> None:
        self.child.decode(batch, out)
        with self.codec._decoding(0):
            made = self.codec.restore_values(out.values.view(f"<u{self.dtype.itemsize}"), self.dtype)
        out.values.view(self.dtype)[:] = self.codec._array(made, out.num_values, self.dtype, 0)
