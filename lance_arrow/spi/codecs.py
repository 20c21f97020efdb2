"""Protocols of compressive encodings (codecs): factory and bound decoders per context; writing is in `encoding.py`.

A codec turns encoded bytes into a block of values. It knows nothing of files, pages, Arrow, threads or other codecs;
children are bound by `BindScope.child`. `bind` runs once per distinct description; the bound object is immutable,
shared by threads, and serves many chunks or values per call.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, runtime_checkable

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, NumBytes
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch


class BoundChunkCodec(Protocol):
    """Decodes whole chunks (mini-block context) or opaque blocks (block context)."""

    @property
    def shape(self) -> BlockShape:
        """What `decode` produces."""

    @property
    def num_buffers(self) -> int:
        """How many buffers of each chunk it consumes; 1 in the block context."""

    def measure(self, chunks: ChunkBatch) -> NumBytes:
        """Return the exact bytes of variable-width data, per field for a packed struct; 0 for other shapes.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves.
        """

    def decode(self, chunks: ChunkBatch, out: BlockSlice) -> None:
        """Fill all of `out` (``chunks.num_values`` values), or raise.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves or the number of values asked for.
        """


class BoundPerValueCodec(Protocol):
    """Decodes values that lie one by one (full-zip pages)."""

    @property
    def shape(self) -> BlockShape:
        """What `decode` produces."""

    @property
    def value_bits(self) -> int | None:
        """Bits per stored value (a multiple of 8), or None when each value carries its own length."""

    def measure(self, values: ValueBatch) -> NumBytes:
        """Return the exact bytes of variable-width data, per field for a packed struct; 0 for other shapes."""

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        """Fill all of `out` (``values.num_values`` values), or raise `CorruptPageError`."""


@runtime_checkable
class ValueLocator(Protocol):
    """Optional part of a bound codec of byte strings: tells where encoded values lie, without decoding them.

    With it, a wrapper that expands values needs no copy of them, and selected values are decoded without the others.
    """

    def locate(self, batch: Any) -> ValueBatch:
        """Return where each value of a `ChunkBatch` or `ValueBatch` lies, in their order.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves.
        """

    @property
    def value_codec(self) -> BoundPerValueCodec:
        """Decodes what `locate` finds."""


BoundCodec: TypeAlias = BoundChunkCodec | BoundPerValueCodec


class BoundBufferScheme(Protocol):
    """General compression of single buffers, bound to its parameters."""

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Return ``(n,) int64`` decompressed sizes of the frames ``data[starts[i] : starts[i] + sizes[i]]``.

        The sizes are what the frames declare: the caller checks them against `Limits` before allocating.
        """

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Write frame i to ``out[out_starts[i] : out_starts[i + 1]]``, exactly full, or raise `CorruptPageError`."""
