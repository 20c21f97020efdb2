"""Convert the outcome of a native kernel to an exception."""

from __future__ import annotations

from lance_arrow.errors import CorruptPageError, InternalError, LanceError

_BYTES = 1


def refusal(message: bytes, index: int, blame: int) -> LanceError:
    """Return the error for a kernel's outcome; ``detail`` is the chunk or value index, or None."""
    error = CorruptPageError if blame == _BYTES else InternalError
    return error(message.decode("ascii"), detail=None if index < 0 else index)
