"""Descriptions of pages and columns: the type of their message, without its content.

Source: lance.file.v2.Encoding.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from lance_arrow.proto.reading import unpack_any

_SHORT_BYTES = 512
_MOST_KEPT_BYTES = 4 << 10


@dataclass(frozen=True, slots=True)
class Description:
    """A message, unopened.

    Parameters
    ----------
    message
        Full name of its type.
    value
        Its bytes.
    distribution
        Name of the distribution that reads it: the authority of the type URL, empty for the format's own messages.
    """

    message: str
    value: bytes = field(repr=False)
    distribution: str = ""

    @classmethod
    def of(cls, data: bytes) -> Description:
        """Open a serialized google.protobuf.Any; equal bytes return the same object, so that cache lookups are fast.

        Raises
        ------
        CorruptFileError
            It is malformed, or has no type.
        """
        if len(data) <= _SHORT_BYTES:
            return _short(data)
        return _long(data) if len(data) <= _MOST_KEPT_BYTES else cls(*unpack_any(data))


def _opened(data: bytes) -> Description:
    return Description(*unpack_any(data))


_short = lru_cache(maxsize=1024)(_opened)
# They have tables, which few pages share: of files that are read again they are found.
_long = lru_cache(maxsize=256)(_opened)
