"""A tag that is replaced between the requests of a reader: it reads the older one or the newer one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.errors import CorruptManifestError
from lance_arrow.io import Location
from lance_arrow.manifests.references import read_tag

PATH = "/t.lance/_refs/tags/a.json"
SHORT = json.dumps({"branch": None, "version": 1}).encode()
LONG = json.dumps({"branch": None, "version": 2, "metadata": {"more": "bytes"}}).encode()


class ReplacingFileSystem(MemoryFileSystem):
    """Replaces the tag after each answer about its size, as long as there are contents."""

    cachable = False

    def __init__(self, *contents: bytes) -> None:
        super().__init__(global_store=False)
        self.pipe_file(PATH, contents[0])
        self._following = list(contents[1:])

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        facts: dict[str, Any] = super().info(path, **options)
        if self._following:
            self.pipe_file(PATH, self._following.pop(0))
        return facts


@pytest.mark.parametrize("contents", [(SHORT, LONG), (LONG, SHORT), (SHORT, LONG, SHORT)])
def test_replaced_while_read(contents: tuple[bytes, ...]) -> None:
    tag = read_tag(Location(ReplacingFileSystem(*contents), "/t.lance"), "a")
    assert tag.version in (1, 2)


def test_damaged() -> None:
    with pytest.raises(CorruptManifestError, match="not JSON"):
        read_tag(Location(ReplacingFileSystem(SHORT[:-3]), "/t.lance"), "a")
