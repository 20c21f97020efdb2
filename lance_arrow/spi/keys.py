"""Names of encodings and the contexts they decode in."""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EncodingKey:
    """Identity of one encoding on the wire.

    Parameters
    ----------
    message
        Full protobuf name of the message that owns the oneof, e.g. ``lance.encodings21.CompressiveEncoding``.
    case
        Name of the oneof field, e.g. ``inline_bitpacking``; ``#17`` for a field number this package does not know;
        None when the message itself is the encoding (layouts of third parties). Private codecs, which travel inside
        ``CompressiveEncoding.private_codec``, have the key ``("lance_arrow.PrivateCodec", "vendor.name/1")``.
    """

    message: str
    case: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether the encoding, a codec or a layout, is outside the format: other readers refuse the whole file."""
        return self.message not in _FORMAT_MESSAGES

    def __str__(self) -> str:
        return self.message if self.case is None else f"{self.message}/{self.case}"

    @classmethod
    def parse(cls, text: str) -> EncodingKey:
        """Read what `str()` printed: the message has no slash, a case may."""
        message, slash, case = text.partition("/")
        return cls(message, case if slash else None)


COMPRESSIVE = "lance.encodings21.CompressiveEncoding"
"""Owner of the codec oneof of 2.1, 2.2 and 2.3."""
ARRAY = "lance.encodings.ArrayEncoding"
"""Owner of the oneof of array encodings, which pages of 2.0 are made of."""
LEGACY = "lance_arrow.legacy.LegacyPage"
"""Owner of the oneof of what pages of 0.1 are."""
PRIVATE_CODEC = "lance_arrow.PrivateCodec"
"""Owner name of codecs outside the format's own oneof."""
PAGE_MESSAGES = (
    "lance.encodings.ArrayEncoding",
    "lance.encodings21.PageLayout",
    "lance.encodings23.PlanarLayout",
    "lance.encodings.PageLayout",
)
"""What describes pages in the format: of 2.0, of 2.1 and 2.2, of 2.3, and of drafts of 2.1."""
_FORMAT_MESSAGES = frozenset((COMPRESSIVE, ARRAY, LEGACY, *PAGE_MESSAGES))


class DecodeContext(enum.Enum):
    """Where a codec's bytes lie, which decides what it may do with them."""

    # Members are single objects; `Enum` hashes their names, in Python.
    __hash__ = object.__hash__

    MINI_BLOCK = "mini-block"
    """Whole chunks of a mini-block page; `num_buffers` buffers per chunk."""
    BLOCK = "block"
    """One opaque buffer and a count: levels, dictionary items."""
    PER_VALUE = "per-value"
    """Each value by itself, found without decoding its neighbours: full-zip pages."""


class BufferRole(enum.Enum):
    """What a page buffer is for, as the inspector prints it."""

    CHUNK_TABLE = "chunk table"
    DATA = "data"
    DICTIONARY = "dictionary"
    ROW_INDEX = "row index"
    REPETITION = "repetition levels"
    DEFINITION = "definition levels"
    SCALAR = "scalar"
    INDICES = "indices"
    STRUCTURE = "structure"
