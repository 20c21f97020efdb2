"""Names of encodings, and the contexts in which they decode."""

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
        Name of the oneof field, e.g. ``flat``. ``#17`` for a field number that this package does not know.
        None if the message itself is the encoding (layouts of third parties). Private codecs are stored in
        ``CompressiveEncoding.private_codec`` and have the key ``("lance_arrow.PrivateCodec", "vendor.name/1")``.
    """

    message: str
    case: str | None = None

    @property
    def is_private(self) -> bool:
        """Whether the encoding, a codec or a layout, is outside the format; other readers reject the whole file."""
        return self.message not in _FORMAT_MESSAGES

    def __str__(self) -> str:
        return self.message if self.case is None else f"{self.message}/{self.case}"

    @classmethod
    def parse(cls, text: str) -> EncodingKey:
        """Parse the output of `str()`: the message has no slash, a case may."""
        message, slash, case = text.partition("/")
        return cls(message, case if slash else None)


COMPRESSIVE = "lance.encodings21.CompressiveEncoding"
"""Owner of the codec oneof of 2.1, 2.2 and 2.3."""
ARRAY = "lance.encodings.ArrayEncoding"
"""Owner of the oneof of array encodings, for pages of 2.0."""
LEGACY = "lance_arrow.legacy.LegacyPage"
"""Owner of the oneof of pages of 0.1."""
PRIVATE_CODEC = "lance_arrow.PrivateCodec"
"""Owner name of codecs outside the format's own oneof."""
COMPRESSION_SCHEME = "lance.encodings21.CompressionScheme"
"""The enum whose values are compression schemes."""
COLUMN_ENCODING = "lance.encodings.ColumnEncoding"
"""Owner of the oneof of column wrappers."""
PAGE_MESSAGES = (
    "lance.encodings.ArrayEncoding",
    "lance.encodings21.PageLayout",
    "lance.encodings23.PlanarLayout",
    "lance.encodings.PageLayout",
)
"""Messages that describe pages in the format: of 2.0, of 2.1 and 2.2, of 2.3, and of drafts of 2.1."""
_FORMAT_MESSAGES = frozenset((COMPRESSIVE, ARRAY, LEGACY, *PAGE_MESSAGES))


class DecodeContext(enum.Enum):
    """Where a codec's bytes are stored, which decides its protocol."""

    # Members are single objects; `Enum` hashes their names, in Python.
    __hash__ = object.__hash__

    MINI_BLOCK = "mini-block"
    """Whole chunks of a mini-block page; `num_buffers` buffers per chunk."""
    BLOCK = "block"
    """One opaque buffer and a count: levels, dictionary items."""
    PER_VALUE = "per-value"
    """Single values, each located without decoding its neighbours: full-zip pages."""


class BufferRole(enum.Enum):
    """Role of a page buffer, as the inspector prints it."""

    CHUNK_TABLE = "chunk table"
    DATA = "data"
    DICTIONARY = "dictionary"
    ROW_INDEX = "row index"
    REPETITION = "repetition levels"
    DEFINITION = "definition levels"
    SCALAR = "scalar"
    INDICES = "indices"
    STRUCTURE = "structure"
