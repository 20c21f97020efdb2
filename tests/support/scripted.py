"""A filesystem in memory that stops at every call and lets a script decide: do something else first, fail, die."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from fsspec.implementations.memory import MemoryFile, MemoryFileSystem


class Dead(BaseException):
    """The process was killed here: nothing of it runs any more."""


class ScriptedStore(dict):
    """The files; each change is announced, and once more when it has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.announce: Callable[[str, str], None] = lambda what, path: None

    def __setitem__(self, path: str, file: Any) -> None:
        self.announce("write", path)
        super().__setitem__(path, file)
        self.announce("written", path)

    def __delitem__(self, path: str) -> None:
        self.announce("remove", path)
        super().__delitem__(path)
        self.announce("removed", path)

    def setdefault(self, path: str, file: Any = None) -> Any:
        self.announce("create", path)
        found = super().setdefault(path, file)
        self.announce("created", path)
        return found


class ScriptedFileSystem(MemoryFileSystem):
    """Files of its own; `script` is called with the number, kind and path of every call of the main thread.

    While a script runs, calls are neither counted nor announced.
    """

    cachable = False

    def __init__(self) -> None:
        super().__init__()
        self.store = ScriptedStore()  # type: ignore[misc]
        self.pseudo_dirs = [""]  # type: ignore[misc]
        self.store.announce = self._announce
        self.script: Callable[[int, str, str], None] | None = None
        self.calls: list[tuple[str, str]] = []
        self._is_running = False

    def _announce(self, what: str, path: str) -> None:
        if self.script is None or self._is_running or threading.current_thread() is not threading.main_thread():
            return
        self.calls.append((what, path))
        self._is_running = True
        try:
            self.script(len(self.calls) - 1, what, path)
        finally:
            self._is_running = False

    def run(self, action: Callable[[], object], script: Callable[[int, str, str], None]) -> list[tuple[str, str]]:
        """Run an action under a script, and return the calls that it made."""
        self.calls, self.script = [], script
        try:
            action()
        finally:
            self.script = None
        return self.calls

    def ls(self, path: str, detail: bool = True, **options: Any) -> Any:
        self._announce("list", path)
        return super().ls(path, detail=detail, **options)

    def info(self, path: str, **options: Any) -> Any:
        self._announce("info", path)
        return super().info(path, **options)

    def cat_ranges(self, paths: Any, starts: Any, ends: Any, **options: Any) -> Any:
        self._announce("read", paths[0] if len(paths) else "")
        return super().cat_ranges(paths, starts, ends, **options)

    def copy(self) -> ScriptedFileSystem:
        """Return another filesystem with the same files."""
        made = ScriptedFileSystem()
        for path, file in self.store.items():
            dict.__setitem__(made.store, path, MemoryFile(made, path, file.getvalue()))
        made.pseudo_dirs = list(self.pseudo_dirs)  # type: ignore[misc]
        return made

    def file_names(self) -> set[str]:
        """Paths of all files."""
        return set(self.store)
