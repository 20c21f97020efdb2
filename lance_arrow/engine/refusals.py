"""What native code refuses: as an exception of a kernel, or as a `Refusal` of rows, which knows where it happened."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from lance_arrow.errors import CorruptPageError, InternalError, LanceError


class Blame(IntEnum):
    """Whose fault a refusal is; as in ``engine/common/outcome.hpp``."""

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


def refusal(message: bytes, index: int, blame: int) -> LanceError:
    """Return the error for a kernel's outcome; ``detail`` is the chunk or value index, or None."""
    error = CorruptPageError if blame == Blame.BYTES else InternalError
    return error(message.decode("ascii"), detail=None if index < 0 else index)
