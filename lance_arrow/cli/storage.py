"""`--storage-option KEY=VALUE`: options for the filesystem of a URL, as `storage_options` of the Python functions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from lance_arrow.errors import InvalidArgumentError

StorageOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--storage-option",
        metavar="KEY=VALUE",
        help="Option for the filesystem of a URL, as in fsspec; repeat for more. "
        "true, false, null, integers and JSON objects are read as JSON, other values are text.",
    ),
]


def parse_storage_options(options: Sequence[str] | None) -> dict[str, Any] | None:
    """Turn the values of `--storage-option` into a mapping for `storage_options`.

    Parameters
    ----------
    options
        Texts ``KEY=VALUE``. A value that is a JSON object, an integer, ``true``, ``false`` or ``null`` is read as JSON;
        any other value stays text. A JSON string (``"123"``, quotes included) is text that looks like something else.

    Returns
    -------
    dict or None
        None without options.

    Raises
    ------
    InvalidArgumentError
        A text has no ``=``, an empty key, or a key that was given before. Messages name keys, never values: values
        may be secrets.
    """
    found: dict[str, Any] = {}
    for option in options or ():
        key, equals, text = option.partition("=")
        if not equals or not key:
            # Without "=" the whole text may be a secret whose key was forgotten.
            raise InvalidArgumentError("--storage-option expects KEY=VALUE, for example --storage-option anon=true")
        if key in found:
            raise InvalidArgumentError(f"--storage-option {key} is given twice", detail=key)
        found[key] = _value(text)
    return found or None


def _value(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # 1.50 and [] are names and numbers that a filesystem wants as they were typed.
    return value if value is None or isinstance(value, (bool, int, str, dict)) else text
