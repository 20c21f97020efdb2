"""A sink into a file-like object that somebody else has opened and will close."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.sink import BufferedSink


@runtime_checkable
class BinaryStream(Protocol):
    """Anything binary with a `write`: an open file, `io.BytesIO`, `pyarrow.NativeFile`, a socket's file."""

    def write(self, data: Any, /) -> Any:
        """Write bytes; return how many, or None for all."""


class StreamSink(BufferedSink):
    """Writes into an open stream from where it stands; never closes, renames or rewinds it.

    `close` flushes the stream. `abort` cannot take back what was written: it has no footer and is no Lance file.

    Parameters
    ----------
    stream
        An open binary stream.
    name
        What to print; the stream's type when None.

    Raises
    ------
    InvalidArgumentError
        A stream of text.
    """

    def __init__(self, stream: BinaryStream, *, name: str | None = None) -> None:
        super().__init__(f"<{type(stream).__name__}>" if name is None else name)
        if isinstance(stream, io.TextIOBase):
            raise InvalidArgumentError("a binary stream is needed, this one takes text", path=self.name)
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
    """Write all of `part`, however little the stream takes at a time."""
    while len(part):
        # A bytes object: streams may keep a reference to what they are given, or take nothing else.
        count = stream.write(bytes(part))
        if not isinstance(count, int) or count >= len(part):
            return
        part = part[count:]
