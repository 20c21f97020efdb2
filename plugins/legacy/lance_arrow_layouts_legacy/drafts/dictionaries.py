"""Dictionaries of drafts: the header of their strings changed twice, and early pages do not store their number.

    0.20 to 0.31   u32 items, u32 place of the bytes                       | offsets | bytes
    0.32           u8 bits of an offset, items, place (as wide as offsets) | offsets | bytes
    2.1            bits of an offset, place (as wide as offsets)           | offsets | bytes

The buffer is converted to the form of 2.1; then the page is like one of 2.1. Source: lance.encodings.Variable,
BinaryBlock; docs/format/draft_2_1.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lance_arrow.errors import CorruptPageError, UnsupportedError
from lance_arrow.pages import ChunkedPages, NativePage, index_in_memory
from lance_arrow.spi import Bytes, FixedWidth, VariableWidth
from lance_arrow.spi.layouts import BufferRole, BufferSlices, FetchedSlices, PageFacts

_DICTIONARY = 2


@dataclass(frozen=True, slots=True, eq=False)
class DictionaryIndex:
    """The page for the engine; None if the engine does not support its values."""

    native: NativePage | None

    @property
    def nbytes(self) -> int:
        return 0 if self.native is None else self.native.nbytes


@dataclass(frozen=True, slots=True)
class DraftDictionaryPages:
    """Pages of chunks of indices, as in 2.1 but for the header of the dictionary.

    Parameters
    ----------
    pages
        The chunks; their number of items is ignored.
    num_items
        Items of the dictionary, as described.
    """

    pages: ChunkedPages
    num_items: int | None

    def roles(self, page: PageFacts) -> tuple[BufferRole, ...]:
        return self.pages.roles(page)

    def index_slices(self, page: PageFacts) -> tuple[BufferSlices, ...]:
        roles = self.roles(page)
        return tuple(BufferSlices.whole(page, n) for n, role in enumerate(roles) if role is not BufferRole.DATA)

    def load_index(self, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> DictionaryIndex:
        numbers = (number for number, role in enumerate(self.roles(page)) if role is not BufferRole.DATA)
        buffers = {number: slices.one() for number, slices in zip(numbers, fetched, strict=True)}
        pages, buffers[_DICTIONARY] = restated_dictionary(self.pages, buffers[_DICTIONARY], self.num_items)
        sizes = tuple(len(buffers.get(number, ())) or size for number, size in enumerate(page.buffer_sizes))
        facts = PageFacts(page.num_rows, sizes)
        native = pages.native_page(facts)
        if native is not None:
            index_in_memory(native, facts, buffers, pages.limits)
        return DictionaryIndex(native)


def restated_dictionary(pages: ChunkedPages, buffer: Bytes, num_items: int | None) -> tuple[ChunkedPages, Bytes]:
    """Return pages that know the number of items, and the dictionary in the form of 2.1.

    Parameters
    ----------
    pages
        Pages of indices.
    buffer
        Their dictionary.
    num_items
        Its items; None if only the buffer has the number.

    Raises
    ------
    CorruptPageError, UnsupportedError, ResourceLimitError
        Its header belongs to no release, no release wrote such items, or they are too many.
    """
    shape = None if pages.items is None else pages.items.shape
    if isinstance(shape, VariableWidth):
        num_items, buffer = restated_strings(buffer, shape.offset_bits, num_items)
    elif not isinstance(shape, FixedWidth) or shape.bits % 8:
        raise UnsupportedError(f"a dictionary of {shape} in a draft page: no release wrote it")
    elif buffer.size % shape.bytes_per_value:
        raise CorruptPageError(f"a dictionary of {buffer.size} bytes has items of {shape.bytes_per_value}")
    else:
        num_items = buffer.size // shape.bytes_per_value
    pages.limits.check("max_dictionary_bytes", num_items)
    return replace(pages, num_items=num_items), buffer


def restated_strings(buffer: Bytes, offset_bits: int, num_items: int | None) -> tuple[int, Bytes]:
    """Recognise the header of a block of strings, and replace it by that of 2.1.

    Parameters
    ----------
    buffer
        The block.
    offset_bits
        32 or 64.
    num_items
        Items, if the description has the number; only releases that store it wrote the second header.

    Returns
    -------
    num_items
        Items of the block.
    block
        The block in the form of 2.1.

    Raises
    ------
    CorruptPageError
        The block fits neither header, or, with half a billion items, both.
    """
    width = offset_bits // 8
    first = _words(buffer, 0, width)
    fits_first = _is_head(first, num_items, 2 * width, width) and offset_bits == 32
    second = _words(buffer, 1, width)
    fits_second = (
        num_items is not None
        and buffer.size > 0
        and int(buffer[0]) == offset_bits
        and _is_head(second, num_items, 2 * width + 1, width)
    )
    if fits_first == fits_second:
        raise CorruptPageError(f"a dictionary of {num_items} strings begins with {buffer[:17].tobytes().hex()}")
    head = np.array([offset_bits, (first if fits_first else second)[1] - int(fits_second)], f"<u{width}")
    skipped = 2 * width + int(fits_second)
    return (first if fits_first else second)[0], np.concatenate((head.view(np.uint8), buffer[skipped:]))


def _words(buffer: Bytes, start: int, width: int) -> tuple[int, int]:
    data = buffer[start : start + 2 * width].tobytes()
    return int.from_bytes(data[:width], "little"), int.from_bytes(data[width:], "little")


def _is_head(words: tuple[int, int], num_items: int | None, head_bytes: int, width: int) -> bool:
    """Return whether two words are a number of items (`num_items` if known) and the end of that many offsets."""
    return words[0] == (words[0] if num_items is None else num_items) and words[1] == head_bytes + width * (
        words[0] + 1
    )
