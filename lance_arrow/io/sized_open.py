"""Opens files of pyarrow filesystems whose size is known, without a request, once the native bridge is loaded.

`pyarrow.fs.FileSystem.open_input_file` takes no size, so that a client of a store asks the store for it. Arrow's C++
function takes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs as arrow_fs


class SizedOpen(Protocol):
    """Opens a file of known size."""

    def __call__(self, filesystem: arrow_fs.FileSystem, path: str, size_bytes: int) -> pa.NativeFile:
        """Return the open file. If there is no such file, its first read raises `OSError`."""
        ...


_opens: list[SizedOpen] = []
"""The function of the bridge, once it is loaded."""


def use_sized_open(opens: SizedOpen) -> None:
    """Open files of known size by a function from now on; the bridge calls this when it is loaded."""
    _opens[:] = [opens]


def sized_open(filesystem: arrow_fs.FileSystem, path: str, size_bytes: int) -> pa.NativeFile | None:
    """Open a file of known size in bytes; None without the bridge.

    Raises
    ------
    OSError
        From filesystems that look for the file although its size is known.
    """
    return _opens[0](filesystem, path, size_bytes) if _opens else None
