"""The short form of `trees.py`: some hundred trees of codecs, the same at every run."""

from __future__ import annotations

from pathlib import Path

import pytest
import trees
from trees import Case

EVERY, EVERY_DAY = 150, 900


def test_doors_agree_on_trees_of_codecs(whole_run: bool) -> None:
    every = EVERY if whole_run else EVERY_DAY
    found, failures = trees.run(every)
    assert not failures, "\n".join(failures[:5])
    assert sum(found.values()) > 45_000 // every
    assert found["equal"] > found["impossible"] > 0
    assert found["refused"] > 0


@pytest.mark.parametrize(
    ("path", "place", "expected"),
    [
        (("fsst", "variable"), "chunk 2.2", "equal"),
        (("general-lz4", "fsst", "variable"), "chunk 2.2", "equal"),
        (("fsst", "variable.offsets", "delta", "range"), "chunk 2.3", "equal"),
        (("general-zstd", "fsst", "variable-zstd"), "zipped 2.3", "equal"),
        (("fsst", "fsst", "variable"), "chunk 2.2", "refused"),
        (("fsst", "general-lz4", "fsst", "variable"), "chunk 2.2", "refused"),
        (("fsst", "general-lz4", "variable"), "zipped 2.2", "refused"),
        (("fsst", "dictionary.items", "fsst", "variable"), "items 2.2", "refused"),
    ],
)
def test_symbols(path: tuple[str, ...], place: str, expected: str, tmp_path: Path) -> None:
    assert trees.outcome(Case("texts", path, place), tmp_path) == expected
