"""Pages and public docstrings are in plain English: no riddles, and sentences of at most 25 words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from prose import docstring_prose, measure, public_docstrings

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted(page for folder in ("docs", "lance_arrow", "plugins", "tests") for page in (ROOT / folder).rglob("*.md")),
]

LIBRARY = ROOT / "lance_arrow"
PACKAGES = sorted(found.parent.name for found in LIBRARY.glob("*/__init__.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sentences_are_short_and_plain(page: Path) -> None:
    prose = measure(page.read_text())
    assert not prose.riddles
    assert not prose.long_sentences


@pytest.mark.parametrize("package", ["", *PACKAGES, "plugins"])
def test_public_docstrings_are_short_and_plain(package: str) -> None:
    """``""`` are the modules beside the packages."""
    if package == "plugins":
        modules = sorted((ROOT / package).rglob("*.py"))
    else:
        modules = sorted((LIBRARY / package).rglob("*.py") if package else LIBRARY.glob("*.py"))
    assert modules
    found = [
        f"{module.relative_to(ROOT)}:{line}: {wrong}"
        for module in modules
        if not module.stem.endswith("_pb2")
        for line, text in public_docstrings(module.read_text())
        for wrong in (*measure(text).riddles, *measure(text).long_sentences)
    ]
    assert not found


def test_docstrings_of_kernels_are_short_and_plain() -> None:
    """Those of `lance_arrow.kernels` are in the pieces of the engine's module."""
    pieces = list((LIBRARY / "engine" / "door").glob("*.pxi"))
    texts = {one.name: re.findall(r'"""(.*?)"""', one.read_text(), re.DOTALL) for one in pieces}
    assert sum(map(len, texts.values())) > 100
    found = [
        f"{name}: {wrong}"
        for name, found_texts in sorted(texts.items())
        for prose in (measure(docstring_prose(text)) for text in found_texts)
        for wrong in (*prose.riddles, *prose.long_sentences)
    ]
    assert not found


def test_which_docstrings_are_measured() -> None:
    long = "word " * 26
    source = f'''
"""Module.

a ─► {long}
"""

_HIDDEN = 1
"""{long}"""
SHOWN = 2
"""Somebody's constant."""


class Shown:
    """A class.

    Parameters
    ----------
    first
        {"word " * 20}
    second
        {"word " * 20}
    """

    shown: int
    """{long}"""

    def method(self):
        """Return ``whatever``; {long}"""

    def _method(self):
        """{long}"""


def _function():
    """{long}"""
'''
    found = {line: measure(text) for line, text in public_docstrings(source)}
    assert [line for line, prose in found.items() if prose.long_sentences] == [25, 28]
    assert [line for line, prose in found.items() if prose.riddles] == [10]
    assert sorted(found) == [2, 10, 14, 25, 28]


def test_what_is_measured() -> None:
    text = "# Title\n\nWhoever reads `whatever` stays. It ends.\n\n```\nnobody\n```\n\n"
    text += "| a b | c |\n|---|---|\n| one | two. three |\n"
    prose = measure(text)
    assert prose.riddles == ["Whoever: Whoever reads code stays."]
    assert prose.words == 13
    assert measure("word " * 26).long_sentences
    assert not measure("word " * 25).long_sentences
