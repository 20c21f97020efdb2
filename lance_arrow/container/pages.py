"""Pages: runs of rows of one column, as places of buffers and an unopened description.

Source: lance.file.v2.ColumnMetadata.Page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.buffer_places import BufferPlaces, check_places, required_alignment
from lance_arrow.container.descriptions import Description
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import Positions
from lance_arrow.proto import file_v2_pb2
from lance_arrow.spi import PAGE_MESSAGES, PageFacts

_INT64_MAX = np.iinfo(np.int64).max
_V20, _V21, _V23, _ = PAGE_MESSAGES
_PAGE_MESSAGES = {
    FileVersion.V2_0: (_V20,),
    FileVersion.V2_1: (_V21,),
    FileVersion.V2_2: (_V21,),
    # Releases before the planar layout marked pages of the older grammar as 2.3.
    FileVersion.V2_3: (_V23, _V21),
}
_FAMILIES = frozenset((_V20, _V21, _V23))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageMeta:
    """One page.

    Parameters
    ----------
    number
        Its place among the pages of the column.
    num_rows
        Rows, as the column counts them: below fixed-size lists of structs the flattened elements, for the items of
        lists in 2.0 files the items. Source: Page.length.
    first_row
        Sum of `num_rows` of the pages before; the stored priority is a hint only.
    buffer_offsets, buffer_sizes
        ``(num_buffers,) int64``: bytes from the start of the file, and bytes; inside the file.
    message
        Full name of the description's message.
    description
        Its bytes, unopened.
    facts
        Rows and buffer sizes, as layouts want them.
    distribution
        What to install to read the page, as its description says; empty for the format's own layouts.
    """

    number: int
    num_rows: int
    first_row: int
    buffer_offsets: Positions
    buffer_sizes: Positions
    message: str
    description: bytes = field(repr=False)
    facts: PageFacts = field(repr=False)
    distribution: str = ""

    @property
    def byte_range(self) -> tuple[int, int] | None:
        """Half-open bytes of the file from the first buffer to the end of the last; None without buffers."""
        if not len(self.buffer_offsets):
            return None
        return int(self.buffer_offsets.min()), int((self.buffer_offsets + self.buffer_sizes).max())


def parse_pages(
    messages: Sequence[file_v2_pb2.ColumnMetadata.Page],
    descriptions: Sequence[Description],
    *,
    version: FileVersion,
    file_size: int,
) -> tuple[PageMeta, ...]:
    """Check the pages of one column and build their facts.

    Parameters
    ----------
    messages
        Pages in row order.
    descriptions
        The description of each.
    version
        Version of the file: decides alignment and which messages may describe a page.
    file_size
        Bytes of the file.

    Raises
    ------
    CorruptFileError
        Offsets and sizes of unequal number, a buffer outside the file or not aligned, more rows than 63 bits hold, or a
        description of another version; the page is named.
    """
    counts = [_count(number, message) for number, message in enumerate(messages)]
    borders = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    places = _places(messages, borders, version=version, file_size=file_size)
    pages = []
    first_row = 0
    bounds = borders.tolist()
    sizes = places.sizes.tolist()
    for number, (message, described) in enumerate(zip(messages, descriptions, strict=True)):
        start, stop = bounds[number], bounds[number + 1]
        _check_family(described, version, number)
        pages.append(
            PageMeta(
                number=number,
                num_rows=message.length,
                first_row=first_row,
                buffer_offsets=places.offsets[start:stop],
                buffer_sizes=places.sizes[start:stop],
                message=described.message,
                description=described.value,
                facts=PageFacts(message.length, tuple(sizes[start:stop])),
                distribution=described.distribution,
            )
        )
        first_row += message.length
        if first_row > _INT64_MAX:
            raise CorruptFileError(f"the pages up to here have {first_row} rows, more than 63 bits hold", page=number)
    return tuple(pages)


def _count(number: int, message: file_v2_pb2.ColumnMetadata.Page) -> int:
    count = len(message.buffer_offsets)
    if count != len(message.buffer_sizes):
        raise CorruptFileError(f"{count} buffer offsets but {len(message.buffer_sizes)} buffer sizes", page=number)
    return count


def _places(
    messages: Sequence[file_v2_pb2.ColumnMetadata.Page],
    borders: NDArray[np.int64],
    *,
    version: FileVersion,
    file_size: int,
) -> BufferPlaces:
    """Check the buffers of all pages at once."""
    offsets = np.array([offset for message in messages for offset in message.buffer_offsets], np.uint64)
    sizes = np.array([size for message in messages for size in message.buffer_sizes], np.uint64)
    try:
        places = check_places(
            offsets, sizes, file_size=file_size, what="buffer", alignment_bytes=required_alignment(version)
        )
    except CorruptFileError as error:
        if isinstance(error.detail, int):
            error.page = int(np.searchsorted(borders, error.detail, side="right")) - 1
        raise
    for array in (places.offsets, places.sizes):
        array.setflags(write=False)
    return places


def _check_family(described: Description, version: FileVersion, number: int) -> None:
    # A message of nobody we know may be the layout of a plugin; one of another version's is damage.
    expected = _PAGE_MESSAGES[version]
    if described.message == _V20 and version is FileVersion.V2_1:
        raise UnsupportedError(
            f"the page is described by {_V20} in a file of version {version}: a draft of 2.1, as releases 0.16 to 0.18 "
            "of the reference wrote it; it cannot be read yet",
            page=number,
            detail=_V20,
        )
    if described.message not in expected and described.message in _FAMILIES:
        raise CorruptFileError(
            f"the page is described by {described.message}, a file of version {version} uses {expected[0]}", page=number
        )
