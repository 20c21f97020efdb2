"""A sink into one local file, which gets its name by a rename."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Sequence

from lance_arrow.errors import UnsupportedError
from lance_arrow.io.sink import BufferedSink

_MAX_PARTS = 1024
"""Most parts of one `writev` on Linux and macOS."""
_MAX_NAME_CHARACTERS = 60
# Without O_BINARY, Windows changes line ends.
CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def hidden_name(name: str) -> str:
    """Return a unique name that begins with a dot, so that discovery of datasets ignores the file."""
    return f".{name[:_MAX_NAME_CHARACTERS]}.{secrets.token_hex(8)}.tmp"


class LocalSink(BufferedSink):
    """Writes a hidden file in the same folder; `close` gives it its name in one step.

    Readers see the old file or the complete new one. This also holds after a crash of the process, which may leave the
    hidden file. After a crash of the machine, the name may be on the disk without the bytes: opening such a file fails.
    Call `os.sync` where that is not enough. The permissions of an older file are kept. If `path` is a symbolic link,
    its target is replaced and the link stays.

    Parameters
    ----------
    path
        File to write; its folder must exist.
    name
        Printable name for messages; the path when None.

    Raises
    ------
    FileNotFoundError, PermissionError, IsADirectoryError
        The operating system refused to create the file.
    UnsupportedError
        `path` is neither a file nor a directory: a device or a pipe cannot be replaced.
    """

    def __init__(self, path: str | os.PathLike[str], *, name: str | None = None) -> None:
        self._descriptor = -1
        text = os.fspath(path)
        super().__init__(text if name is None else name)
        # The folder of the process may change before the sink is closed.
        self._path = text if os.path.isabs(text) else os.path.join(os.getcwd(), text)
        permissions = self._permissions_before()
        folder, own_name = os.path.split(self._path)
        self._hidden_path = os.path.join(folder, hidden_name(own_name))
        # After a fork two processes have this object; the file is the parent's.
        self._process = os.getpid()
        try:
            self._descriptor = os.open(self._hidden_path, CREATE_FLAGS, 0o666)
        except OSError as error:
            error.filename = text
            raise
        if permissions is not None and hasattr(os, "fchmod"):
            os.fchmod(self._descriptor, permissions)

    def _permissions_before(self) -> int | None:
        """Return the permissions of an older file; follows a link to it."""
        try:
            mode = os.lstat(self._path).st_mode
            if stat.S_ISLNK(mode):
                self._path = os.path.realpath(self._path)
                mode = os.stat(self._path).st_mode
        except FileNotFoundError:
            return None
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), self._name)
        if not stat.S_ISREG(mode):
            raise UnsupportedError("not a regular file: it cannot be replaced by one", path=self._name)
        return stat.S_IMODE(mode)

    def _send(self, parts: Sequence[memoryview]) -> None:
        rest = list(parts)
        while rest:
            written = _write(self._descriptor, rest[:_MAX_PARTS])
            done = 0
            while done < len(rest) and written >= len(rest[done]):
                written -= len(rest[done])
                done += 1
            rest = rest[done:]
            if written:
                rest[0] = rest[0][written:]

    def _publish(self) -> None:
        self._close_descriptor()
        os.replace(self._hidden_path, self._path)

    def _discard(self) -> None:
        self._close_descriptor()
        if os.getpid() == self._process:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._hidden_path)

    def _close_descriptor(self) -> None:
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            self.abort()


def _write(descriptor: int, parts: list[memoryview]) -> int:
    """Write the first bytes of the parts with one call; return the number of bytes, at least 1."""
    return os.writev(descriptor, parts) if hasattr(os, "writev") else os.write(descriptor, parts[0])
