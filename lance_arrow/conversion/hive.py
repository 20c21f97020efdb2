"""Hive partitions: keys that names of folders give (``year=2024/month=1``), their types and values.

Types are inferred as `pyarrow.dataset` infers them: int32 where every value is one, else string.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.errors import InvalidArgumentError

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value that means null."""

Keys = Mapping[str, str | None]


def keys_of(folders: Sequence[str], *, path: str) -> dict[str, str | None]:
    """Return the keys of a file, outermost first.

    Parameters
    ----------
    folders
        Names of the folders that may be keys.
    path
        The file, for messages.

    Raises
    ------
    InvalidArgumentError
        A key occurs twice with different values.
    """
    keys: dict[str, str | None] = {}
    for folder in folders:
        name, equals, value = folder.partition("=")
        if not equals:
            continue
        name = unquote(name)
        found = None if value == NULL else unquote(value)
        if name in keys and keys[name] != found:
            raise InvalidArgumentError(f"the folders give {name!r} two values", path=path, column=name)
        keys[name] = found
    return keys


def trailing_keys(folders: Sequence[str]) -> list[str]:
    """Return the last folders that are keys, up to the first one that is not."""
    start = len(folders)
    while start and "=" in folders[start - 1]:
        start -= 1
    return list(folders[start:])


def key_types(all_keys: Iterable[Keys], asked: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Infer the types of keys.

    Parameters
    ----------
    all_keys
        Keys of each input.
    asked
        Types that the caller wants; these win.
    """
    values: dict[str, dict[str, None]] = {}
    for keys in all_keys:
        for name, value in keys.items():
            found = values.setdefault(name, {})
            if value is not None:
                found[value] = None
    return {
        name: asked[name] if name in asked else pa.int32() if found and _are_int32(list(found)) else pa.string()
        for name, found in values.items()
    }


def key_value(text: str | None, type_: pa.DataType, *, name: str, path: str) -> pa.Scalar:
    """Return a key's value as a scalar of its type.

    Raises
    ------
    InvalidArgumentError
        The text is no such value.
    """
    try:
        return pc.cast(pa.scalar(text, pa.string()), type_)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidArgumentError(
            f"the folder's value {text!r} cannot be cast from string to {type_}: {error}", path=path, column=name
        ) from error


def _are_int32(values: list[str]) -> bool:
    try:
        pa.array(values, pa.string()).cast(pa.int32())
    except pa.ArrowInvalid:
        return False
    return True
