"""Disks that are full after some bytes: for files of this process, and of a filesystem."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Iterator
from typing import Any

from fsspec.implementations.local import LocalFileOpener, LocalFileSystem


@contextlib.contextmanager
def no_file_above(num_bytes: int) -> Iterator[None]:
    """Refuse more bytes to every file that is written meanwhile, as a full disk does (EFBIG in place of ENOSPC)."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ, which would end the process.
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class FullFileSystem(LocalFileSystem):
    """A local filesystem whose files take some bytes, or take all and fail when they are closed."""

    cachable = False

    def __init__(self, room_bytes: int, *, fails_at_close: bool = False) -> None:
        super().__init__(auto_mkdir=True)
        self.room_bytes = room_bytes
        self.fails_at_close = fails_at_close

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **_: Any) -> Any:
        return _FullFile(path, mode, fs=self)


class _FullFile(LocalFileOpener):
    def write(self, data: Any) -> int:
        held = self.f.tell()
        room = self.fs.room_bytes - held
        if len(data) > room and not self.fs.fails_at_close:
            self.f.write(bytes(data)[: max(room, 0)])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.f.write(data)

    def close(self) -> None:
        was_closed = self.f.closed
        is_full = not was_closed and self.f.tell() > self.fs.room_bytes
        self.f.close()
        if is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
