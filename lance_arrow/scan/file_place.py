"""`FilePlace`: where a data file of a dataset is, and what travels with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow

from lance_arrow.io import Location, locate
from lance_arrow.scan.row_restriction import RowRestriction


class Following(Protocol):
    """See `FilePlace.following`."""

    def __call__(self, most: int, skipped: int = 0) -> tuple[list[str], list[int]]:
        """Return paths and sizes in bytes."""
        ...

    def ready_rows(self) -> Any:
        """Make what keeps rows of these files, and of the place's own, until the scan asks for them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlace:
    """Location of one file.

    Parameters
    ----------
    path
        Path within `filesystem`; ``"<Buffer>"`` for a buffer.
    filesystem
        The fsspec filesystem, unwrapped, when pyarrow merely adapts one; else the `pyarrow.fs.FileSystem`; None for a
        buffer.
    buffer
        The whole file, when it is in memory.
    size
        Bytes of the file when Arrow knows them (from a listing, say), so that they are not asked for again.
    is_immutable
        Whether the path never names other content, as those of a table's data files. An open file is then used again
        without asking a far store whether it changed.
    payload
        What `LanceFormat.make_fragment` was given for the handler's eyes only.
    rows
        The rows that the fragment is cut down to; None for all of them.
    following
        Returns paths and sizes of at most so many files that a scan will probably ask for next, without so many of
        them. They have the same filesystem, guarantee and table. None if nothing is to be read ahead.
    """

    path: str
    filesystem: object | None
    buffer: pyarrow.Buffer | None = None
    size: int | None = None
    is_immutable: bool = False
    payload: object | None = None
    rows: RowRestriction | None = None
    following: Following | None = field(default=None, compare=False, repr=False)

    def location(self) -> Location | None:
        """Return where the file is; None for a buffer."""
        return None if self.buffer is not None else locate(self.path, filesystem=self.filesystem)

    @property
    def is_far(self) -> bool:
        """Whether reading mostly waits for a store."""
        location = self.location()
        return location is not None and not location.is_local
