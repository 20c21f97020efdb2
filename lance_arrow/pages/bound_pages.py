"""Validated descriptions of chunked and zipped pages, with their codecs bound."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.settings import Limits
from lance_arrow.spi.blocks import BlockShape, LayerKind, max_visible_def
from lance_arrow.spi.codecs import BoundChunkCodec, BoundPerValueCodec
from lance_arrow.spi.layouts import PageFacts


@dataclass(frozen=True, slots=True)
class BoundChunks:
    """A validated description of chunks; counts are the page's own."""

    layers: tuple[LayerKind, ...]
    rep: BoundChunkCodec | None
    def_: BoundChunkCodec | None
    values: BoundChunkCodec
    items: BoundChunkCodec | None
    num_items: int
    keeps_items: bool
    num_values: int | None
    large: bool
    limits: Limits

    @property
    def shape(self) -> BlockShape:
        """Shape of the decoded values; shape of the indices if the leaf keeps its dictionary."""
        return self.values.shape if self.items is None or self.keeps_items else self.items.shape


@dataclass(frozen=True, slots=True)
class EntryForm:
    """Encoding of an entry.

    Parameters
    ----------
    bits_rep, bits_def
        Widths inside the control word.
    value_bits
        Width of every value, or None if each valid value has its length.
    length_bits
        Width of the length; 0 without lengths.
    """

    bits_rep: int
    bits_def: int
    value_bits: int | None
    length_bits: int

    @property
    def value_bytes(self) -> int:
        """Bytes of every value; -1 if each has its length (as kernels expect)."""
        return -1 if self.value_bits is None else self.value_bits // 8

    @property
    def control_bytes(self) -> int:
        bits = self.bits_rep + self.bits_def
        return 0 if bits == 0 else 1 if bits <= 8 else 2 if bits <= 16 else 4


@dataclass(frozen=True, slots=True)
class BoundEntries:
    """A validated description of zipped entries; counts are the page's own."""

    layers: tuple[LayerKind, ...]
    max_rep: int
    max_def: int
    entry: EntryForm
    values: BoundPerValueCodec
    num_entries: int | None
    num_values: int | None
    limits: Limits

    @property
    def max_visible(self) -> int:
        """Largest definition level of an entry with a value; -1 if every entry has one."""
        return max_visible_def(self.layers) if self.max_rep else -1

    @property
    def row_bytes(self) -> int | None:
        """Bytes of every row, or None if rows differ and need an index."""
        if self.max_rep or self.entry.value_bits is None:
            return None
        return self.entry.control_bytes + self.entry.value_bytes

    def counts(self, page: PageFacts) -> tuple[int, int]:
        """Number of entries and values of the page."""
        return (
            page.num_rows if self.num_entries is None else self.num_entries,
            page.num_rows if self.num_values is None else self.num_values,
        )
