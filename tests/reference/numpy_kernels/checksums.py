"""Numpy twins of ``engine/door/checksums.pxi``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, Positions

Checksums = NDArray[np.uint32]

_POLYNOMIAL = np.uint32(0x82F63B78)
_ALL_ONES = np.uint32(0xFFFFFFFF)


def _table() -> Checksums:
    crcs = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        crcs = (crcs >> np.uint32(1)) ^ np.where(crcs & 1, _POLYNOMIAL, np.uint32(0))
    return crcs


_TABLE = _table()


def crc32c(data: Bytes, crc: int = 0) -> int:
    """One byte per step."""
    register = crc ^ 0xFFFFFFFF
    for byte in data.tolist():
        register = (register >> 8) ^ int(_TABLE[(register ^ byte) & 0xFF])
    return register ^ 0xFFFFFFFF


def crc32c_of(data: Bytes, starts: Positions, stops: Positions, out: Checksums) -> None:
    """Byte number k of all ranges per step."""
    if not len(starts) == len(stops) == len(out):
        raise InternalError("starts, stops and out have contradicting lengths")
    outside = (starts < 0) | (stops < starts) | (stops > len(data))
    if outside.any():
        raise InternalError("a range lies outside the data", detail=int(np.argmax(outside)))
    sizes = stops - starts
    out[:] = _ALL_ONES
    for step in range(int(sizes.max(initial=0))):
        alive = np.flatnonzero(sizes > step)
        register = out[alive]
        byte = data[starts[alive] + step]
        out[alive] = (register >> np.uint32(8)) ^ _TABLE[(register ^ byte) & np.uint32(0xFF)]
    out ^= _ALL_ONES


def crc32c_blocks(data: Bytes, block_bytes: int, out: Checksums) -> None:
    """Ranges that follow one another."""
    if block_bytes < 1:
        raise InternalError("blocks must have at least one byte")
    if len(out) != -(-len(data) // block_bytes):
        raise InternalError("out has not one place per block")
    starts = np.arange(len(out)) * block_bytes
    crc32c_of(data, starts, np.minimum(starts + block_bytes, len(data)), out)


class BlockChecks:
    """The same with a flag per block and no thought of speed."""

    def __init__(self, starts: Positions, sizes: Positions, crcs: Checksums, block_bytes: int) -> None:
        self._blocks = [
            (start + at, min(start + at + block_bytes, start + size))
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
            for at in range(0, size, block_bytes)
        ]
        self._crcs = crcs.tolist()
        self._checked = [False] * len(self._blocks)

    @property
    def num_blocks(self) -> int:
        return len(self._blocks)

    @property
    def num_pending(self) -> int:
        return self._checked.count(False)

    def widen(self, starts: Positions, stops: Positions, wide_starts: Positions, wide_stops: Positions) -> int:
        num_pending = 0
        for number, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
            pending = [
                block
                for block, checked in zip(self._blocks, self._checked, strict=True)
                if not checked and block[0] < stop and block[1] > start and start < stop
            ]
            wide_starts[number] = min([start, *(first for first, _ in pending)])
            wide_stops[number] = max([stop, *(last for _, last in pending)])
            num_pending += bool(pending)
        return num_pending

    def check(self, data: Bytes, positions: Positions, starts: Positions, stops: Positions) -> int:
        for position, start, stop in zip(positions.tolist(), starts.tolist(), stops.tolist(), strict=True):
            for number, (first, last) in enumerate(self._blocks):
                if first >= start and last <= stop and not self._checked[number]:
                    if crc32c(data[position + first - start : position + last - start]) != self._crcs[number]:
                        return number
                    self._checked[number] = True
        return -1

    def place(self, block: int) -> tuple[int, int]:
        return self._blocks[block]
