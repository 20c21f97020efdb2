"""A sink into a file-like object of the caller, who opens and closes it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.sink import BufferedSink


@runtime_checkable
class BinaryStream(Protocol):
    """A binary object with a `write` method: an open file, `io.BytesIO`, `pyarrow.NativeFile`, a socket's file."""

    def write(self, data: Any, /) -> Any:
        """Write bytes; return their number, or None for all."""


class StreamSink(BufferedSink):
    """Writes into an open stream from its current position; never closes, renames or rewinds it.

    `close` flushes the stream. `abort` cannot remove written bytes: they have no footer, so they are not a Lance file.

    Parameters
    ----------
    stream
        An open binary stream.
    name
        Name for messages; the stream's type if None.

    Raises
    ------
    InvalidArgumentError
        The stream is a text stream.
    """

    def __init__(self, stream: BinaryStream, *, name: str | None = None) -> None:
        super().__init__(f"<{type(stream).__name__}>" if name is None else name)
        if isinstance(stream, io.TextIOBase):
            raise InvalidArgumentError("expected a binary stream, this is a text stream", path=self.name)
        self._stream: BinaryStream | None = stream

    def _send(self, parts: Sequence[memoryview]) -> None:
        assert self._stream is not None
        for part in parts:
            write_all(self._stream, part)

    def _publish(self) -> None:
        flush = getattr(self._stream, "flush", None)
        if flush is not None:
            flush()
        self._stream = None

    def _discard(self) -> None:
        self._stream = None


def write_all(stream: BinaryStream, part: memoryview) -> None:
    """Write all of `part`, also if the stream accepts only a few bytes at a time."""
    while len(part):
        # A bytes object: streams may keep a reference to it, or accept no other type.
        count = stream.write(bytes(part))
        if not isinstance(count, int) or count >= len(part):
            return
        part = part[count:]
