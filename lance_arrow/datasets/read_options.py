"""Options that change what a file's columns look like when they are read."""

from __future__ import annotations

from typing import Literal, TypeAlias

from lance_arrow.errors import InvalidArgumentError

Dictionaries: TypeAlias = Literal["keep", "decode"]
"""Dictionary columns as dictionary arrays, as the file's schema has them, or as plain values."""


def decodes_dictionaries(dictionaries: Dictionaries) -> bool:
    """Tell what the option wants.

    Raises
    ------
    InvalidArgumentError
        It is none of the two words.
    """
    if dictionaries not in ("keep", "decode"):
        raise InvalidArgumentError(
            f"dictionaries is {dictionaries!r}, expected 'keep' or 'decode'", detail=dictionaries
        )
    return dictionaries == "decode"
