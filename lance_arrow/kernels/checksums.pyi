"""CRC32C (Castagnoli) of many pieces per call, and which blocks of a file were compared with theirs.

Checksums are as in RFC 3720: initial value and final xor of all ones, reflected, polynomial 0x1EDC6F41.
"""

import numpy as np
from numpy.typing import NDArray

_Bytes = NDArray[np.uint8]
_Positions = NDArray[np.int64]
_Checksums = NDArray[np.uint32]

def is_accelerated() -> bool:
    """Tell whether this processor has the instruction; tables are used where not."""

def crc32c(data: _Bytes, crc: int = 0) -> int:
    """Return the checksum of what `crc` is the checksum of (0: of nothing), followed by `data`."""

def crc32c_portable(data: _Bytes, crc: int = 0) -> int:
    """Return what `crc32c` does, without the instruction."""

def crc32c_blocks(data: _Bytes, block_bytes: int, out: _Checksums) -> None:
    """Compute the checksum of every block of `block_bytes`, the last one short.

    Parameters
    ----------
    data
        ``(n,) uint8``.
    block_bytes
        At least 1.
    out
        ``(ceil(n / block_bytes),) uint32``, filled.

    Raises
    ------
    InternalError
        `out` has another length, or there is no such block size.
    """

def crc32c_of(data: _Bytes, starts: _Positions, stops: _Positions, out: _Checksums) -> None:
    """Compute the checksums of ``data[starts[i] : stops[i]]``.

    Parameters
    ----------
    data
        ``(m,) uint8``.
    starts, stops
        ``(n,) int64`` each, half-open; overlaps allowed.
    out
        ``(n,) uint32``, filled.

    Raises
    ------
    InternalError
        A range lies outside `data`, or lengths contradict each other; ``detail`` is the range.
    """

class BlockChecks:
    """Checksums of a file's blocks, and which blocks were found right; may be shared between threads.

    Parameters
    ----------
    starts, sizes
        ``(n,) int64`` each: places of disjoint buffers in the file, in bytes, ascending, none empty.
    crcs
        ``(num_blocks,) uint32``: checksums of all blocks, buffer by buffer; blocks count from a buffer's own start.
    block_bytes
        Size of all blocks but the last of each buffer.

    Attributes
    ----------
    num_blocks, num_pending
        How many blocks there are, and how many of them were not checked yet.
    pointer
        Capsule of the C++ object for the native engine; valid as long as this object.

    Raises
    ------
    InternalError
        Buffers overlap or are empty, or there is not one checksum per block.
    """

    def __init__(self, starts: _Positions, sizes: _Positions, crcs: _Checksums, block_bytes: int) -> None: ...
    @property
    def num_blocks(self) -> int: ...
    @property
    def num_pending(self) -> int: ...
    @property
    def pointer(self) -> object: ...
    def widen(self, starts: _Positions, stops: _Positions, wide_starts: _Positions, wide_stops: _Positions) -> int:
        """Widen ranges of the file to the borders of the unchecked blocks that they begin and end in.

        Parameters
        ----------
        starts, stops
            ``(n,) int64`` each, half-open.
        wide_starts, wide_stops
            ``(n,) int64`` each, filled.

        Returns
        -------
        int
            How many of the ranges hold bytes of unchecked blocks.
        """

    def check(self, data: _Bytes, positions: _Positions, starts: _Positions, stops: _Positions) -> int:
        """Check the unchecked blocks that lie whole within ranges of the file.

        Parameters
        ----------
        data
            ``(m,) uint8``: bytes of the file; those of range i begin at ``positions[i]``.
        positions, starts, stops
            ``(n,) int64`` each; the ranges are half-open.

        Returns
        -------
        int
            The first block that contradicts its checksum, or -1. Blocks before it are marked as checked.
        """

    def place(self, block: int) -> tuple[int, int]:
        """Return the half-open bytes of the file that a block has."""
