"""Chunks or zipped entries: which of the two suits the values of a page."""

from __future__ import annotations

from lance_arrow.pages.dictionary_writing import automatic_dictionary
from lance_arrow.spi.blocks import PackedStruct
from lance_arrow.spi.encoding import PageContent
from lance_arrow.spi.scopes import EncodeScope

ZIPPED_FROM_BYTES = 256
"""A value as large as this is found for itself rather than in a chunk. Source: spec 10 point 5."""
_COMPACT_ZIPPED_FROM_BYTES = 16 << 10
"""The same where size comes first: values compress better together, and large chunks hold several."""


def prefers_chunks(page: PageContent, scope: EncodeScope) -> bool:
    """Whether values are small enough for chunks, or an index into a dictionary is."""
    if page.values is None:
        return True
    is_compact = scope.options.preset == "compact" and scope.file_version >= "2.2"
    limit = _COMPACT_ZIPPED_FROM_BYTES if is_compact else ZIPPED_FROM_BYTES
    return scope.summary(page.values).max_value_bytes < limit or automatic_dictionary(page, scope) is not None


def lacks_structs(page: PageContent) -> bool:
    """Whether some rows hold no packed struct: release 14.0.2 aborts where it takes only such rows of zipped pages."""
    return isinstance(page.leaf.shape, PackedStruct) and page.levels.num_entries > page.num_values
