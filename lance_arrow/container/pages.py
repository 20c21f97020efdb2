"""Pages: runs of rows of one column, as places of buffers and an opaque description.

Source: lance.file.v2.ColumnMetadata.Page.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np

from lance_arrow.container.descriptions import Description
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.io import Positions
from lance_arrow.spi.keys import PAGE_MESSAGES
from lance_arrow.spi.layouts import PageFacts

_V20, _V21, _V23, _ = PAGE_MESSAGES
_PAGE_MESSAGES = {
    FileVersion.V2_0: (_V20,),
    FileVersion.V2_1: (_V21,),
    FileVersion.V2_2: (_V21,),
    # Releases before the planar layout wrote pages of the older grammar in 2.3 files.
    FileVersion.V2_3: (_V23, _V21),
}
_FAMILIES = frozenset((_V20, _V21, _V23))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PageMeta:
    """One page.

    Parameters
    ----------
    number
        Number of the page in its column.
    num_rows
        Rows, as the column counts them. Below fixed-size lists of structs these are the flattened elements; for items
        of lists in 2.0 files, the items. Source: Page.length.
    first_row
        Sum of `num_rows` of the pages before; the stored priority is only a hint.
    buffer_offsets, buffer_sizes
        ``(num_buffers,) int64``: offset from the start of the file, and size in bytes; inside the file.
    message
        Full name of the description's message.
    description
        Bytes of the message, not parsed.
    facts
        Rows and buffer sizes, for layouts.
    distribution
        Name of the distribution that reads the page, from its description; empty for the format's own layouts.
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
        """Half-open byte range of the file from the first buffer to the end of the last; None without buffers."""
        if not len(self.buffer_offsets):
            return None
        return int(self.buffer_offsets.min()), int((self.buffer_offsets + self.buffer_sizes).max())


@dataclass(slots=True, eq=False)
class PageTable(Sequence[PageMeta]):
    """Pages of one column, of one file or of many, as arrays; a `PageMeta` is created for each at its first use.

    Parameters
    ----------
    row_starts
        ``(n + 1,) int64``: first row of each page, and the total number of rows.
    borders
        ``(n + 1,) int64``: first buffer of each page, and the total number of buffers.
    starts, sizes
        ``(m,) int64``: offset of each buffer in the file, and its bytes.
    descriptions, description_of
        The distinct descriptions, and ``(n,) int64``: the number of the description of each page.
    """

    row_starts: Positions
    borders: Positions
    starts: Positions
    sizes: Positions
    descriptions: Sequence[Description]
    description_of: Positions
    _made: dict[int, PageMeta] | None = field(init=False, default=None, repr=False)

    def __len__(self) -> int:
        return len(self.description_of)

    @overload
    def __getitem__(self, index: int) -> PageMeta: ...

    @overload
    def __getitem__(self, index: slice) -> list[PageMeta]: ...

    def __getitem__(self, index: int | slice) -> PageMeta | list[PageMeta]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        made = self._made
        if made is None:
            made = self._made = {}
        page = made.get(number)
        if page is None:
            page = made[number] = self._page(number)
        return page

    def __iter__(self) -> Iterator[PageMeta]:
        return (self[index] for index in range(len(self)))

    @property
    def page_bytes(self) -> Positions:
        """``(n,) int64``: bytes of the buffers of each page."""
        before = np.zeros(len(self.sizes) + 1, np.int64)
        np.cumsum(self.sizes, out=before[1:])
        taken: Positions = np.diff(before[self.borders])
        return taken

    def page_at(self, position: int) -> int | None:
        """Return the page with a buffer that contains this byte of the file."""
        found = np.flatnonzero((self.starts <= position) & (position < self.starts + self.sizes))
        return int(np.searchsorted(self.borders, found[0], side="right")) - 1 if len(found) else None

    def check_descriptions(self, version: FileVersion) -> None:
        """Check that the descriptions of pages belong to a version of the format.

        Raises
        ------
        CorruptFileError, UnsupportedError
            A page has a description of another version; it is named.
        """
        for number, described in enumerate(self.descriptions):
            if not fits_version(described.message, version):
                page = int(np.argmax(self.description_of == number))
                raise _of_another_version(described, version, page)

    def facts(self, number: int) -> PageFacts:
        """Return rows and buffer sizes of a page."""
        start, stop = self.borders[number : number + 2].tolist()
        first_row, end_row = self.row_starts[number : number + 2].tolist()
        return PageFacts(end_row - first_row, tuple(self.sizes[start:stop].tolist()))

    def _page(self, number: int) -> PageMeta:
        start, stop = self.borders[number : number + 2].tolist()
        first_row, end_row = self.row_starts[number : number + 2].tolist()
        described = self.descriptions[self.description_of[number]]
        sizes = self.sizes[start:stop]
        return PageMeta(
            number=number,
            num_rows=end_row - first_row,
            first_row=first_row,
            buffer_offsets=self.starts[start:stop],
            buffer_sizes=sizes,
            message=described.message,
            description=described.value,
            facts=PageFacts(end_row - first_row, tuple(sizes.tolist())),
            distribution=described.distribution,
        )


def fits_version(message: str, version: FileVersion) -> bool:
    """Whether a message may describe pages of a version; messages of plugins fit all."""
    return message in _PAGE_MESSAGES[version] or message not in _FAMILIES


def _of_another_version(described: Description, version: FileVersion, page: int) -> CorruptFileError | UnsupportedError:
    if described.message == _V20 and version is FileVersion.V2_1:
        return UnsupportedError(
            f"the page is described by {_V20} in a file of version {version}. This draft of 2.1, written by releases "
            "0.16 to 0.18 of the reference, is not supported",
            page=page,
            detail=_V20,
        )
    expected = _PAGE_MESSAGES[version][0]
    return CorruptFileError(
        f"the page is described by {described.message}, a file of version {version} uses {expected}", page=page
    )
