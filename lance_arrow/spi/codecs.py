"""Protocols of compressive encodings (codecs): bound decoders per context; `encoding.py` has the writing side.

A codec turns encoded bytes into a block of values. It knows nothing of files, pages, Arrow, threads or other codecs.
`BindScope` binds its children. `bind` runs once per distinct description. The bound object is immutable, shared by
threads, and decodes many chunks or values per call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from lance_arrow.spi.blocks import BlockShape, BlockSlice, Bytes, NumBytes
from lance_arrow.spi.chunks import ChunkBatch, ValueBatch


class BoundChunkCodec(Protocol):
    """Decodes whole chunks (mini-block context) or opaque blocks (block context)."""

    @property
    def shape(self) -> BlockShape:
        """Shape of the block that `decode` fills."""

    @property
    def num_buffers(self) -> int:
        """Number of buffers of each chunk that the codec consumes; 1 in the block context."""

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
            The bytes contradict themselves or the requested number of values.
        """


class BoundPerValueCodec(Protocol):
    """Decodes values that are stored one by one (full-zip pages)."""

    @property
    def shape(self) -> BlockShape:
        """Shape of the block that `decode` fills."""

    @property
    def value_bits(self) -> int | None:
        """Bits per stored value (a multiple of 8), or None if each value has its own length."""

    def measure(self, values: ValueBatch) -> NumBytes:
        """Return the exact bytes of variable-width data, per field for a packed struct; 0 for other shapes.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves.
        """

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        """Fill all of `out` (``values.num_values`` values), or raise `CorruptPageError`."""


@runtime_checkable
class ValueLocator(Protocol):
    """Optional part of a bound codec of byte strings: locates encoded values without decoding them.

    With it, a wrapper that expands values needs no copy of them, and selected values are decoded without the others.
    """

    def locate(self, batch: Any) -> ValueBatch:
        """Return the places of the values of a `ChunkBatch` or `ValueBatch`, in their order.

        Raises
        ------
        CorruptPageError
            The bytes contradict themselves.
        """

    @property
    def value_codec(self) -> BoundPerValueCodec:
        """Codec that decodes the values that `locate` returns."""


BoundCodec: TypeAlias = BoundChunkCodec | BoundPerValueCodec


class BoundBufferScheme(Protocol):
    """General compression of single buffers, bound to its parameters."""

    def sizes(self, data: Bytes, starts: Any, sizes: Any) -> Any:
        """Return ``(n,) int64`` decompressed sizes of the frames ``data[starts[i] : starts[i] + sizes[i]]``.

        The frames declare these sizes. The caller checks them against `Limits` before it allocates memory.
        """

    def decompress(self, data: Bytes, starts: Any, sizes: Any, out: Bytes, out_starts: Any) -> None:
        """Write frame i to ``out[out_starts[i] : out_starts[i + 1]]``, exactly full, or raise `CorruptPageError`."""


FieldPath: TypeAlias = tuple[str, ...]
"""Names of fields, from a message downwards."""


@runtime_checkable
class HasParameters(Protocol):
    """A bound codec, or layout, that also serves descriptions which differ in some fields.

    These fields are its parameters: tables of bytes, and counts. A codec has tables alone, of at least 64 bytes of one
    length. The factory of a layout has ``counts``: pairs of a parameter, and the `FieldPath` of its field from the
    message that is bound. Parameters of children are among its own, under other names.

    If a child has tables and none of these methods, the layout is bound for each of them.
    """

    @property
    def parameters(self) -> Mapping[str, int | bytes]:
        """The parameters of the description that it was bound to; all bytes of a child's must be among them."""

    def with_parameters(self, parameters: Mapping[str, int | bytes]) -> Self:
        """Return what `bind` returns for a description with other parameters, those of `parameters` that differ.

        Raises
        ------
        LanceError
            As `bind`.
        """


def tables_of(child: Any, prefix: str) -> dict[str, int | bytes]:
    """Return the parameters of a child under longer names; nothing if it has none."""
    # A check of the protocol would take longer than what this saves.
    if not hasattr(child, "with_parameters"):
        return {}
    return {f"{prefix}.{name}": value for name, value in child.parameters.items()}


def with_tables(child: Any, prefix: str, parameters: Mapping[str, int | bytes]) -> Any:
    """Return a child with those of some parameters that are its own; itself if none is."""
    start = f"{prefix}."
    own = {name[len(start) :]: value for name, value in parameters.items() if name.startswith(start)}
    return child.with_parameters(own) if own else child
