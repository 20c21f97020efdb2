"""`PageEncoder`: encode the content of a page to buffers and a description, with the installed encoders.

PageContent ──► hook or smallest score ──► LayoutEncoder ──► scope.encode_child(block) ──► CodecEncoder
                                                 │                                             │
                                                 └──────────────► EncodedPage ◄────────────────┘
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.settings import Limits
from lance_arrow.spi import PRIVATE_CODEC, DecodeContext, EncodeOptions, EncodingKey, LeafType
from lance_arrow.spi.encoders import ArrayEncoder, BlocksEncoder, CodecEncoder, LayoutEncoder
from lance_arrow.spi.encoding import EncodedPage, PageContent, PendingPage
from lance_arrow.spi.keys import COLUMN_ENCODING
from lance_arrow.spi.layouts import ZoneMapPlace
from lance_arrow.spi.scratch import Scratch
from lance_arrow.spi.table import EncodingTable, Provided, has_methods, version_number
from lance_arrow.structure.carried_facts import CarriedFacts
from lance_arrow.structure.page_scope import PageScope

_MAX_COLUMNS = 64


@dataclass(frozen=True, slots=True, eq=False)
class PageEncoder:
    """Encodes the pages of files of one kind; shared by threads.

    Parameters
    ----------
    table
        Encodings of the plugins.
    limits, scratch
        As for reading.
    file_version
        ``2.0``, ``2.1``, ``2.2`` or ``2.3``.
    allow_private_encodings
        Whether codecs and layouts outside the format may be written.
    """

    table: EncodingTable
    limits: Limits
    scratch: Scratch
    file_version: str
    allow_private_encodings: bool = False
    # A check of a protocol's methods takes longer than many calls, so it is cached.
    _writers: dict[Hashable, tuple[Any, ...]] = field(default_factory=dict, init=False, repr=False)
    _columns: dict[int | None, Message] = field(default_factory=dict, init=False, repr=False)

    def encode(
        self, page: PageContent, options: EncodeOptions, facts: CarriedFacts | None = None
    ) -> EncodedPage | PendingPage:
        """Encode one page; `facts` are carried from page to page of its column; None for the only page.

        Raises
        ------
        UnsupportedError
            No installed layout or codec can hold it, or not in this file version.
        InvalidArgumentError
            A codec or layout outside the format is requested without permission.
        """
        return self.scope(page.leaf, options, facts).layout(page)

    def scope(self, leaf: LeafType, options: EncodeOptions, facts: CarriedFacts | None = None) -> PageScope:
        """Return the scope of one leaf, for its layout encoder."""
        return PageScope.of(self, leaf, options, facts)

    def codecs(self, context: DecodeContext) -> tuple[Provided, ...]:
        """Return the encoders that may write in `context` in this file version."""
        return self._remembered(context, lambda: self._codecs(context, CodecEncoder))

    def guesses(self, context: DecodeContext, kind: type) -> tuple[tuple[Provided, str], ...]:
        """Return encoders of blocks of a kind of shape that are chosen by score, with their names.

        Encoders outside the format are never among them: a caller or a hook must name them.
        """
        found = self._writers.get((context, kind))
        if found is None:
            known = (one for one in self.codecs(context) if kind in getattr(one.factory, "kinds", (kind,)))
            found = tuple((one, str(one.factory.key)) for one in known if not one.factory.key.is_private)
            self._writers[context, kind] = found
        return found

    def column(self, rows_per_zone: int | None) -> Message:
        """Return the description of a column with a zone map in its first buffer; None for no zone map."""
        found = self._columns.get(rows_per_zone)
        if found is None:
            provided = self.table.column_encoding
            found = provided(EncodingKey(COLUMN_ENCODING, "values")).describe(None, None)
            if rows_per_zone is not None:
                wrapper = provided(EncodingKey(COLUMN_ENCODING, "zone_index"))
                found = wrapper.describe(found, ZoneMapPlace(rows_per_zone, 0))
            if len(self._columns) < _MAX_COLUMNS:
                self._columns[rows_per_zone] = found
        return found

    def block_codecs(self) -> tuple[Provided, ...]:
        """Return the encoders of many blocks in one call."""
        return self._remembered("blocks", lambda: self._codecs(DecodeContext.BLOCK, BlocksEncoder))

    def layouts(self) -> tuple[tuple[Provided, str], ...]:
        """Return the layouts that are chosen by score, with their names; others must be named by a caller or a hook."""
        return self._remembered("layouts", self._layouts)

    def _layouts(self) -> tuple[tuple[Provided, str], ...]:
        written = (one for one in self.table.layouts.values() if has_methods(one.factory, LayoutEncoder))
        return tuple((one, str(one.factory.key)) for one in written if not one.factory.key.is_private)

    def arrays(self) -> tuple[Provided, ...]:
        """Return the array encodings that can be written."""
        arrays = self.table.arrays.values()
        return self._remembered(
            "arrays", lambda: tuple(one for one in arrays if has_methods(one.factory, ArrayEncoder))
        )

    def _remembered(self, key: Hashable, find: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
        found = self._writers.get(key)
        if found is None:
            found = self._writers[key] = find()
        return found

    def _codecs(self, context: DecodeContext, protocol: type) -> tuple[Provided, ...]:
        written = (one for one in self.table.codecs.values() if has_methods(one.factory, CodecEncoder))
        return tuple(one for one in written if has_methods(one.factory, protocol) and self.allows(one.factory, context))

    def allows(self, encoder: Any, context: DecodeContext) -> bool:
        since = getattr(encoder, "writes", {}).get(context)
        return since is not None and version_number(since) <= version_number(self.file_version)

    def named(self, name: str) -> Provided:
        """Return the codec that a caller named: a case of the format, or the id of a private codec."""
        for key, provided in self.table.codecs.items():
            if key.case == name:
                if not has_methods(provided.factory, CodecEncoder):
                    raise UnsupportedError(f"the codec {name!r} of plugin {provided.plugin.name!r} cannot be written")
                return provided
        raise self.table.missing(EncodingKey(PRIVATE_CODEC if "/" in name else "codec", name))

    def named_layout(self, name: str) -> Provided:
        """Return the layout outside the format that a caller named by its message."""
        key = EncodingKey.parse(name)
        provided = self.table.layouts.get(key)
        if provided is None:
            raise self.table.missing(key)
        if not has_methods(provided.factory, LayoutEncoder):
            raise UnsupportedError(f"the layout {name!r} of plugin {provided.plugin.name!r} cannot be written")
        return provided

    def permit(self, key: EncodingKey) -> None:
        """Raise `InvalidArgumentError` for an encoding outside the format that the caller did not allow."""
        if key.is_private and not self.allow_private_encodings:
            kind, name = ("codec", key.case) if key.message == PRIVATE_CODEC else ("layout", str(key))
            raise InvalidArgumentError(
                f"the {kind} {name!r} is not part of the format: other readers reject the whole file; "
                "pass allow_private_encodings=True to allow it",
                detail=key,
            )
