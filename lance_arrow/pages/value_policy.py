"""Choose between chunks and zipped entries for the values of a page."""

from __future__ import annotations

from lance_arrow.pages.dictionary_writing import automatic_dictionary
from lance_arrow.spi.blocks import PackedStruct
from lance_arrow.spi.encoding import PageContent
from lance_arrow.spi.scopes import EncodeScope

ZIPPED_FROM_BYTES = 256
"""Values of at least this size are zipped, so that each is located by itself. Source: spec 10 point 5."""
_COMPACT_ZIPPED_FROM_BYTES = 16 << 10
"""The same for `compact`: values compress better together, and large chunks hold several."""


def prefers_chunks(page: PageContent, scope: EncodeScope) -> bool:
    """Return whether values are small enough for chunks, or can be indices into a dictionary."""
    if page.values is None:
        return True
    is_small = scope.summary(page.values).max_value_bytes < zipped_from_bytes(scope)
    return is_small or automatic_dictionary(page, scope) is not None


def zipped_from_bytes(scope: EncodeScope) -> int:
    """Return the size from which values are zipped."""
    is_compact = scope.options.preset == "compact" and scope.file_version >= "2.2"
    return _COMPACT_ZIPPED_FROM_BYTES if is_compact else ZIPPED_FROM_BYTES


def lacks_structs(page: PageContent) -> bool:
    """Return whether some rows hold no packed struct: release 14.0.2 aborts at takes of only such zipped rows."""
    return isinstance(page.leaf.shape, PackedStruct) and page.levels.num_entries > page.num_values
