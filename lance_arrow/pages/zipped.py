"""Zipped pages: entries one after the other, each with its levels and its value, for values too large for chunks.

buffer 0   entries: [control word: levels] [length, if widths vary] [value]
buffer 1   row index: offset of each row, if rows have no common width

The engine cuts the stream at row borders, splits entries into levels and places of values, and lets the value codec
decode all of them. Source: spec 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.engine import NativePage
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages.bound_pages import BoundEntries, EntryForm
from lance_arrow.pages.called_codecs import value_side
from lance_arrow.pages.native_pages import native_entries
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, LayerKind
from lance_arrow.spi.chunks import ValueBatch
from lance_arrow.spi.codecs import BoundPerValueCodec, tables_of, with_tables
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import PageFacts
from lance_arrow.spi.scopes import BindScope
from lance_arrow.spi.scratch import Scratch

_LEVEL_BITS = 16
_BIT, _BYTE = FixedWidth(1), FixedWidth(8)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZippedForm:
    """Content of a page description of zipped entries.

    Parameters
    ----------
    layers
        Inner-most first.
    values
        ``CompressiveEncoding`` of single values.
    bits_rep, bits_def
        Widths inside the control word.
    value_bits, length_bits
        Width of every value, or of the length before each; exactly one is not None.
    num_entries, num_values
        Level entries and values; None if both equal the rows of the page.
    """

    layers: tuple[LayerKind, ...]
    values: Any
    bits_rep: int
    bits_def: int
    value_bits: int | None
    length_bits: int | None
    num_entries: int | None
    num_values: int | None


def bind_zipped(form: ZippedForm, scope: BindScope) -> ZippedPages:
    """Check the widths against the layers and the value codec.

    Raises
    ------
    CorruptFileError
        The description contradicts itself.
    UnsupportedError
        Entries have neither levels nor bytes, so the size of the page would not limit their number.
    """
    values = scope.value_codec(form.values)
    max_rep = sum(layer.is_list for layer in form.layers)
    max_def = sum(layer.num_def_levels for layer in form.layers)
    if form.bits_rep > _LEVEL_BITS or form.bits_def > _LEVEL_BITS:
        raise CorruptFileError(f"levels of {form.bits_rep} and {form.bits_def} bits, expected at most 16")
    if max_rep >> form.bits_rep or (form.bits_rep and not max_rep):
        raise CorruptFileError(f"repetition levels of {form.bits_rep} bits cannot count {max_rep} lists")
    if form.bits_def and not max_def:
        raise CorruptFileError("a page has definition levels, but no layer that uses them")
    if form.value_bits is None and form.length_bits is None:
        raise CorruptFileError("a zipped page declares neither the width of its values nor that of their lengths")
    if values.value_bits != form.value_bits:
        raise CorruptFileError(f"zipped values of {form.value_bits} bits, but their codec has {values.value_bits}")
    if form.value_bits is None and form.length_bits not in (32, 64):
        raise CorruptFileError(f"lengths of {form.length_bits} bits, expected 32 or 64")
    for count in (form.num_entries, form.num_values):
        if count is not None and count >> 63:
            raise CorruptFileError(f"a page has {count} entries or values, more than 63 bits hold")
    if form.value_bits == 0 and not form.bits_rep + form.bits_def:
        raise UnsupportedError("zipped entries without any bytes are not readable")
    if scope.leaf.shape == _BIT and values.shape == _BYTE:
        values = Booleans(values, scope.scratch, scope.limits.max_batch_bytes)
    return ZippedPages(
        layers=form.layers,
        max_rep=max_rep,
        max_def=max_def,
        entry=EntryForm(form.bits_rep, form.bits_def, form.value_bits, form.length_bits or 0),
        values=values,
        num_entries=form.num_entries,
        num_values=form.num_values,
        limits=scope.limits,
    )


@dataclass(frozen=True, slots=True)
class Booleans:
    """Booleans, one byte each in zipped pages: 0 is false, all other bytes are true, as in the reference."""

    stored: BoundPerValueCodec
    scratch: Scratch
    most_bytes: int
    shape: ClassVar[FixedWidth] = _BIT

    @property
    def value_bits(self) -> int | None:
        return self.stored.value_bits

    def native(self) -> object | None:
        return native_codecs.zipped_booleans(value_side(self.stored, self.most_bytes))

    def measure(self, values: ValueBatch) -> int:
        return 0

    def decode(self, values: ValueBatch, out: BlockSlice) -> None:
        with self.scratch.block(_BYTE, values.num_values) as block:
            self.stored.decode(values, block)
            bits = np.packbits(block.values != 0, bitorder="little")
        everything = np.zeros(1, np.int64), np.array([values.num_values], np.int64)
        kernels.take_bit_runs(bits, 0, *everything, out.values, out.bit_offset)


@dataclass(frozen=True, slots=True)
class ZippedPages(BoundEntries):
    """Zipped pages; where rows differ in width, they read their index by themselves."""

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        roles = [BufferRole.DATA] if self.row_bytes is not None else [BufferRole.DATA, BufferRole.ROW_INDEX]
        if len(roles) != len(page.buffer_sizes):
            raise CorruptFileError(f"a page has {len(page.buffer_sizes)} buffers, expected {len(roles)}")
        num_entries, num_values = self.counts(page)
        if not self.max_rep and not page.num_rows == num_entries == num_values:
            raise CorruptFileError(f"a page has {page.num_rows} rows, {num_entries} entries and {num_values} values")
        if self.row_bytes is not None and page.num_rows * self.row_bytes != page.buffer_sizes[0]:
            raise CorruptFileError(
                f"{page.num_rows} rows of {self.row_bytes} bytes in a buffer of {page.buffer_sizes[0]}"
            )
        return tuple(roles)

    @property
    def parameters(self) -> Mapping[str, int | bytes]:
        counts = {"num_entries": self.num_entries, "num_values": self.num_values}
        return {name: count for name, count in counts.items() if count is not None} | tables_of(self.values, "values")

    def with_parameters(self, parameters: Mapping[str, Any]) -> ZippedPages:
        return replace(
            self,
            values=with_tables(self.values, "values", parameters),
            num_entries=parameters.get("num_entries", self.num_entries),
            num_values=parameters.get("num_values", self.num_values),
        )

    def native_page(self, page: PageFacts) -> NativePage | None:
        try:
            self.roles(page)
        except CorruptFileError:
            return None  # `roles` raises the error with its place
        return native_entries(self, page)

    def native_pages(self, num_rows: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NativePage] | None:
        found = []
        for rows, own_sizes in zip(num_rows.tolist(), sizes.tolist(), strict=True):
            facts = PageFacts(rows, tuple(own_sizes))
            self.roles(facts)
            made = native_entries(self, facts)
            if made is None:
                return None
            found.append(made)
        return found
