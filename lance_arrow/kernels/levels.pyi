"""Repetition and definition levels. Source: spec section 2; RepDefLayer."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

def check_levels(rep: NDArray[np.uint16] | None, def_: NDArray[np.uint16] | None, max_rep: int, max_def: int) -> None:
    """Refuse levels above their bounds.

    Raises
    ------
    CorruptPageError
        ``detail`` is the first entry above its bound.
    InternalError
        Both streams are None, or their lengths differ.
    """

def count_rows_and_values(
    rep: NDArray[np.uint16] | None, def_: NDArray[np.uint16] | None, max_rep: int, max_visible: int
) -> tuple[int, int]:
    """Count entries that start a row (``rep == max_rep``), and entries that own a value (``def_ <= max_visible``).

    Without lists (`max_rep` 0, `rep` None) every entry is both.

    Raises
    ------
    CorruptPageError
        A repetition level is above `max_rep`.
    InternalError
        Streams and `max_rep` contradict each other.
    """

def select_rows(
    rep: NDArray[np.uint16],
    def_: NDArray[np.uint16] | None,
    max_rep: int,
    max_visible: int,
    chunk_level_starts: NDArray[np.int64],
    chunk_value_starts: NDArray[np.int64],
    chunk_first_rows: NDArray[np.int64],
    chunk_num_rows: NDArray[np.int64],
    run_starts: NDArray[np.int64],
    run_stops: NDArray[np.int64],
    out_level_starts: NDArray[np.int64],
    out_level_stops: NDArray[np.int64],
    out_value_starts: NDArray[np.int64],
    out_value_stops: NDArray[np.int64],
) -> None:
    """Find the level entries and the values of selected rows, and put the repetition index to the test.

    Parameters
    ----------
    rep, def_
        Levels of the chunks at hand, one chunk after the other.
    max_rep, max_visible
        Number of lists (at least 1); largest definition level of an entry that owns a value.
    chunk_level_starts, chunk_value_starts
        ``(num_chunks + 1,) int64``: where each chunk's entries begin in the levels, and its values among all values.
    chunk_first_rows, chunk_num_rows
        ``(num_chunks,) int64``: the first row that *starts* in the chunk, and how many do. Chunks are in page order;
        entries before a chunk's first row start continue the row before, and there may be gaps between chunks.
    run_starts, run_stops
        ``(num_runs,) int64`` rows, sorted, disjoint, not empty; all chunks that hold a wanted row are at hand.
    out_level_starts, out_level_stops, out_value_starts, out_value_stops
        ``(num_runs,) int64``: entries and values of each run.

    Raises
    ------
    CorruptPageError
        A chunk has another number of row starts or visible entries than its tables say; ``detail`` is the chunk.
    InternalError
        A run is not covered, or arrays contradict each other.
    """

def check_open_rows(
    rep: NDArray[np.uint16],
    max_rep: int,
    chunk_level_starts: NDArray[np.int64],
    left_before: NDArray[np.int64],
    left_after: NDArray[np.int64],
) -> None:
    """Put the repetition index to the test where chunks meet: rows that one chunk begins and another one finishes.

    Parameters
    ----------
    rep, max_rep
        Repetition levels of the chunks at hand, one chunk after the other; number of lists (at least 1).
    chunk_level_starts
        ``(num_chunks + 1,) int64``: where each chunk's entries begin.
    left_before, left_after
        ``(num_chunks,) int64``: entries of an unfinished row at the end of the chunk before in the page, and of the
        chunk, as the repetition index says; 0 where a row ends with the chunk.

    Raises
    ------
    CorruptPageError
        A chunk begins or ends otherwise; ``detail`` is the chunk.
    """

def validity_from_levels(
    def_: NDArray[np.uint16], null_level: int, out_bits: NDArray[np.uint8], out_bit_offset: int
) -> int:
    """Turn levels into validity where there are no lists: valid iff ``def_ < null_level``; return the nulls.

    Slots of a null struct (higher levels) become null too. Bits outside ``out_bit_offset + len(def_)`` stay.

    Raises
    ------
    InternalError
        `null_level` is not a level above 0, or the bitmap is too small.
    """

def measure_layers(
    rep: NDArray[np.uint16] | None,
    def_: NDArray[np.uint16] | None,
    num_entries: int,
    layers: NDArray[np.uint8],
    dimensions: NDArray[np.int64] | None,
    out_slots: NDArray[np.int64],
) -> None:
    """Count the slots that `unravel` will append to each layer; arguments and errors as there.

    Parameters
    ----------
    out_slots
        ``(num_layers,) int64``. A list's items are the slots of the layer inside it.
    """

def unravel(
    rep: NDArray[np.uint16] | None,
    def_: NDArray[np.uint16] | None,
    num_entries: int,
    layers: NDArray[np.uint8],
    dimensions: NDArray[np.int64] | None,
    out_validity: Sequence[NDArray[np.uint8] | None],
    out_offsets: Sequence[NDArray[np.int32] | NDArray[np.int64] | None],
    slots: NDArray[np.int64],
    null_counts: NDArray[np.int64],
) -> None:
    """Append the validity of every layer and the offsets of every list, from one page's levels.

    Parameters
    ----------
    rep, def_
        ``(num_entries,) uint16``, or None for a stream that the page does not store: all levels 0.
    num_entries
        Level entries.
    layers
        ``(num_layers,) uint8``: RepDefLayer numbers, inner-most first, at most 64. The page's own: other pages of the
        same destination may number their levels differently.
    dimensions
        ``(num_layers,) int64``: dimension of fixed-size lists of structs, 0 for other layers; or None. Such a layer has
        a slot for every `dimension` slots of the layer inside it.
    out_validity
        Per layer a bitmap, written from bit ``slots[layer]`` on, or None where the destination keeps none. A slot of a
        null struct is null where its own layer can be.
    out_offsets
        Per layer int32 or int64 offsets, or None (items, or not wanted). ``offsets[slots[layer]]`` and following are
        written, also the end of the last list; they count the slots of the layer inside from 0.
    slots
        ``(num_layers,) int64``, in and out: slots that are there already, then with those of this page.
    null_counts
        ``(num_layers,) int64``, in and out: nulls are added.

    Raises
    ------
    CorruptPageError
        A level is above its bound, the first entry does not start a row, an entry continues a list that is not open,
        or a null or empty list does not start at its entry; ``detail`` is the entry.
    InternalError
        Arrays contradict each other or are too small, 32-bit offsets overflow, or nulls meet no bitmap.
    """
