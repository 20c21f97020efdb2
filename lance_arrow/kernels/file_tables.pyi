import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi.blocks import Bytes

_Positions = NDArray[np.int64]

NUM_FACTS: int
"""Numbers known of an open file: minor version, columns, place of the column table; place and size of the schema; rows;
place of the table of checksums (-1: none), its buffers, its blocks, and the bytes of a block."""

def open_small_files(
    data: Bytes,
    starts: _Positions,
    sizes: _Positions,
    wants_sums: bool,
    facts: _Positions,
    flags: NDArray[np.uint8],
) -> None:
    """Read footers, tables and descriptors of files of version 2.1 or later, compared with their checksums if wanted.

    Parameters
    ----------
    data
        All files.
    starts, sizes
        ``(n,) int64``: where each lies.
    wants_sums
        Whether checksums matter; a file that should have some and has none is then left alone.
    facts
        ``(n, NUM_FACTS) int64``, written for the files that were read.
    flags
        ``(n,) uint8``: 1 for files to read; 0 afterwards for those that `container` must look at.
    """

def copy_sums(
    data: Bytes,
    starts: _Positions,
    facts: _Positions,
    out_starts: _Positions,
    out_sizes: _Positions,
    out_crcs: NDArray[np.uint32],
) -> None:
    """Copy what the tables of checksums of open files cover, with places in `data`; outputs as long as all of it."""

def walk_columns(
    data: Bytes,
    starts: _Positions,
    sizes: _Positions,
    facts: _Positions,
    column: int,
    own: _Positions,
    page_counts: _Positions,
    flags: NDArray[np.uint8],
    out: tuple[_Positions, _Positions, _Positions, _Positions, _Positions] | None = None,
) -> tuple[int, int]:
    """Read the metadata of one column of open files, pages in order of the files.

    Parameters
    ----------
    data, starts, sizes, facts, flags
        As for `open_small_files`.
    column
        Physical column.
    own
        ``(n, 3) int64``: place and size of the column's own description, and the number of its buffers.
    page_counts
        ``(n,) int64``: pages of each file.
    out
        Rows, descriptions (place and size), first buffer of each page; places and sizes of all buffers, in `data`:
        ``(pages,)``, ``(pages, 2)``, ``(pages,)``, ``(buffers,)``, ``(buffers,)``. When None, pages are only counted.

    Returns
    -------
    num_pages, num_buffers
        Of all files whose flag is left.
    """
