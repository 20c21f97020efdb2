"""Write zipped pages: control words, lengths and values one after the other, and the offset of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import PluginContractError, UnsupportedError
from lance_arrow.pages.level_writing import max_def, num_rows
from lance_arrow.spi.blocks import BlockSlice, Bytes, FixedWidth, Levels
from lance_arrow.spi.encoding import EncodedValues
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.scopes import EncodeScope

_BIT = FixedWidth(1)
_MAX_ENTRIES = (1 << 32) - 1
"""Most entries of a page: descriptions count them in 32 bits before 2.3."""


@dataclass(frozen=True, slots=True, eq=False)
class ZippedParts:
    """A written zipped page.

    Parameters
    ----------
    values
        ``CompressiveEncoding`` of single values.
    bits_rep, bits_def
        Widths inside the control word.
    value_bits, length_bits
        Width of every value, or of the length before each. Exactly one is not None.
    num_entries, num_values
        Level entries and values.
    buffers
        Entries, then the row index if rows have different widths.
    """

    values: Message
    bits_rep: int
    bits_def: int
    value_bits: int | None
    length_bits: int | None
    num_entries: int
    num_values: int
    buffers: tuple[Bytes, ...]


def zippable(values: BlockSlice) -> BlockSlice:
    """Return values in the form of zipped pages: a boolean takes one byte."""
    if values.shape != _BIT:
        return values
    bits = np.unpackbits(values.values, bitorder="little")
    return BlockSlice(FixedWidth(8), values.num_values, bits[values.bit_offset :][: values.num_values])


def write_zipped(values: BlockSlice, levels: Levels, scope: EncodeScope) -> ZippedParts:
    """Encode values one by one and interleave them with the levels.

    Raises
    ------
    UnsupportedError
        No codec can hold the values, or the page has too many entries, or entries without bytes.
    """
    encoded = scope.for_values().encode_child(zippable(values), DecodeContext.PER_VALUE)
    if not isinstance(encoded, EncodedValues):
        raise PluginContractError(f"a codec encoder returned {type(encoded).__name__}, expected single values")
    if levels.num_entries > _MAX_ENTRIES:
        raise UnsupportedError(f"a page of {levels.num_entries} zipped entries, more than 32 bits count")
    max_rep = levels.max_rep
    bits_rep = 0 if levels.rep is None else max_rep.bit_length()
    bits_def = 0 if levels.def_ is None else max_def(levels.layers).bit_length()
    has_lengths = encoded.value_bits is None
    if encoded.value_bits == 0 and bits_rep + bits_def == 0:
        raise UnsupportedError("zipped entries without any bytes")
    row_starts = np.empty(num_rows(levels) + 1, np.int64) if has_lengths or max_rep else None
    stream = np.empty(_most_bytes(encoded, levels, bits_rep + bits_def, values.num_values), np.uint8)
    written = kernels.zip_entries(
        levels.rep,
        levels.def_,
        levels.num_entries,
        bits_rep,
        bits_def,
        max_rep,
        levels.max_visible_def if max_rep else -1,
        np.ascontiguousarray(encoded.data),
        encoded.offsets,
        values.num_values,
        (encoded.value_bits or 0) // 8,
        encoded.length_bits,
        stream,
        row_starts,
    )
    index = () if row_starts is None else (_narrowed(row_starts),)
    return ZippedParts(
        values=encoded.description,
        bits_rep=bits_rep,
        bits_def=bits_def,
        value_bits=encoded.value_bits,
        length_bits=encoded.length_bits if has_lengths else None,
        num_entries=levels.num_entries,
        num_values=values.num_values,
        buffers=(stream[:written], *index),
    )


def _most_bytes(encoded: EncodedValues, levels: Levels, control_bits: int, num_values: int) -> int:
    control_bytes = 0 if control_bits == 0 else 1 if control_bits <= 8 else 2 if control_bits <= 16 else 4
    # The kernel needs room for a length at each entry, although entries without a value have none.
    return levels.num_entries * (control_bytes + encoded.length_bits // 8) + len(encoded.data)


def _narrowed(row_starts: NDArray[np.int64]) -> Bytes:
    """Return offsets of 1, 2, 4 or 8 bytes, the narrowest that hold the last one."""
    last = int(row_starts[-1])
    width = 1 if last < 1 << 8 else 2 if last < 1 << 16 else 4 if last < 1 << 32 else 8
    return row_starts.astype(f"<u{width}").view(np.uint8)
