"""Protocols of what plugins provide: each factory validates one case of a description and returns what reads it."""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf.message import Message

from lance_arrow.spi.arrays import BoundArray
from lance_arrow.spi.codecs import BoundBufferScheme, BoundCodec
from lance_arrow.spi.keys import DecodeContext, EncodingKey
from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout
from lance_arrow.spi.scopes import BindScope


class CodecFactory(Protocol):
    """What a plugin provides for one `oneof` case.

    A factory may also have ``since``, a mapping from context to the first file version (``"2.1"``) in which a writer is
    known to use it there: `lance-arrow plugins --matrix` prints it. A context without one is read all the same.
    """

    @property
    def key(self) -> EncodingKey:
        """Which case it reads."""

    @property
    def contexts(self) -> frozenset[DecodeContext]:
        """Where it may occur; the binder refuses it elsewhere."""

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Validate the description and return the decoder.

        Parameters
        ----------
        message
            The case's own message (for private codecs: ``PrivateCodec``). It must not be kept.
        context
            Which protocol to return: BoundChunkCodec for MINI_BLOCK and BLOCK, BoundPerValueCodec for PER_VALUE.
        scope
            Binds children and schemes, knows limits and the leaf's type.

        Raises
        ------
        CorruptFileError
            The description contradicts itself (width 0, a child of the wrong shape).
        UnsupportedError
            It is legal but not readable here.
        """


class BufferScheme(Protocol):
    """What a plugin provides for one of the format's buffer compression schemes. Source: BufferCompression.scheme.

    The enum has two values, so a plugin can replace a scheme, not add one: a third compression is a private codec.
    """

    @property
    def key(self) -> EncodingKey:
        """``("lance.encodings21.CompressionScheme", "LZ4")``: the enum's name and the value's name."""

    def bind(self, message: Any, scope: BindScope) -> BoundBufferScheme:
        """Validate ``BufferCompression`` and return the decompressor."""


class LayoutFactory(Protocol):
    """What a plugin provides for one layout."""

    @property
    def key(self) -> EncodingKey:
        """The page description's message and case; ``case=None`` for a message that is one layout."""

    @property
    def message_type(self) -> type[Message]:
        """Class that parses the description's bytes: the message named by `key.message`."""

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Validate the case's message (the whole message when ``case`` is None) and return the layout."""


class ColumnEncodingFactory(Protocol):
    """What a plugin provides for one column wrapper: plain values, zone index, blob."""

    @property
    def key(self) -> EncodingKey:
        """``("lance.encodings.ColumnEncoding", "values")`` and its like."""

    @property
    def message_type(self) -> type[Message]:
        """Class that parses the column description's bytes."""

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        """Validate the case's message and say how to take the pages; wrappers bind `inner` by the scope."""


class ArrayFactory(Protocol):
    """What a plugin provides for one case of an array encoding."""

    @property
    def key(self) -> EncodingKey:
        """``("lance.encodings.ArrayEncoding", "flat")`` and its like."""

    def bind(self, message: Any, scope: BindScope) -> BoundArray:
        """Validate the case's message; children are bound by ``scope.array``.

        Raises
        ------
        CorruptFileError
            The description contradicts itself or the schema.
        UnsupportedError
            It is legal but not readable here.
        """
