"""Mini-block chunks put together. Source: spec section 3; MiniBlockLayout.has_large_chunk, .repetition_index_depth."""

import numpy as np
from numpy.typing import NDArray

def cut_levels(
    rep: NDArray[np.uint16],
    def_: NDArray[np.uint16] | None,
    max_rep: int,
    max_visible: int,
    value_starts: NDArray[np.int64],
    out_level_starts: NDArray[np.int64],
    out_index: NDArray[np.int64],
) -> None:
    """Cut the level entries of a page with lists at the borders of its chunks.

    A chunk ends with the entry of its last value; entries without a value that follow fall into the next one, and the
    last chunk takes the rest.

    Parameters
    ----------
    rep, def_
        ``(num_entries,) uint16``; None where the page has no definition levels.
    max_rep, max_visible
        Repetition level that begins a row, and largest definition level of an entry that owns a value.
    value_starts
        ``(n + 1,) int64``: first value of each chunk, then their number.
    out_level_starts
        ``(n + 1,) int64``: first entry of each chunk, then their number.
    out_index
        ``(2 * n,) int64``: for each chunk the rows that finish in it, then the entries after the last of them.

    Raises
    ------
    InternalError
        Visible entries and values differ in number, or an array has the wrong length.
    """

def write_chunks(
    num_levels: NDArray[np.int64],
    level_buffers: tuple[NDArray[np.uint8], ...],
    level_sizes: tuple[NDArray[np.int64], ...],
    value_buffers: tuple[NDArray[np.uint8], ...],
    value_sizes: NDArray[np.int64],
    value_counts: NDArray[np.int64],
    large: bool,
    out_words: NDArray[np.uint8],
    out: NDArray[np.uint8],
) -> None:
    """Write the chunk table and the chunks of a page.

    Parameters
    ----------
    num_levels
        ``(n,) int64`` level entries of each chunk.
    level_buffers, level_sizes
        For each level stream that exists (repetition, definition) the bytes of all chunks one after another, and
        ``(n,) int64`` bytes of each.
    value_buffers, value_sizes
        The same for the value buffers; sizes are ``(num_buffers, n) int64``.
    value_counts
        ``(n,) int64`` values of each chunk.
    large
        Whether chunk words and value sizes are 32 bits wide.
    out_words, out
        Chunk table, 2 or 4 bytes per chunk, and exactly the bytes of the chunks.

    Raises
    ------
    InternalError
        A size does not fit its field, a chunk but the last holds no power of two of values, or an array has the wrong
        length; ``detail`` is the chunk.
    """
