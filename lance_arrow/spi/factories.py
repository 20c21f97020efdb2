"""Protocols of factories, which plugins provide: each validates one case of a description and returns its reader."""

from __future__ import annotations

from typing import Any, Protocol

from google.protobuf.message import Message

from lance_arrow.spi.arrays import BoundArray
from lance_arrow.spi.codecs import BoundBufferScheme, BoundCodec
from lance_arrow.spi.keys import DecodeContext, EncodingKey
from lance_arrow.spi.layouts import BoundColumnEncoding, BoundLayout
from lance_arrow.spi.scopes import BindScope

__all__ = ["ArrayFactory", "BufferScheme", "CodecFactory", "ColumnEncodingFactory", "LayoutFactory"]


class CodecFactory(Protocol):
    """Codec of a plugin for one `oneof` case.

    A factory may also have ``since``, a mapping from context to a file version (``"2.1"``). It is the first version in
    which a writer is known to use the codec there. `lance-arrow plugins --matrix` prints it. A context without an entry
    is read all the same.
    """

    @property
    def key(self) -> EncodingKey:
        """Key of the case that it reads."""

    @property
    def contexts(self) -> frozenset[DecodeContext]:
        """Contexts in which the codec may occur; the binder rejects it in others."""

    def bind(self, message: Any, context: DecodeContext, scope: BindScope) -> BoundCodec:
        """Validate the description and return the decoder.

        Parameters
        ----------
        message
            The message of the case (for private codecs: ``PrivateCodec``). The codec must not keep it.
        context
            Decides the protocol of the result: BoundChunkCodec for MINI_BLOCK and BLOCK, BoundPerValueCodec for
            PER_VALUE.
        scope
            Binds children and schemes, and has the limits and the leaf's type.

        Raises
        ------
        CorruptFileError
            The description contradicts itself (width 0, a child of the wrong shape).
        UnsupportedError
            It is valid, but this codec cannot read it.
        """


class BufferScheme(Protocol):
    """Compression of a plugin for one scheme of the format. Source: BufferCompression.scheme.

    The enum has two values, so a plugin can replace a scheme but not add one. A third compression is a private codec.
    """

    @property
    def key(self) -> EncodingKey:
        """``("lance.encodings21.CompressionScheme", "LZ4")``: name of the enum and name of the value."""

    def bind(self, message: Any, scope: BindScope) -> BoundBufferScheme:
        """Validate ``BufferCompression`` and return the decompressor."""


class LayoutFactory(Protocol):
    """Layout of a plugin.

    A factory may also have ``counts``, the fields of parameters: see `HasParameters`.
    """

    @property
    def key(self) -> EncodingKey:
        """Message and case of the page description; ``case=None`` if the message is one layout."""

    @property
    def message_type(self) -> type[Message]:
        """Class that parses the description: the message named by `key.message`."""

    def bind(self, message: Any, scope: BindScope) -> BoundLayout:
        """Validate the message of the case (the whole message if ``case`` is None) and return the layout."""


class ColumnEncodingFactory(Protocol):
    """Column wrapper of a plugin: plain values, zone index, blob."""

    @property
    def key(self) -> EncodingKey:
        """Key of the wrapper, such as ``("lance.encodings.ColumnEncoding", "values")``."""

    @property
    def message_type(self) -> type[Message]:
        """Class that parses the column description."""

    def bind(self, message: Any, num_column_buffers: int, scope: BindScope) -> BoundColumnEncoding:
        """Validate the message of the case and return how pages are read; wrappers bind `inner` by the scope."""


class ArrayFactory(Protocol):
    """Array encoding of a plugin for one case."""

    @property
    def key(self) -> EncodingKey:
        """Key of the case, such as ``("lance.encodings.ArrayEncoding", "flat")``."""

    def bind(self, message: Any, scope: BindScope) -> BoundArray:
        """Validate the message of the case; ``scope.array`` binds children.

        Raises
        ------
        CorruptFileError
            The description contradicts itself or the schema.
        UnsupportedError
            It is valid, but this plugin cannot read it.
        """
