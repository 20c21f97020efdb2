"""Measure the prose of pages: words, sentences of more than 25 words, and words that make a reader guess.

As a script it prints a line for each page that it is given: ``python tests/docs/prose.py README.md docs/safety.md``.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

MOST_WORDS = 25
# Words and turns that hide the subject or the term. What stands in code is not prose.
RIDDLES = re.compile(
    r"\b(?:whatever|whoever|whichever|whatsoever|nobody|somebody|anybody|of which|that is none|"
    r"what (?:is|are|was|were|has|had) (?:no|not|none)|who (?:asks|wants|needs|calls)|"
    r"next to nothing|in no time|nothing of ours|of ours|hoped for|as it goes|are told|is told|is nobody's|"
    r"no word|beside itself|by hand of|said to be|as far as its|what it says|thereof|wherein|hereof|"
    r"lets? (?:him|her)|one has|goes away|well behaved|is patient)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)$", re.MULTILINE | re.DOTALL)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
RULE = re.compile(r"^[|\s:-]+$")
# A full stop in an abbreviation ends no sentence.
SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs)\.")
END = re.compile(r"(?<=[.!?])(?:\*\*|[\")])*\s+")
WORD = re.compile(r"\w[\w'-]*")


@dataclass(frozen=True)
class Prose:
    """What was measured of one text."""

    words: int
    long_sentences: list[str]
    riddles: list[str]


def sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text: of paragraphs, of items of lists, of cells of tables."""
    text = LINK.sub(r"\1", CODE.sub("\n\n", FRONT.sub("", text)))
    text = re.sub(r"<[^>\n]+>|<!--.*?-->", " ", text, flags=re.DOTALL)
    text = SHORT.sub(r"\1", re.sub(r"`[^`]*`", "code", text))
    pieces: list[str] = []
    for line in text.splitlines():
        kept = line.strip()
        if kept.startswith("|"):
            cells = [] if RULE.match(kept) else kept.strip("|").split("|")
            pieces.extend(["", *(piece for cell in cells for piece in (cell, ""))])
        elif not kept or kept.startswith("#"):
            pieces.extend(["", kept.lstrip("# "), ""])
        elif re.match(r"(?:[-*]|\d+\.) ", kept):
            pieces.extend(["", re.sub(r"^(?:[-*]|\d+\.) ", "", kept)])
        else:
            pieces.append(kept)
    paragraphs = re.split(r"\n\s*\n", "\n".join(pieces))
    return [one for paragraph in paragraphs for one in END.split(" ".join(paragraph.split())) if WORD.search(one)]


def measure(text: str) -> Prose:
    """Count the words of a Markdown text, and list its long sentences and its riddles."""
    found = sentences(text)
    return Prose(
        words=sum(len(WORD.findall(one)) for one in found),
        long_sentences=[one for one in found if len(WORD.findall(one)) > MOST_WORDS],
        riddles=[f"{match[0]}: {one}" for one in found for match in RIDDLES.finditer(one)],
    )


if __name__ == "__main__":
    for name in sys.argv[1:]:
        prose = measure(Path(name).read_text())
        print(f"{prose.words:6} words {len(prose.long_sentences):4} long {len(prose.riddles):3} riddles  {name}")
