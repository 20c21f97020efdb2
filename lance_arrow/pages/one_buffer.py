"""Parts of array encodings without nulls: `OneBufferArray`, with values in one buffer, and its loaded values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lance_arrow.errors import CorruptPageError
from lance_arrow.spi.blocks import Bytes
from lance_arrow.spi.keys import BufferRole
from lance_arrow.spi.layouts import PageFacts
from lance_arrow.spi.rows import RowRanges
from lance_arrow.spi.slots import ItemValidity

__all__ = ["OneBufferArray", "SelectedValues", "ValidValues"]


@dataclass(frozen=True, slots=True)
class OneBufferArray:
    """A bound array of valid values in one buffer, without an index; subclasses plan and load."""

    shape: Any
    buffer: int
    has_nulls = False
    index_buffers = ()

    @property
    def buffers(self) -> tuple[tuple[int, BufferRole], ...]:
        return ((self.buffer, BufferRole.DATA),)

    def load_index(self, page: PageFacts, buffers: Mapping[int, Bytes]) -> None:
        """Do nothing: there is no index."""

    def check_size(self, page: PageFacts, needed: int) -> None:
        """Raise `CorruptPageError` if the buffer is shorter than all values of the page."""
        size = page.buffer_sizes[self.buffer]
        if size < needed:
            raise CorruptPageError(f"buffer {self.buffer} has {size} bytes, {page.num_rows} values take {needed}")


class _Counted(Protocol):
    @property
    def num_values(self) -> int: ...


class ValidValues:
    """A loaded array without nulls; subclasses have `shape` and `num_values`, and decode."""

    __slots__ = ()
    dictionary = None

    @property
    def num_bytes(self) -> int:
        return 0

    @property
    def levels(self: _Counted) -> ItemValidity:
        return ItemValidity(self.num_values)


@dataclass(frozen=True, slots=True, eq=False)
class SelectedValues(ValidValues):
    """Values of some rows of a page."""

    shape: Any
    rows: RowRanges

    @property
    def num_values(self) -> int:
        return self.rows.num_rows
