"""The end of a damaged file without checksums, rebuilt from what its parts say of each other.

In files of all known writers, the metadata lies side by side: descriptor, columns, table of columns, table of global
buffers. So a footer is computed from tables whose entries fit together, and a table of columns from the metadata
itself. This is no proof: only salvage of unproven files uses it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.buffer_places import ALIGNMENT_BYTES
from lance_arrow.container.footer import (
    FOOTER_BYTES,
    TABLE_ENTRY_BYTES,
    FileFooter,
    FileVersion,
    footer_bytes,
    read_footer,
)
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.files.salvaging.rebuilt_end import ENCODING_TAG, FileEnd, RebuiltSource, message_fields, packed
from lance_arrow.io import RangeSource, read_end
from lance_arrow.settings import Limits
from lance_arrow.spi.keys import PAGE_MESSAGES

_MOST_BUFFERS = 16
_MOST_COLUMNS = 1 << 16
_MOST_TRIES = 4
_V20, _, _V23, _ = (message.encode() for message in PAGE_MESSAGES)


def guess_end(source: RangeSource, limits: Limits) -> tuple[RebuiltSource, list[str]] | None:
    """Rebuild the footer or the table of columns of a file without checksums.

    Parameters
    ----------
    source
        The file, as long as it was written.
    limits
        `max_metadata_bytes` bounds the bytes that are looked at.

    Returns
    -------
    tuple or None
        The file with an end that fits together, and what was rebuilt. None if nothing fits.
    """
    size = source.size()
    data = read_end(source, min(size, limits.max_metadata_bytes))
    if len(data) < FOOTER_BYTES + 2 * TABLE_ENTRY_BYTES:
        return None
    end = FileEnd(size - len(data), data)
    try:
        footer = read_footer(data, size)
    except (CorruptFileError, UnsupportedError):
        return _with_footer(source, end)
    return _with_column_table(source, end, footer) if footer.version is not FileVersion.V0_1 else None


def _with_footer(source: RangeSource, end: FileEnd) -> tuple[RebuiltSource, list[str]] | None:
    """Find the two tables before the footer: the first global buffer ends where the first column begins."""
    stop = end.stop - FOOTER_BYTES
    for num_buffers in range(1, _MOST_BUFFERS + 1):
        buffers = stop - TABLE_ENTRY_BYTES * num_buffers
        entries = _entries(end, buffers, stop)
        if entries is None:
            return None
        first = sum(int(number) for number in entries[0])
        if int(entries[0, 0]) % ALIGNMENT_BYTES or not end.start <= first < buffers:
            continue
        most = min(_MOST_COLUMNS, (buffers - first) // TABLE_ENTRY_BYTES)
        table = _entries(end, buffers - TABLE_ENTRY_BYTES * most, buffers)
        assert table is not None  # it begins behind `first`
        for row in np.flatnonzero(table[:, 0] == first)[:_MOST_TRIES].tolist():
            columns = buffers - TABLE_ENTRY_BYTES * (most - row)
            if _are_side_by_side(table[row:], columns):
                footer = FileFooter(
                    version=_version(end, first, columns),
                    file_size=end.stop,
                    first_column_position=first,
                    column_table_position=columns,
                    buffer_table_position=buffers,
                    num_columns=most - row,
                    num_global_buffers=num_buffers,
                )
                return RebuiltSource(source, stop, footer_bytes(footer)), ["the footer"]
    return None


def _with_column_table(source: RangeSource, end: FileEnd, footer: FileFooter) -> tuple[RebuiltSource, list[str]] | None:
    """Cut the metadata where a column begins; the last one ends where the table is."""
    at, stop = footer.first_column_position, footer.column_table_position
    places = []
    for border, tag in message_fields(end, at):
        if border == stop or (border < stop and tag == ENCODING_TAG):
            places.append((at, border - at))
            at = border
        if border >= stop:
            break
    if at != stop or len(places) != footer.num_columns:
        return None
    table = packed(places)
    stored = np.frombuffer(end.cut(stop, stop + len(table)), "<u8").reshape(-1, 2)
    # Columns in another order are no damage.
    if sorted(map(tuple, stored.tolist())) == places:
        return None
    rest = end.cut(stop + len(table), end.stop)
    return RebuiltSource(source, stop, table + rest), ["the table of columns"]


def _entries(end: FileEnd, start: int, stop: int) -> NDArray[np.uint64] | None:
    if start < end.start:
        return None
    return np.frombuffer(end.cut(start, stop), "<u8").reshape(-1, 2)


def _are_side_by_side(places: NDArray[np.uint64], stop: int) -> bool:
    ends = places[:, 0] + places[:, 1]
    return bool((places[:, 1] > 0).all() and (ends[:-1] == places[1:, 0]).all() and int(ends[-1]) == stop)


def _version(end: FileEnd, first: int, stop: int) -> FileVersion:
    """Tell the version from the names of the messages that describe pages: 2.2 has all that 2.1 has."""
    metadata = end.cut(first, stop)
    if _V23 in metadata:
        return FileVersion.V2_3
    return FileVersion.V2_0 if _V20 in metadata else FileVersion.V2_2
