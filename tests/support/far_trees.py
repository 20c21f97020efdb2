"""Stores whose folders can be listed, so that tables open from them."""

from __future__ import annotations

from typing import Any

from stores import CountingStore


class TreeStore(CountingStore):
    """A store whose folders can be listed; `named_waves` also has the name of each file that was asked."""

    def __init__(self, *files: Any) -> None:
        super().__init__(*files)
        self.named_waves: list[list[tuple[str, int, int]]] = []

    def cat_ranges(self, paths: list[str], starts: list[int], ends: list[int], *_: Any, **__: Any) -> list[bytes]:
        self.named_waves.append(list(zip(paths, starts, ends, strict=True)))
        return super().cat_ranges(paths, starts, ends)

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[Any]:
        path = path.rstrip("/")
        found = [self.info(name) for name in self.files if name.rsplit("/", 1)[0] == path]
        below = {
            "/".join(name.split("/")[: path.count("/") + 2])
            for name in self.files
            if name.startswith(path + "/") and name.count("/") > path.count("/") + 1
        }
        found += [{"name": name, "size": 0, "type": "directory"} for name in below]
        if not found:
            raise FileNotFoundError(path)
        return found if detail else [one["name"] for one in found]

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        if any(name.startswith(path.rstrip("/") + "/") for name in self.files):
            return {"name": path, "size": 0, "type": "directory"}
        return super().info(path, **options)
