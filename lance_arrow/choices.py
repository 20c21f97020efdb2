"""The choices that options take, as types: a type checker refuses a misspelt one; at run time, `names` lists them."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from lance_arrow.errors import InvalidArgumentError, did_you_mean

Dictionaries: TypeAlias = Literal["keep", "decode"]
"""Dictionary columns as dictionary arrays, or as plain values."""
Blobs: TypeAlias = Literal["bytes", "descriptors"]
"""Blob columns as their values, or as the places of these."""
Strings: TypeAlias = Literal["plain", "dictionary", "view"]
"""Strings as such, or those that are stored as dictionaries as dictionary arrays, or all as views."""
FixedStrings: TypeAlias = Literal["plain", "view"]
"""Strings as such, or as views: forms that no file needs to be opened for."""
Json: TypeAlias = Literal["text", "bytes"]
"""Columns of binary JSON as text of the type ``arrow.json``, or as their bytes."""
Verify: TypeAlias = Literal["touched", "full", "off"]
"""What is compared with checksums: blocks that are read, the whole file at opening, or nothing."""
Lost: TypeAlias = Literal["null", "skip"]
"""What salvage does with values that cannot be read: write null, or leave their rows out."""
OnCorruption: TypeAlias = Literal["raise", "null", "skip"]
"""What a read does with values that are damaged: raise, return null, or leave their rows out."""
Preset: TypeAlias = Literal["fast", "default", "compact"]
"""How much time is spent to write small files."""
FileVersionName: TypeAlias = Literal["2.0", "2.1", "2.2", "2.3", "stable", "next"]
"""File versions that can be written."""
CreateMode: TypeAlias = Literal["create", "overwrite", "append"]
"""What `LanceTable.create` does where a table exists: raise, make a version of the new rows only, or add to it."""
Durability: TypeAlias = Literal["fsync", "rename"]
"""What a change of a local table survives: a loss of power, or the end of the process only."""
Order: TypeAlias = Literal["ascending", "descending"]
"""From the least value to the greatest, or the reverse."""
NullPlacement: TypeAlias = Literal["at_end", "at_start"]
"""Whether nulls, and NaN beside them, come after the values or before them, in either order."""
IngestMode: TypeAlias = Literal["append", "overwrite"]
"""What the ingest job does with a table."""
Matched: TypeAlias = Literal["update", "delete", "keep"]
"""What a merge does with rows of the table whose key the source has."""
NotMatched: TypeAlias = Literal["insert", "ignore"]
"""What a merge does with rows of the source whose key the table lacks."""
NotMatchedBySource: TypeAlias = Literal["keep", "delete"]
"""What a merge does with rows of the table whose key the source lacks."""


def fixed_strings(strings: Strings) -> FixedStrings:
    """Return the form of strings, those aside that are read as dictionaries; raises `InvalidArgumentError`."""
    if strings != "plain":
        check_choice("strings", names(Strings), strings)
    return "view" if strings == "view" else "plain"


@cache
def names(choice: Any) -> tuple[str, ...]:
    """Return the values of one of these types, in order."""
    return get_args(choice)


def check_choice(name: str, known: tuple[str, ...], given: object) -> None:
    """Refuse an option that has none of the allowed values; raises `InvalidArgumentError`, which names it."""
    if given not in known:
        raise InvalidArgumentError(
            f"{name} is {given!r}, expected {' or '.join(map(repr, known))}{did_you_mean(given, known)}", detail=given
        )
