"""The native side of codecs and pages: optional, with one interface for built-in and other plugins.

A bound codec may have a method ``native()``. It returns a capsule around a table of C functions, or None if this
instance has none. The header in `include_dir` defines the functions. Reads then run without Python. A codec without a
native side is decoded by its ``measure`` and ``decode``, which the engine calls. So is what a native side leaves. Both
must return equal values.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from lance_arrow.spi.blocks import BlockShape
    from lance_arrow.spi.keys import DecodeContext
    from lance_arrow.spi.layouts import PageFacts
    from lance_arrow.spi.leaf_type import LeafType
    from lance_arrow.spi.scopes import EncodeScope

__all__ = [
    "HasNativeEncoder",
    "HasNativeFrames",
    "HasNativeMarks",
    "HasNativePage",
    "HasNativePages",
    "HasNativePrefixes",
    "HasStoredValues",
    "NativeSide",
    "ReadNatively",
    "include_dir",
    "marks_side",
    "native_side",
    "prefixes_side",
    "stored_side",
]


class NativeSide(Protocol):
    """A bound codec, or buffer scheme, that can be called from native code."""

    def native(self) -> Any | None:
        """Return a capsule, or None.

        Its name is ``lance_arrow.chunk_codec/1`` or ``lance_arrow.value_codec/1``; that of a scheme is
        ``lance_arrow.frame_codec/1``.
        """


class HasStoredValues(Protocol):
    """A bound codec of zipped values, or a bound buffer scheme, that stores some values plainly behind a header."""

    def native_stored(self) -> Any | None:
        """Return a capsule named ``lance_arrow.stored_values/1``, or None."""


class HasNativePrefixes(Protocol):
    """A bound buffer scheme that decompresses the first bytes of a frame without the others."""

    def native_prefixes(self) -> Any | None:
        """Return a capsule named ``lance_arrow.frame_prefixes/1``, or None."""


class HasNativeMarks(Protocol):
    """A bound codec of chunks that compares values without making a column, or knows bounds of a chunk of numbers."""

    def native_marks(self) -> Any | None:
        """Return a capsule named ``lance_arrow.chunk_marks/1``, or None."""


class HasNativePage(Protocol):
    """A page index from which the native engine can read rows."""

    @property
    def native(self) -> Any | None:
        """`lance_arrow.pages.NativePage`, or None."""


@runtime_checkable
class ReadNatively(Protocol):
    """Optional part of a bound layout or array: the native engine reads its pages without an index from `load_index`.

    Such a page needs no index, or reads its own when its rows are first needed.
    """

    def native_page(self, page: PageFacts) -> Any | None:
        """Return a `lance_arrow.pages.NativePage`, as `lance_arrow.pages` builds them.

        None if the engine cannot read the page, or if buffers are too few or too small. Then `roles` raises, or the
        layout reads the page itself.
        """


@runtime_checkable
class HasNativeEncoder(Protocol):
    """Optional part of a codec encoder: writes blocks of values of fixed width, or of byte strings, natively."""

    def native_encoder(self, shape: BlockShape, context: DecodeContext, scope: EncodeScope) -> Any | None:
        """Return a capsule, or None if blocks of the shape must be scored and encoded in Python.

        Called once for leaves with equal options, not for pages. The capsule's name is
        ``lance_arrow.chunk_encoder/1`` for MINI_BLOCK, and ``lance_arrow.blocks_encoder/1`` for BLOCK. It must outlive
        nothing but itself: everything it points to is its own. Its scores and bytes are those of `CodecEncoder`.
        """


@runtime_checkable
class HasNativeFrames(Protocol):
    """Optional part of a buffer scheme that can be written: compresses natively."""

    def native_frames(self, level: int | None) -> Any | None:
        """Return a capsule named ``lance_arrow.frame_encoder/1``, or None if buffers are compressed in Python.

        Its frames are those of `SchemeEncoder.compress`.
        """


@runtime_checkable
class HasNativePages(Protocol):
    """Optional part of a layout encoder: writes pages of a leaf natively."""

    def native_pages(self, leaf: LeafType, scope: EncodeScope) -> Any | None:
        """Return a capsule named ``lance_arrow.page_encoder/1``, or None if pages are scored and written in Python."""


def native_side(codec: object) -> Any | None:
    """Return the codec's capsule, or None when it has no native side."""
    offer = getattr(codec, "native", None)
    return None if offer is None else offer()


def marks_side(codec: object) -> Any | None:
    """Return the capsule that compares values of chunks, or None if the codec has none."""
    offer = getattr(codec, "native_marks", None)
    return None if offer is None else offer()


def prefixes_side(scheme: object) -> Any | None:
    """Return the capsule that decompresses beginnings of frames, or None if the scheme has none."""
    offer = getattr(scheme, "native_prefixes", None)
    return None if offer is None else offer()


def stored_side(codec: object) -> Any | None:
    """Return the capsule that locates plainly stored values, or None if the codec has none."""
    offer = getattr(codec, "native_stored", None)
    return None if offer is None else offer()


def include_dir() -> Path:
    """Return the folder of ``lance_arrow_native.h``, for building a codec's native side."""
    return Path(__file__).parents[1] / "include"
