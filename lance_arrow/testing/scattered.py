"""Bytes as a reader fetches them: slices of page buffers, unaligned, with garbage between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from lance_arrow.spi import Bytes
from lance_arrow.spi.layouts import BufferSlices, FetchedSlices

_GARBAGE = b"\xee"


def fetch_scattered(buffer: bytes, wanted: BufferSlices) -> FetchedSlices:
    """Cut slices out of a page buffer; they must be ascending and disjoint, and lie inside it."""
    starts, stops = wanted.starts.tolist(), wanted.stops.tolist()
    assert starts == sorted(starts)
    assert all(stop <= start for stop, start in zip(stops, starts[1:], strict=False)), "slices overlap"
    data, places = bytearray(), []
    for number, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        assert 0 <= start <= stop <= len(buffer), "a slice reaches beyond its buffer"
        data += _GARBAGE * (number % 3 + 1)
        places.append(len(data))
        data += buffer[start:stop]
    sizes = np.array(stops, np.int64) - np.array(starts, np.int64)
    return FetchedSlices(np.frombuffer(bytes(data), np.uint8), np.array(places, np.int64), sizes)


def unaligned(content: bytes) -> Bytes:
    """Return a read-only buffer at an odd memory address, with garbage on either side."""
    return np.frombuffer(_GARBAGE + content + _GARBAGE, np.uint8)[1 : 1 + len(content)]


def some(items: Any, limit: int) -> list[Any]:
    """Return at most `limit` of the items, evenly spread, always with the first and the last."""
    found = list(items)
    if len(found) <= limit:
        return found
    return [found[round(number * (len(found) - 1) / (limit - 1))] for number in range(limit)]


def damages(content: bytes, flips: int, masks: tuple[int, ...] = (0x01, 0x10, 0x80, 0xFF)) -> list[bytes]:
    """Return copies of `content` with one changed byte, for at most `flips` positions and each mask."""
    found = []
    for position in some(range(len(content)), flips):
        for mask in masks:
            damaged = bytearray(content)
            damaged[position] ^= mask
            found.append(bytes(damaged))
    return found
