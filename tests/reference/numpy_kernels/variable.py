"""Reading and writing variable-width values one at a time, as the numpy twins share it."""

from __future__ import annotations

import numpy as np

from lance_arrow.errors import InternalError
from numpy_kernels.chunks import Bytes, words


def stored_offsets(raw: Bytes, offset_bits: int) -> list[int]:
    """Return whole unsigned offsets of 32 or 64 bits as integers without a size limit."""
    if offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    width = offset_bits // 8
    return [int(offset) for offset in words(raw[: len(raw) // width * width], offset_bits)]


class VariableWriter:
    """Appends values to Arrow offsets and data; the offset at position ``first`` is the base."""

    def __init__(self, out_offsets: Bytes, out_offset_bits: int, out_data: Bytes, first: int = 0) -> None:
        if out_offset_bits not in (32, 64):
            raise InternalError("offset_bits is neither 32 nor 64")
        self._dtype = np.dtype(f"<i{out_offset_bits // 8}")
        self._num_offsets = len(out_offsets) // self._dtype.itemsize
        if not 0 <= first < self._num_offsets:
            raise InternalError("out_offsets does not hold the base")
        self._out_offsets = out_offsets
        self._out_data = out_data
        self._value = first
        self._size = 0
        width = self._dtype.itemsize
        self._base = int(np.frombuffer(out_offsets[first * width : (first + 1) * width].tobytes(), self._dtype)[0])
        if self._base < 0:
            raise InternalError("the base in out_offsets is negative")

    @property
    def num_values(self) -> int:
        """Values that still have an offset."""
        return self._num_offsets - 1 - self._value

    def require(self, num_values: int, num_bytes: int, index: int | None) -> None:
        """Refuse what does not fit."""
        room = min(len(self._out_data), int(np.iinfo(self._dtype).max) - self._base) - self._size
        if num_values > self.num_values or num_bytes > room:
            raise InternalError("the output is too small or its offsets too narrow", detail=index)

    def append(self, value: Bytes) -> None:
        """Write one value whose room was required."""
        self._out_data[self._size : self._size + len(value)] = value
        self._size += len(value)
        self._value += 1
        width = self._dtype.itemsize
        offset = np.array([self._base + self._size], self._dtype)
        self._out_offsets[self._value * width : (self._value + 1) * width] = offset.view(np.uint8)
