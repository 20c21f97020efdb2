"""Mini-block chunk words and headers. Source: spec section 3; MiniBlockLayout.has_large_chunk, .num_buffers."""

import numpy as np
from numpy.typing import NDArray

def parse_chunk_words(
    words: NDArray[np.uint8],
    large: bool,
    num_values: int,
    data_bytes: int,
    out_starts: NDArray[np.int64],
    out_value_starts: NDArray[np.int64],
) -> None:
    """Turn the chunk table of a mini-block page into places.

    Parameters
    ----------
    words
        ``(n * 2,)`` or, when `large`, ``(n * 4,)`` bytes: one word per chunk.
    num_values, data_bytes
        Values of the page (not levels) and bytes of its chunk buffer.
    out_starts, out_value_starts
        ``(n + 1,) int64``: byte start and first value of each chunk, then both ends.

    Raises
    ------
    CorruptPageError
        Sizes or values do not add up, or a chunk but the last says no number of values.
    InternalError
        An output has the wrong length.
    """

def parse_many_chunk_words(
    data: NDArray[np.uint8],
    word_starts: NDArray[np.int64],
    word_sizes: NDArray[np.int64],
    large: bool,
    num_values: NDArray[np.int64],
    data_bytes: NDArray[np.int64],
    borders: NDArray[np.int64],
    out_starts: NDArray[np.int64],
    out_value_starts: NDArray[np.int64],
) -> None:
    """Do `parse_chunk_words` for many pages.

    Parameters
    ----------
    data
        Holds the chunk tables.
    word_starts, word_sizes
        ``(n,) int64``: where each lies.
    large
        As in `parse_chunk_words`.
    num_values, data_bytes
        ``(n,) int64``, as there.
    borders
        ``(n + 1,) int64``: where the places of each page begin in the outputs, and their end.
    out_starts, out_value_starts
        ``(m,) int64``, as there, page by page.

    Raises
    ------
    CorruptPageError, InternalError
        As `parse_chunk_words`; ``detail`` is the page.
    """

def parse_chunk_headers(
    data: NDArray[np.uint8],
    chunk_starts: NDArray[np.int64],
    chunk_stops: NDArray[np.int64],
    has_rep: bool,
    has_def: bool,
    num_buffers: int,
    large: bool,
    out_num_levels: NDArray[np.int64],
    out_rep_starts: NDArray[np.int64] | None,
    out_rep_sizes: NDArray[np.int64] | None,
    out_def_starts: NDArray[np.int64] | None,
    out_def_sizes: NDArray[np.int64] | None,
    out_starts: NDArray[np.int64],
    out_sizes: NDArray[np.int64],
) -> None:
    """Find the level streams and value buffers of many chunks, which need not be neighbours.

    Parameters
    ----------
    data
        Holds the chunks.
    chunk_starts, chunk_stops
        ``(n,) int64``: byte range of each chunk in `data`.
    has_rep, has_def, num_buffers, large
        Which streams exist, value buffers per chunk, and whether their sizes are 32 bits wide.
    out_num_levels
        ``(n,) int64``: level entries of each chunk; 0 when there is no stream.
    out_rep_starts, out_rep_sizes, out_def_starts, out_def_sizes
        ``(n,) int64``: byte ranges of the streams in `data`; may be None for a stream that does not exist.
    out_starts, out_sizes
        ``(num_buffers, n) int64``: byte ranges of the value buffers in `data`.

    Raises
    ------
    CorruptPageError
        A part or its padding leaves its chunk, a chunk is not used up, or levels and streams contradict each other;
        ``detail`` is the chunk.
    InternalError
        A chunk lies outside `data`, or an output has the wrong shape.
    """
