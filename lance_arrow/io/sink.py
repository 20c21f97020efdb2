"""The contract of byte sinks: bytes in order, in a file that appears atomically or not at all.

Each kind of sink documents its `close` and `abort`. The last bytes of a Lance file are its footer, so a file that a
crash or a failing store leaves behind does not open.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeAlias, runtime_checkable

from numpy.typing import NDArray

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.io.foreign_errors import foreign_errors

Writable: TypeAlias = NDArray[Any] | bytes | bytearray | memoryview
"""Contiguous bytes of any item type."""

BUFFER_BYTES = 1 << 20
_SMALL_BYTES = 64 << 10
"""Smaller parts are copied, which costs less than separate writes."""


@runtime_checkable
class ByteSink(Protocol):
    """Bytes written one after another by one thread; a context manager that aborts if an exception is raised."""

    @property
    def name(self) -> str:
        """Printable name of the place, without credentials."""

    @property
    def position(self) -> int:
        """Bytes written so far."""

    def write(self, data: Writable) -> None:
        """Append the bytes of one contiguous object; the caller may change it afterwards.

        Raises
        ------
        InvalidArgumentError
            The sink is closed or aborted, or the object is not contiguous.
        OSError
            Errors of the filesystem, with the file's name added if it is missing, and without credentials in their
            text. The sink is aborted then.
        """

    def write_many(self, parts: Sequence[Writable]) -> None:
        """Append the bytes of several objects; see `write`."""

    def close(self) -> None:
        """Make the file appear; a second call does nothing.

        Raises
        ------
        InvalidArgumentError
            The sink was aborted, so the file cannot appear.
        OSError
            Errors of the filesystem, with the file's name added if it is missing, and without credentials in their
            text. The sink is aborted then.
        """

    def abort(self) -> None:
        """Remove everything written; does nothing after `close` or a second time."""

    def __enter__(self) -> Self:
        """Return the sink."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close, or abort if an exception was raised."""


def name_file(error: BaseException, name: str) -> None:
    """Add a file name to an error of the operating system without one, such as that of a full disk."""
    if isinstance(error, OSError) and error.errno is not None and error.filename is None:
        error.filename = name


class _State(enum.Enum):
    OPEN = "open"
    CLOSED = "closed"
    ABORTED = "aborted"


class BufferedSink(abc.ABC):
    """A sink that buffers small writes; subclasses send bytes and make the file appear.

    Parameters
    ----------
    name
        Name for messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._position = 0
        self._pending = bytearray()
        self._state = _State.OPEN

    @property
    def name(self) -> str:
        """Printable name of the place, without credentials."""
        return self._name

    @property
    def position(self) -> int:
        """Bytes written so far."""
        return self._position

    @foreign_errors()
    def write(self, data: Writable) -> None:
        """Append the bytes of one object; see `ByteSink.write`."""
        self.write_many((data,))

    @foreign_errors()
    def write_many(self, parts: Sequence[Writable]) -> None:
        """Append the bytes of several objects, large ones without a copy; see `ByteSink.write`."""
        if self._state is not _State.OPEN:
            raise InvalidArgumentError(f"the sink is {self._state.value}", path=self._name)
        for view in map(self._view, parts):
            if len(view) >= _SMALL_BYTES:
                self._flush(view)
            else:
                self._pending += view
                if len(self._pending) >= BUFFER_BYTES:
                    self._flush()
            self._position += len(view)

    @foreign_errors()
    def send(self) -> None:
        """Send small writes that wait for others: they are in memory no more."""
        if self._state is _State.OPEN:
            self._flush()

    @foreign_errors()
    def close(self) -> None:
        """Make the file appear; see `ByteSink.close`."""
        if self._state is _State.CLOSED:
            return
        if self._state is _State.ABORTED:
            raise InvalidArgumentError("the sink was aborted, so its file cannot appear", path=self._name)
        self._flush()
        try:
            self._publish()
        except BaseException as error:
            name_file(error, self._name)
            self._give_up(error)
            raise
        self._state = _State.CLOSED

    @foreign_errors()
    def abort(self) -> None:
        """Remove everything written; see `ByteSink.abort`."""
        if self._state is _State.OPEN:
            # Set first: if a step below fails, the sink must not publish any more.
            self._state = _State.ABORTED
            self._pending = bytearray()
            self._discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.close()
        else:
            self._give_up(error)

    @abc.abstractmethod
    def _send(self, parts: Sequence[memoryview]) -> None:
        """Send all bytes of non-empty parts; they must not be used after the call."""

    @abc.abstractmethod
    def _publish(self) -> None:
        """Make the file appear, and release all resources."""

    @abc.abstractmethod
    def _discard(self) -> None:
        """Remove everything sent, and release all resources; `_send` or `_publish` may have failed half-way."""

    def _flush(self, last: memoryview | None = None) -> None:
        parts = [memoryview(self._pending)] if self._pending else []
        if last is not None:
            parts.append(last)
        if not parts:
            return
        try:
            self._send(parts)
        except BaseException as error:
            name_file(error, self._name)
            self._give_up(error)
            raise
        self._pending = bytearray()

    def _give_up(self, error: BaseException) -> None:
        """Abort because of `error`, which is raised even if the store fails to clean up."""
        try:
            self.abort()
        except OSError as second:
            error.add_note(f"the part of {self._name!r} that was written could not be removed: {second!r}")

    def _view(self, data: Writable) -> memoryview:
        view = memoryview(data)  # type: ignore[arg-type]
        if not view.c_contiguous:
            raise InvalidArgumentError("bytes to be written must be contiguous", path=self._name)
        # An empty view cannot be cast.
        return view.cast("B") if view.nbytes else memoryview(b"")
