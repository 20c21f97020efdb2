"""Full-zip pages: entries one after the other, each with its levels and its value, for values too large for chunks.

    buffer 0   entries: [control word: levels] [length, if widths vary] [value]
    buffer 1   row index: offset of each row, if rows have no common width

This module has only the description; `lance_arrow.pages` reads and writes the entries. Source:
lance.encodings21.FullZipLayout; spec 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow import pages, spi
from lance_arrow.errors import UnsupportedError
from lance_arrow.kernels import native_codecs
from lance_arrow.pages import ZippedForm, ZippedPages, bind_zipped
from lance_arrow.proto.encodings_v21_pb2 import FullZipLayout, PageLayout
from lance_arrow.spi import BindScope, DecodeContext, EncodeScope, EncodingKey, FixedWidth, VariableWidth, hookimpl
from lance_arrow.spi.layouts import Levels

_BIT = FixedWidth(1)
_SMALL_VALUES_PENALTY = 2.0
"""Single entries cost more than chunks, unless chunks are much larger than a value."""
_FEW_VALUES = 8192
_MISREAD_PENALTY = 1e6
"""Readers of the reference misread such pages, or abort: chunks are better if they can hold the values."""


@dataclass(frozen=True, slots=True)
class FullZip:
    """Reads and writes `PageLayout.full_zip_layout`."""

    key = EncodingKey("lance.encodings21.PageLayout", "full_zip_layout")
    message_type = PageLayout
    counts = (("num_entries", ("num_items",)), ("num_values", ("num_visible_items",)))

    def bind(self, message: Any, scope: BindScope) -> ZippedPages:
        """Read the form from the message."""
        details = message.WhichOneof("details")
        form = ZippedForm(
            layers=scope.layers(message.layers),
            values=message.value_compression,
            bits_rep=message.bits_rep,
            bits_def=message.bits_def,
            value_bits=message.bits_per_value if details == "bits_per_value" else None,
            length_bits=message.bits_per_offset if details == "bits_per_offset" else None,
            num_entries=message.num_items,
            num_values=message.num_visible_items,
        )
        return bind_zipped(form, scope)

    def score(self, page: spi.encoders.PageContent, scope: EncodeScope) -> float | None:
        """Return the bytes of the values with a penalty; None if they cannot be encoded one by one."""
        if scope.file_version >= "2.3":
            return None
        if page.values is None or page.num_values == 0 or page.is_blob or page.items is not None:
            return None
        # Codecs of strings are not tried if chunks of indices are better anyway. Few values are tried soon.
        is_costly = page.values.num_values > _FEW_VALUES and isinstance(page.values.shape, VariableWidth)
        if not is_costly or pages.automatic_dictionary(page, scope) is None:
            values = pages.zippable(page.values)
            if scope.for_values().estimate_child(values, DecodeContext.PER_VALUE) is None:
                return None
        num_bytes = scope.summary(page.values).raw_bytes * _SMALL_VALUES_PENALTY + 1
        if scope.options.layout is None and _is_misread(page):
            # Even if the field's metadata prefers this layout.
            return num_bytes * _MISREAD_PENALTY
        return scope.options.layout_cost("full_zip", num_bytes)

    def native_pages(self, leaf: spi.LeafType, scope: EncodeScope) -> object | None:
        """Return the C side of `score`; pages that it wins are written in Python."""
        if scope.file_version >= "2.3":
            return native_codecs.no_pages_encoder()
        is_plain = isinstance(leaf.shape, FixedWidth | VariableWidth)
        return native_codecs.zipped_pages_encoder(_SMALL_VALUES_PENALTY) if is_plain else None

    def encode(self, page: spi.encoders.PageContent, scope: EncodeScope) -> spi.encoders.EncodedPage:
        """Write entries.

        Raises
        ------
        UnsupportedError
            A page without values, or with a dictionary.
        """
        if page.values is None or page.items is not None:
            raise UnsupportedError("zipped entries need values, and no dictionary")
        parts = pages.write_zipped(page.values, page.levels, scope)
        message = FullZipLayout(
            bits_rep=parts.bits_rep,
            bits_def=parts.bits_def,
            bits_per_value=parts.value_bits,
            bits_per_offset=parts.length_bits,
            num_items=parts.num_entries,
            num_visible_items=parts.num_values,
            value_compression=parts.values,
            layers=page.levels.layers,
        )
        return spi.encoders.EncodedPage(PageLayout(full_zip_layout=message), parts.buffers)


def _is_misread(page: spi.encoders.PageContent) -> bool:
    """Return whether some release of the reference misreads the zipped page, or aborts; 4.0.0 misreads booleans."""
    return pages.lacks_structs(page) or page.leaf.shape == _BIT or _has_misread_lists(page.levels)


def _has_misread_lists(levels: Levels) -> bool:
    """Return whether releases 4.0.0 to 12.0.0 of the reference would look for values of null or empty lists.

    They count all levels of items as visible, not only those below the inner-most list.
    """
    if levels.def_ is None:
        return False
    visible = levels.max_visible_def
    taken = sum(kind.num_def_levels for kind in levels.layers if not kind.is_list)
    if taken == visible:
        return False
    return bool(((levels.def_ > visible) & (levels.def_ <= taken)).any())


@hookimpl
def lance_provide_layouts() -> list[FullZip]:
    return [FullZip()]
