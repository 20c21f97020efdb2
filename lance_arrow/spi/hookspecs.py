"""All hooks: the markers, and each specification with the time and number of its calls.

Reading has no hook on the page, chunk or value path. The `provide` hooks fill a table of the `Runtime`, binding looks
keys up in that table, and bound objects carry the data.

"Called once per plugin" of the `provide` hooks means: for each `Runtime`, when it is built. A plugin with declared keys
(`loading.py`) is called when one of them is first looked up. Concurrent threads may call it once each; one answer is
kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from lance_arrow.settings import Settings
    from lance_arrow.spi.blocks import BlockSlice
    from lance_arrow.spi.commits import CommitStrategy, TablePlace
    from lance_arrow.spi.encoding import PageContent
    from lance_arrow.spi.factories import ArrayFactory, BufferScheme, CodecFactory, ColumnEncodingFactory, LayoutFactory
    from lance_arrow.spi.keys import DecodeContext, EncodingKey
    from lance_arrow.spi.reports import ReadReport
    from lance_arrow.spi.scopes import EncodeScope

PROJECT = "lance_arrow"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

PROVIDE_HOOKS = (
    "lance_provide_codecs",
    "lance_provide_layouts",
    "lance_provide_arrays",
    "lance_provide_buffer_schemes",
    "lance_provide_column_encodings",
)
"""Hooks that fill the tables of encodings, in the order of the tables."""


@hookspec
def lance_provide_codecs() -> Iterable[CodecFactory]:  # type: ignore[empty-body]
    """Provide codecs, one factory per `oneof` case. Called once per plugin."""


@hookspec
def lance_provide_layouts() -> Iterable[LayoutFactory]:  # type: ignore[empty-body]
    """Provide page layouts. Called once per plugin."""


@hookspec
def lance_provide_arrays() -> Iterable[ArrayFactory]:  # type: ignore[empty-body]
    """Provide array encodings, the nodes of pages of 2.0. Called once per plugin."""


@hookspec
def lance_provide_buffer_schemes() -> Iterable[BufferScheme]:  # type: ignore[empty-body]
    """Provide the format's compression schemes, LZ4 and ZSTD. Called once per plugin."""


@hookspec
def lance_provide_column_encodings() -> Iterable[ColumnEncodingFactory]:  # type: ignore[empty-body]
    """Provide column wrappers (plain values, zone index, blob). Called once per plugin."""


@hookspec
def lance_read_finished(report: ReadReport) -> None:
    """Observe the report of a finished read. Called once per read of a file or scan; results are ignored."""


@hookspec(firstresult=True)
def lance_choose_layout(page: PageContent, scope: EncodeScope) -> EncodingKey | None:
    """Choose the layout of a page; None leaves the choice to others. Called once per written page."""


@hookspec(firstresult=True)
def lance_choose_codec(block: BlockSlice, context: DecodeContext, scope: EncodeScope) -> EncodingKey | None:
    """Choose the codec of a block; None leaves the choice to others. Called once per encoded block of a page."""


@hookspec(firstresult=True)
def lance_commit_strategy(location: TablePlace, settings: Settings) -> CommitStrategy | None:
    """Choose the commit strategy; None leaves the choice to others. Called once per operation that writes a table."""
