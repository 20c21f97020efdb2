"""Bytes that a layout has read as the index of a page, given to pages of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from lance_arrow import engine
from lance_arrow.engine import Blame, NativePage, Refusal
from lance_arrow.errors import CorruptPageError, InternalError, LanceError, UnsupportedError
from lance_arrow.pages.value_rows import offset_bits, row_bits
from lance_arrow.settings import Limits, above_limit
from lance_arrow.spi.blocks import BlockShape, Bytes
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices, PageFacts, PageIndex

Held: TypeAlias = tuple[int, Bytes, Bytes | None, int, int]
"""Values in memory, as the engine takes items: bits, values, offsets or None, bits of an offset, and their number."""

_LIMITS = ("max_batch_bytes", "max_dictionary_bytes")


def error_of_bytes(refusal: Refusal, limits: Limits) -> BaseException:
    """Return the error of bytes that the engine refused; `InternalError` for what has nothing to do with them."""
    if refusal.cause is not None:
        return refusal.cause
    if refusal.blame == Blame.BYTES:
        return CorruptPageError(refusal.message)
    if refusal.blame == Blame.UNSUPPORTED:
        return UnsupportedError(refusal.message)
    if refusal.blame == Blame.LIMIT:
        name = _LIMITS[refusal.index]
        return above_limit(refusal.message, name, getattr(limits, name))
    return InternalError(refusal.message)


def index_slices_of(layout: Any, page: PageFacts) -> tuple[BufferSlices, ...]:
    """Return what a bound layout must load before its page is made; nothing if that reads its own index."""
    if not hasattr(layout, "index_slices"):
        layout.roles(page)
        return ()
    found: tuple[BufferSlices, ...] = layout.index_slices(page)
    return found


def index_of(layout: Any, page: PageFacts, fetched: tuple[FetchedSlices, ...]) -> PageIndex | None:
    """Return the index of a page, of the bytes that `index_slices_of` names; or the engine's page, which has its own.

    Raises
    ------
    CorruptPageError, ResourceLimitError
        As `IndexedLayout.load_index`.
    """
    load, make = getattr(layout, "load_index", None), getattr(layout, "native_page", None)
    found: PageIndex | None = None
    if load is not None:
        found = load(page, fetched)
    elif make is not None:
        found = make(page)
    return found


def index_in_memory(page: NativePage, facts: PageFacts, buffers: Mapping[int, Bytes], limits: Limits) -> None:
    """Let a page read its index.

    Parameters
    ----------
    page
        A page that reads its index by itself.
    facts
        Its rows, and the sizes of all its buffers.
    buffers
        Those of its buffers that the index is made of.
    limits
        As the page was bound with.

    Raises
    ------
    CorruptPageError, ResourceLimitError
        The index contradicts itself, or is too large.
    """
    memory, starts = _joined(facts, buffers)
    refusal = engine.index_page(page, memory, starts, list(facts.buffer_sizes))
    if refusal is not None:
        raise error_of_bytes(refusal, limits)


def prove_rows(page: NativePage, facts: PageFacts, buffers: Mapping[int, Bytes], limits: Limits) -> None:
    """Read a page completely, then each row apart from its neighbours: its index is compared with all that it counts.

    Parameters and errors are those of `index_in_memory`; all buffers are at hand.
    """
    memory, starts = _joined(facts, buffers)
    borders = np.arange(facts.num_rows + 1)
    for first, step, width in ((0, 1, facts.num_rows), (0, 2, 1), (1, 2, 1)):
        rows = np.ascontiguousarray(borders[first : facts.num_rows : step]) if width == 1 else borders[:1]
        if facts.num_rows and len(rows):
            where = page, memory, starts, list(facts.buffer_sizes)
            refusal = engine.try_rows(*where, rows, rows + width, limits.max_batch_bytes)
            if refusal is not None:
                raise error_of_bytes(refusal, limits)


def held_values(
    page: NativePage, shape: BlockShape, facts: PageFacts, buffers: Mapping[int, Bytes], limits: Limits
) -> Held | None:
    """Read all values of a page without levels; None if the engine does not support them.

    Parameters
    ----------
    page
        A page of such values, with its index.
    shape
        Shape of a value.
    facts, buffers
        As for `index_in_memory`; the buffers that hold the values.
    limits
        The values take at most ``max_dictionary_bytes``.

    Raises
    ------
    CorruptPageError, ResourceLimitError
        The bytes contradict themselves, or are too many.
    """
    bits = row_bits(shape)
    if bits is None or page.value_bits != bits:
        return None
    width = offset_bits(shape)
    forms = engine.ReadForms([((0,), bits, width, (), None, "plain", (), False, (), 1)])
    memory, starts = _joined(facts, buffers)
    pages = engine.PagesWithRows(forms, [[(page, 0, starts, list(facts.buffer_sizes))]])
    everything = np.zeros(1, np.int64), np.array([facts.num_rows], np.int64)
    limit, most_offset = limits.max_dictionary_bytes, (1 << (width or 64) - 1) - 1
    done, *_ = forms.take(
        pages, *everything, facts.num_rows, -1, memory, len(memory), None, None, limit, most_offset, None,
        pa.allocate_buffer,
    )  # fmt: skip
    if isinstance(done, Refusal):
        if done.blame == Blame.OFFSETS:
            raise UnsupportedError("items of a page have more bytes than their offsets count")
        raise _of_dictionary(error_of_bytes(done, limits), limit)
    if done[0] is None:
        return None
    num_values, values, offsets, _ = done[0]
    return bits, np.frombuffer(values, np.uint8), np.frombuffer(offsets, np.uint8) if width else None, width, num_values


def _joined(facts: PageFacts, buffers: Mapping[int, Bytes]) -> tuple[Bytes, list[int]]:
    """Lay buffers one behind the other; the start of a buffer that is not at hand means nothing."""
    starts, end = [], 0
    for number in range(len(facts.buffer_sizes)):
        starts.append(end)
        end += len(buffers[number]) if number in buffers else 0
    return np.concatenate([np.empty(0, np.uint8), *(buffers[number] for number in sorted(buffers))]), starts


def _of_dictionary(error: BaseException, limit: int) -> BaseException:
    is_limit = isinstance(error, LanceError) and error.detail == "max_batch_bytes"
    return above_limit("the items of a page take more", "max_dictionary_bytes", limit) if is_limit else error
