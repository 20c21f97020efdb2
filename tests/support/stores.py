"""A filesystem as object stores are: ranges only, every call counted."""

from __future__ import annotations

import itertools
from typing import Any

from fsspec import AbstractFileSystem

_numbers = itertools.count()


class _Numbered:
    """Files whose text is a number: fsspec digests the text of what a filesystem is made of, here whole files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return f"files {self.number}"


class _NumberedStores(type(AbstractFileSystem)):
    def __call__(cls, files: dict[str, bytes]) -> Any:
        return super().__call__(_Numbered(files))


class CountingStore(AbstractFileSystem, metaclass=_NumberedStores):
    """Files in memory; each call of `cat_ranges` is kept in `waves` as its list of ``(start, stop)``."""

    protocol = "counting"
    cachable = False

    def __init__(self, numbered: _Numbered) -> None:
        super().__init__()
        self.files = numbered.files
        self.waves: list[list[tuple[int, int]]] = []

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.files[path]), "type": "file", "etag": "1"}

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **_: Any) -> bytes:
        raise AssertionError("ranges are asked for together")

    def cat_ranges(self, paths: list[str], starts: list[int], ends: list[int], *_: Any, **__: Any) -> list[bytes]:
        self.waves.append(list(zip(starts, ends, strict=True)))
        return [self.files[path][start:end] for path, start, end in zip(paths, starts, ends, strict=True)]

    @property
    def bytes_fetched(self) -> int:
        """Bytes of all calls so far."""
        return sum(stop - start for wave in self.waves for start, stop in wave)
