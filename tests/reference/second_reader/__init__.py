"""A second reader of the layouts of the format, in Python: the oracle of tests of the engine.

It reads pages in the two rounds of `lance_arrow.spi.PythonLayout`: index, then rows. `second_reader` gives a bound
layout of the format that reads this way. `read_twice` has a runtime read whole files with it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lance_arrow.pages import ChunkedPages, ZippedPages
from lance_arrow.runtime import Runtime
from lance_arrow_layouts.blob import BoundBlob
from lance_arrow_layouts.constant import BoundConstant
from lance_arrow_layouts.planar.dense import DenseRepeated
from lance_arrow_layouts.planar.sparse import BoundSparse
from lance_arrow_layouts_legacy.drafts.dictionaries import DraftDictionaryPages
from lance_arrow_layouts_legacy.drafts.early_chunks import EarlyChunks
from lance_arrow_layouts_legacy.drafts.flattened import FlattenedLists
from lance_arrow_layouts_legacy.drafts.uncounted import UncountedPages
from second_reader.blob import ReadBlob
from second_reader.chunked import ReadChunks
from second_reader.constant import ReadConstant, ReadRepeated
from second_reader.draft_dictionaries import ReadDraftDictionaries
from second_reader.early_chunks import ReadEarlyChunks
from second_reader.flattened import ReadFlattened
from second_reader.sparse import ReadSparse
from second_reader.uncounted import ReadUncounted
from second_reader.zipped import ReadZipped


def second_reader(layout: Any) -> Any:
    """Return a layout that reads the pages of a bound layout in Python; one of a stranger stays as it is."""
    if isinstance(layout, ChunkedPages):
        return ReadChunks.of(layout)
    if isinstance(layout, UncountedPages):
        return ReadUncounted.of(layout)
    if isinstance(layout, ZippedPages):
        return ReadZipped.of(layout)
    if isinstance(layout, BoundConstant):
        return ReadConstant.of(layout)
    if isinstance(layout, DenseRepeated):
        return ReadRepeated.of(layout)
    if isinstance(layout, BoundBlob):
        return ReadBlob(layout.layers, second_reader(layout.inner))
    if isinstance(layout, BoundSparse):
        return ReadSparse.of(layout)
    if isinstance(layout, FlattenedLists):
        return ReadFlattened(second_reader(layout.items), layout.shape, layout.layers)
    if isinstance(layout, DraftDictionaryPages):
        return ReadDraftDictionaries(ReadChunks.of(layout.pages), layout.num_items)
    if isinstance(layout, EarlyChunks):
        early = ReadEarlyChunks.of(replace(layout.pages, large=False))
        return early if early.items is None else ReadDraftDictionaries(early, None)
    return layout


def read_twice(runtime: Runtime) -> Runtime:
    """Have a runtime read pages of the format in Python; returns it."""
    binder = runtime.binder
    bind = binder.page
    binder.page = lambda *args, **kwargs: second_reader(bind(*args, **kwargs))  # type: ignore[method-assign]
    return runtime
