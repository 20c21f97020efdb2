"""Measure the prose of pages and docstrings: words, sentences of more than 25 words, and riddles.

As a script it prints a line for each page that it is given: ``python tests/docs/prose.py README.md docs/safety.md``.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
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
# A docstring's drawings, rules and examples are not prose.
NO_PROSE = re.compile(r"\S {3,}\S|─|^\s*(?:[-=]{3,}|>>>|\.\.\. )")
HEADING = re.compile(r"^-{3,}$")


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


def public_docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of the docstrings of a module, and of its definitions without a leading underscore."""
    yield from _docstrings_below(ast.parse(source))


def _docstrings_below(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> Iterator[tuple[int, str]]:
    for before, one in zip([node, *node.body], node.body, strict=False):
        if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
            if before is node or not _is_private(before):
                yield one.lineno, docstring_prose(one.value.value)
        elif isinstance(one, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not _is_private(one):
            if isinstance(one, ast.ClassDef):
                yield from _docstrings_below(one)
            elif (text := ast.get_docstring(one)) is not None:
                yield one.body[0].lineno, docstring_prose(text)


def _is_private(node: ast.AST) -> bool:
    """Return whether a definition or an assignment has a name with a leading underscore."""
    target = (
        node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else node
    )
    name = target.id if isinstance(target, ast.Name) else getattr(target, "name", "")
    return isinstance(name, str) and name.startswith("_")


def docstring_prose(text: str) -> str:
    """Return a docstring as Markdown: without headings, drawings and examples; each described term is a paragraph."""
    lines = inspect.cleandoc(text).splitlines()
    kept: list[str] = []
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        is_indented = _depth(after) > _depth(line) and after.strip() and not re.match(r"\s*(?:[-*]|\d+\.) ", line)
        if HEADING.match(after.strip()) or NO_PROSE.search(line):
            kept.append("")
        elif is_indented:
            kept.extend(["", line, ""])
        elif kept and line.strip() and _depth(line) < _depth(kept[-1]):
            kept.extend(["", line])
        else:
            kept.append(line)
    return re.sub(r"``[^`]*``", "`code`", "\n".join(kept))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


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
