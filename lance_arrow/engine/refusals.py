"""What a read of the engine refuses, and where. What a kernel refuses is raised as it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Blame(IntEnum):
    """Whose fault a refusal is; as in ``lance_arrow/outcome.hpp``."""

    BYTES = 1
    CALLER = 2
    SHORT = 3
    SYSTEM = 4
    CHECKSUM = 5
    LIMIT = 6
    OFFSETS = 7
    UNSUPPORTED = 8


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why rows of leaves were not read.

    Parameters
    ----------
    message
        What is wrong.
    index
        The chunk or value that the message speaks of. For `Blame.SHORT` the position where the bytes end, for
        `Blame.SYSTEM` the number of the system's error, for `Blame.CHECKSUM` the block. For `Blame.LIMIT` it is 1 if
        the limit is that of dictionaries, else 0.
    blame
        A `Blame`.
    leaf, list_column, page_row
        Where, or -1. The number of the leaf. Which of the columns of lists above it, outer-most first. The first row of
        the page in its column.
    cause
        What a codec in Python, or an allocation, raised.
    """

    message: str
    index: int
    blame: int
    leaf: int = -1
    list_column: int = -1
    page_row: int = -1
    cause: BaseException | None = None
