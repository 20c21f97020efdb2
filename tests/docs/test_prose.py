"""Pages for users are in plain English: no riddles, and sentences of at most 25 words."""

from __future__ import annotations

from pathlib import Path

import pytest
from prose import measure

ROOT = Path(__file__).parents[2]
FOLDERS = ("how_to", "coming_from", "engines", "reference", "plugins", "format")
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted(page for folder in FOLDERS for page in (ROOT / "docs" / folder).glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sentences_are_short_and_plain(page: Path) -> None:
    prose = measure(page.read_text())
    assert not prose.riddles
    assert not prose.long_sentences


def test_what_is_measured() -> None:
    text = "# Title\n\nWhoever reads `whatever` stays. It ends.\n\n```\nnobody\n```\n\n"
    text += "| a b | c |\n|---|---|\n| one | two. three |\n"
    prose = measure(text)
    assert prose.riddles == ["Whoever: Whoever reads code stays."]
    assert prose.words == 13
    assert measure("word " * 26).long_sentences
    assert not measure("word " * 25).long_sentences
