"""Check the places of buffers: every (position, size) of a file is checked here before it is used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import Bytes, Positions

ALIGNMENT_BYTES = 64
# For at most this many buffers, Python numbers are faster than arrays.
_FEW = 16


@dataclass(frozen=True, slots=True, eq=False)
class BufferPlaces:
    """Validated places of ``n`` buffers, ``(n,) int64`` each: offset from the start of the file, and size in bytes."""

    offsets: Positions
    sizes: Positions


def parse_table(table: Bytes) -> NDArray[np.uint64]:
    """View a table's bytes as ``(n, 2) uint64``: position and size of each entry."""
    return np.frombuffer(table.tobytes(), "<u8").reshape(-1, 2)


def check_places(
    offsets: NDArray[np.uint64], sizes: NDArray[np.uint64], *, file_size: int, what: str, alignment_bytes: int = 1
) -> BufferPlaces:
    """Check that buffers lie inside the file, and return their places as signed numbers.

    Parameters
    ----------
    offsets, sizes
        ``(n,) uint64`` as stored.
    file_size
        Bytes of the file.
    what
        Kind of the buffers, for messages; the number of the bad one is appended.
    alignment_bytes
        Required alignment of every offset in bytes; a power of two.

    Raises
    ------
    CorruptFileError
        A buffer begins or ends behind the end of the file, or is not aligned; ``detail`` is its number.
    """
    if not len(offsets) or _certainly_fit(offsets, sizes, file_size, alignment_bytes):
        return BufferPlaces(offsets.astype(np.int64), sizes.astype(np.int64))
    # Unsigned and without a sum, so that no number wraps.
    size = np.uint64(file_size)
    outside = offsets > size
    outside |= sizes > size - np.minimum(offsets, size)
    if outside.any():
        bad = int(np.argmax(outside))
        raise CorruptFileError(
            f"{what} {bad} has {sizes[bad]} bytes at {offsets[bad]}, but the file has {file_size}", detail=bad
        )
    misaligned = offsets % np.uint64(alignment_bytes) != 0
    if misaligned.any():
        bad = int(np.argmax(misaligned))
        raise CorruptFileError(
            f"{what} {bad} begins at {offsets[bad]}, expected a multiple of {alignment_bytes}",
            byte_range=(int(offsets[bad]), int(offsets[bad]) + int(sizes[bad])),
            detail=bad,
        )
    return BufferPlaces(offsets.astype(np.int64), sizes.astype(np.int64))


def _certainly_fit(
    offsets: NDArray[np.uint64], sizes: NDArray[np.uint64], file_size: int, alignment_bytes: int
) -> bool:
    """Accept most tables quickly: even the largest buffer at the last place would fit."""
    if len(offsets) <= _FEW:
        largest, longest = max(offsets.tolist()), max(sizes.tolist())
    else:
        largest, longest = int(offsets.max()), int(sizes.max())
    if largest + longest > file_size:
        return False
    return alignment_bytes == 1 or int(np.bitwise_or.reduce(offsets)) % alignment_bytes == 0


def required_alignment(version: FileVersion) -> int:
    """Return the required alignment of page and global buffers in bytes: mandatory since 2.1."""
    return 1 if version is FileVersion.V2_0 else ALIGNMENT_BYTES
