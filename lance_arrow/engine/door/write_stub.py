"""Write the type stub of a Cython module, as a build does: `python write_stub.py _engine.pyx _engine.pyi`.

It reads the text of the ``.pyx`` and its parts: definitions of functions and classes, C types of parameters, and return
types. Docstrings are only in the module itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

HEAD = '''"""Generated from the `{name}` of this folder and its pieces."""

from typing import Any

import numpy as np
{imports}from numpy.typing import NDArray
'''
# Types that functions of the engine return.
IMPORTS = {"pa.": "import pyarrow as pa\n", "Refusal": "from lance_arrow.engine.refusals import Refusal\n"}
WHOLE = {"int", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "Py_ssize_t"}
PLAIN = {"bint": "bool", "cbool": "bool", "double": "float", "bytes": "bytes", "str": "str", "list": "list[Any]"}
INCLUDE = re.compile(r'^include "([^"]+)"$', re.MULTILINE)
BEGIN = re.compile(
    r"^(?P<indent> *)(?:def (?P<function>\w+)\(|cdef class (?P<class>\w+)|(?P<constant>[A-Z][A-Z_]+) = )"
)
FIELD = re.compile(r"^    cdef (?:readonly|public) (\w+) (\w+)$")
DECORATOR = re.compile(r"^    @(?:property|staticmethod|classmethod)$")


def text_of(door: Path) -> str:
    """Return a ``.pyx`` with its parts in the place of their `include`."""
    text = door.read_text()
    for name in INCLUDE.findall(text):
        # What is not beside it, the toolkit, defines nothing in Python.
        piece = door.parent / name
        text = text.replace(f'include "{name}"', piece.read_text() if piece.exists() else "")
    return text


def python_type(declared: str, optional: bool) -> str:
    """Translate the declared type of a parameter; `optional`: it may be None."""
    view = re.fullmatch(r"(?:const )?(u?int\d+)_t\[[:1, ]+\]", declared)
    if view is not None:
        return f"NDArray[np.{view[1]}]" + (" | None" if optional else "")
    if declared in WHOLE:
        return "int"
    if declared in PLAIN:
        return PLAIN[declared]
    if declared == "tuple":
        return "tuple[Any, ...] | None" if optional else "tuple[Any, ...]"
    if not declared[:1].isupper():
        return "Any"
    return f"{declared} | None" if optional else declared


def parameters(inside: str) -> Iterator[str]:
    """Translate the parameters between the parentheses of a definition."""
    for one in re.split(r",(?![^\[]*\])", " ".join(inside.split())):
        if not one.strip():
            continue
        words, _, default = one.strip().partition("=")
        declared, _, name = words.removesuffix(" not None").strip().rpartition(" ")
        if not declared and name in {"self", "cls", "*", "/"}:
            yield name
            continue
        optional = not words.endswith(" not None")
        kind = python_type(declared, optional) if declared else "Any"
        yield f"{name}: {kind}" + (" = ..." if default else "")


def lines_of(text: str) -> Iterator[str]:
    """Translate definitions one after the other, without private ones and C functions."""
    lines = iter(text.splitlines())
    decorators: list[str] = []
    public_class = False
    for line in lines:
        if not line.startswith((" ", "#", "@")) and line:
            public_class = False
        if public_class and DECORATOR.match(line):
            decorators.append(line)
            continue
        field = FIELD.match(line)
        if field is not None and public_class:
            yield f"    {field[2]}: {python_type(field[1], False)}"
        begin = BEGIN.match(line)
        if begin is None:
            continue
        if begin["class"]:
            public_class = not begin["class"].startswith("_")
            if public_class:
                yield f"\nclass {begin['class']}:"
                # A body for classes without public members.
                yield "    ..."
        elif begin["constant"] and not begin["indent"]:
            yield f"{begin['constant']}: Any"
        elif begin["function"]:
            head = line
            while head.count("(") != head.count(")"):
                head += " " + next(lines).strip()
            inside, _, rest = head[begin.end() :].rpartition(")")
            hidden = begin["function"].startswith("_") and begin["function"] != "__init__"
            if (begin["indent"] and not public_class) or hidden:
                decorators = []
                continue
            if "->" in inside:
                inside, _, rest = head[begin.end() :].partition(") ->")
                rest = "->" + rest
            returns = rest.strip().removesuffix(":").removeprefix("->").strip() or "None"
            yield from decorators
            decorators = []
            yield f"{begin['indent']}def {begin['function']}({', '.join(parameters(inside))}) -> {returns}: ..."


def main() -> None:
    """Write the stub named on the command line."""
    door, stub = map(Path, sys.argv[1:])
    body = "\n".join(lines_of(text_of(door)))
    imports = "".join(line for name, line in IMPORTS.items() if name in body)
    stub.write_text(HEAD.format(name=door.name, imports=imports) + "\n" + body + "\n")


if __name__ == "__main__":
    main()
