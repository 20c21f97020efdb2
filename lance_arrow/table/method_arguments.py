"""Arguments that several methods of `LanceTable` have: their defaults, and what they must be."""

from __future__ import annotations

import datetime
from functools import partial

from lance_arrow.choices import Durability, check_choice, names
from lance_arrow.errors import InvalidArgumentError

DEFAULT_ROWS_PER_FILE = 1 << 20
DEFAULT_AGE = datetime.timedelta(days=14)
DEFAULT_BATCH_ROWS = 1 << 16
INDEX_ROWS_PER_ZONE = 8192

check_durability = partial(check_choice, "durability", names(Durability))
"""Raise `InvalidArgumentError` for a value that is not one of `Durability`."""


def checked_message(message: object) -> str | None:
    """Return what a caller says of an operation.

    Raises
    ------
    InvalidArgumentError
        It is no text.
    """
    if message is not None and not isinstance(message, str):
        raise InvalidArgumentError(f"message is {message!r}, expected text", detail=message)
    return message


def checked_size(batch_size: object) -> int | None:
    """Return the most rows of a batch that a caller wants; None where that is not said.

    Raises
    ------
    InvalidArgumentError
        It is no integer, or less than 1.
    """
    if batch_size is None:
        return None
    if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
        raise InvalidArgumentError(f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size)
    return batch_size
