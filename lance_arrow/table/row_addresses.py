"""`RowAddresses`: a set of rows of a table, as a roaring bitmap for each fragment: one bit to two bytes a row."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyroaring
from numpy.typing import NDArray

from lance_arrow.manifests.bitmaps import bitmap_of


class RowAddresses:
    """Rows by their addresses, which are fragment id and offset, ``id << 32 | offset``."""

    def __init__(self) -> None:
        self._offsets: dict[int, pyroaring.BitMap] = {}

    def __len__(self) -> int:
        """Return the number of different rows."""
        return sum(map(len, self._offsets.values()))

    def add(self, addresses: NDArray[np.uint64]) -> None:
        """Add rows.

        Parameters
        ----------
        addresses
            ``(n,) uint64``, in any order; the rows of a fragment next to each other are added at once.
        """
        if not len(addresses):
            return
        owners = addresses >> np.uint64(32)
        offsets = addresses.astype(np.uint32)
        starts = np.flatnonzero(owners[1:] != owners[:-1]) + 1
        firsts = [0, *starts.tolist()]
        for first, part in zip(firsts, np.split(offsets, starts), strict=True):
            self._add(int(owners[first]), bitmap_of(part))

    def update(self, others: RowAddresses) -> None:
        """Add rows of another set, which is left as it is."""
        for fragment_id, offsets in others._offsets.items():
            self._add(fragment_id, offsets)

    def _add(self, fragment_id: int, offsets: pyroaring.BitMap) -> None:
        # Never in place: sets share their bitmaps.
        held = self._offsets.get(fragment_id)
        self._offsets[fragment_id] = offsets if held is None else held | offsets

    def by_fragment(self) -> Iterator[tuple[int, pyroaring.BitMap]]:
        """Yield fragment ids, ascending, with the offsets of their rows."""
        yield from sorted(self._offsets.items())
