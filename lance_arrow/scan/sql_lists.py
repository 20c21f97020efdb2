"""`without_lists`: take long lists of literals out of SQL, so that no parser makes an object of each literal.

    id IN (1, 2, ..., 1000) AND s = 'x'     →     id IN (:list_0) AND s = 'x'     and the 1,000 numbers

Only what cannot be mistaken is taken out: text with comments, templates or other quotes stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Values: TypeAlias = Sequence[int] | Sequence[str]

_LEAST_VALUES = 64
# What begins comments, templates, hints, heredocs or quoted names in some dialect.
_DOUBTFUL = re.compile(r"--|/\*|[{}#`$\\:?@]")
_NUMBER, _TEXT = "-?[0-9]{1,30}", "'[^']*'"
_MORE = f"{{{_LEAST_VALUES - 1},}}"
# Strings and quoted names are matched first, so that what looks like a list inside of one stays there.
_LIST = re.compile(
    r"""'(?:[^']|'')*'(?!')|"(?:[^"]|"")*"(?!")"""
    rf"""|\bIN\s*\(\s*(?:(?P<numbers>{_NUMBER}(?:\s*,\s*{_NUMBER}){_MORE})"""
    rf"""|(?P<strings>{_TEXT}(?:\s*,\s*{_TEXT}){_MORE}))\s*\)""",
    re.IGNORECASE,
)
_STRING = re.compile("'([^']*)'")


def without_lists(text: str) -> tuple[str, Mapping[str, Values]]:
    """Replace long lists of integers or of strings after ``IN`` by placeholders.

    Parameters
    ----------
    text
        A condition in SQL.

    Returns
    -------
    text
        The condition with ``:name`` in place of each list.
    lists
        The values by the name of the placeholder; empty if nothing was replaced.
    """
    if len(text) < 2 * _LEAST_VALUES or _DOUBTFUL.search(text) is not None:
        return text, {}
    lists: dict[str, Values] = {}

    def replaced(match: re.Match[str]) -> str:
        numbers, strings = match["numbers"], match["strings"]
        if numbers is None and strings is None:
            return match[0]
        name = f"list_{len(lists)}"
        lists[name] = _STRING.findall(strings) if numbers is None else list(map(int, numbers.split(",")))
        return f"IN (:{name})"

    return _LIST.sub(replaced, text), lists
