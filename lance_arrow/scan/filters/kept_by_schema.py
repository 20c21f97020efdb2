"""`KeptBySchema`: what was made last of filters, or of nothing else, and schemas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Generic, TypeVar

import pyarrow as pa

T = TypeVar("T")

_MOST_ENTRIES = 16
_MOST_KEY_BYTES = 64 << 10
"""Lists of values may have any length. What is made of a longer one takes far more time than a look at it."""


class KeptBySchema(Generic[T]):
    """A few results, last used first; threads share it."""

    def __init__(self) -> None:
        self._held: Sequence[tuple[bytes, pa.Schema, T]] = ()
        self._lock = Lock()

    def of(
        self,
        key: bytes | None,
        schema: pa.Schema,
        make: Callable[[], T],
        may_keep: Callable[[T], bool] = lambda _: True,
    ) -> T:
        """Return what was made of a key and a schema with equal metadata, or make it.

        Parameters
        ----------
        key
            What it depends on besides the schema; None, or a long one, to keep nothing.
        schema
            The schema.
        make
            Its errors are raised.
        may_keep
            Tells whether it may be used again; it always may by default.
        """
        if key is None or len(key) > _MOST_KEY_BYTES:
            return make()
        found = next((one for one in self._held if one[0] == key and _is_same(one[1], schema)), None)
        if found is None:
            made = make()
            if not may_keep(made):
                return made
            found = key, schema, made
        with self._lock:
            self._held = (found, *[one for one in self._held if one is not found][: _MOST_ENTRIES - 1])
        return found[2]


def _is_same(one: pa.Schema, other: pa.Schema) -> bool:
    return one is other or bool(one.equals(other, check_metadata=True))
