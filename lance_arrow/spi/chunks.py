"""Many chunks or values as arrays, so that one call serves them all."""

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
        that ``starts[b]`` is contiguous and goes to a kernel as it is.
    value_starts
        ``(num_chunks + 1,) int64``, starting at 0: where each chunk's values begin in the destination.
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
        """Return the same chunks with only buffers ``start .. stop``: what a composite hands to a child."""
        return ChunkBatch(self.data, self.starts[start:stop], self.sizes[start:stop], self.value_starts)

    def part(self, start: int, stop: int) -> ChunkBatch:
        """Return chunks ``start .. stop``, whose values begin at 0."""
        value_starts = self.value_starts[start : stop + 1]
        return ChunkBatch(
            self.data, self.starts[:, start:stop], self.sizes[:, start:stop], value_starts - value_starts[0]
        )

    def scaled(self, items_per_value: int) -> ChunkBatch:
        """Return the same chunks counted in items: a fixed-size list's view of its items."""
        return ChunkBatch(self.data, self.starts, self.sizes, self.value_starts * items_per_value)

    def derive(self, codec: object, make: Callable[[], T]) -> T:
        """Remember what `codec` computed for this batch in `measure`, so that `decode` does not repeat it.

        A composite that must decompress before it can measure keeps its intermediate here; it lives as long as the
        batch. One batch is used by one thread.
        """
        found: T | None = self._derived.get(id(codec))
        if found is None:
            found = make()
            if found is not self:  # a batch that held itself would keep its bytes until cycles are collected
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
        """Remember an intermediate of `codec` for this batch; see `ChunkBatch.derive`."""
        found: T | None = self._derived.get(id(codec))
        if found is None:
            found = make()
            if found is not self:  # a batch that held itself would keep its bytes until cycles are collected
                self._derived[id(codec)] = found
        return found
