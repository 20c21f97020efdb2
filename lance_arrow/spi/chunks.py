"""Batches of chunks or values as arrays, so that one call decodes them all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class ChunkBatch:
    """Encoded bytes of many chunks (mini-block) or of many opaque blocks (block context).

    Parameters
    ----------
    data
        ``(total_bytes,) uint8``, usually one fetched page buffer.
    starts, sizes
        ``(num_buffers, num_chunks) int64``: byte range of each buffer of each chunk inside `data`. Buffer-major, so
        ``starts[b]`` is contiguous and a kernel takes it without a copy.
    value_starts
        ``(num_chunks + 1,) int64``, starting at 0: offset of each chunk's values in the destination.
    """

    data: Bytes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    value_starts: NDArray[np.int64]
    _derived: dict[int, Any] = field(default_factory=dict, repr=False)

    @property
    def num_chunks(self) -> int:
        return len(self.value_starts) - 1

    @property
    def num_values(self) -> int:
        return int(self.value_starts[-1])

    def buffers(self, start: int, stop: int) -> ChunkBatch:
        """Return the same chunks with only buffers ``start .. stop``, for a child of a composite codec."""
        return ChunkBatch(self.data, self.starts[start:stop], self.sizes[start:stop], self.value_starts)

    def part(self, start: int, stop: int) -> ChunkBatch:
        """Return chunks ``start .. stop``, with values counted from 0."""
        value_starts = self.value_starts[start : stop + 1]
        return ChunkBatch(
            self.data, self.starts[:, start:stop], self.sizes[:, start:stop], value_starts - value_starts[0]
        )

    def scaled(self, items_per_value: int) -> ChunkBatch:
        """Return the same chunks with counts of items instead of values, for the items of a fixed-size list."""
        return ChunkBatch(self.data, self.starts, self.sizes, self.value_starts * items_per_value)

    def derive(self, codec: object, make: Callable[[], T]) -> T:
        """Keep an intermediate result of `codec` from `measure`, so that `decode` does not compute it again.

        A composite that must decompress before it can measure keeps the bytes here, as long as the batch lives. One
        batch is used by one thread.
        """
        found: T | None = self._derived.get(id(codec))
        if found is None:
            found = make()
            if found is not self:  # a batch that refers to itself would keep its bytes until cycles are collected
                self._derived[id(codec)] = found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ValueBatch:
    """Encoded bytes of single values (full-zip).

    Parameters
    ----------
    data
        ``(total_bytes,) uint8``.
    starts, sizes
        ``(num_values,) int64``: byte range of each value inside `data`; null values of variable width have size 0.
    """

    data: Bytes
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    _derived: dict[int, Any] = field(default_factory=dict, repr=False)

    @property
    def num_values(self) -> int:
        return len(self.starts)

    def derive(self, codec: object, make: Callable[[], T]) -> T:
        """Keep an intermediate result of `codec` for this batch; see `ChunkBatch.derive`."""
        found: T | None = self._derived.get(id(codec))
        if found is None:
            found = make()
            if found is not self:  # a batch that refers to itself would keep its bytes until cycles are collected
                self._derived[id(codec)] = found
        return found
