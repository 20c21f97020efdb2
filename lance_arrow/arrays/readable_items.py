"""`with_readable_items`: marks list items as nullable, for releases of the reference that need uniform pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lance_arrow.pages import common_scalar
from lance_arrow.pages.value_policy import ZIPPED_FROM_BYTES
from lance_arrow.spi import BlockSlice, EncodeOptions, VariableWidth
from lance_arrow.spi.blocks import LayerKind
from lance_arrow.spi.encoding import PageContent


def with_readable_items(page: PageContent, options: EncodeOptions) -> PageContent:
    """Mark nullable list items as such in pages that are probably zipped, even if none is null.

    Releases 4.0.0 to 12.0.0 of the reference fail if only some zipped pages of a column have nullable items. They
    also fail in their own files. The additional definition level costs at most a byte per item, usually nothing.
    """
    levels = page.levels
    if page.values is None or levels.rep is None or levels.layers[0] is not LayerKind.ALL_VALID_ITEM:
        return page
    if "full_zip" not in (options.layout, options.preferred_layout) and _largest(page.values) < ZIPPED_FROM_BYTES:
        return page
    if common_scalar(page) is not None:
        # A page of another kind, which these releases cannot read with additional nullable layers.
        return page
    def_ = np.zeros(levels.num_entries, np.uint16) if levels.def_ is None else levels.def_ + (levels.def_ > 0)
    layers = (LayerKind.NULLABLE_ITEM, *levels.layers[1:])
    return replace(page, levels=replace(levels, layers=layers, def_=def_.astype(np.uint16, copy=False)))


def _largest(values: BlockSlice) -> int:
    """Return the bytes of the largest value; for fixed widths, the width."""
    if not values.num_values:
        return 0
    if isinstance(values.shape, VariableWidth):
        offsets = values.offsets.view(f"<i{values.shape.offset_bits // 8}")
        return int(np.diff(offsets).max(initial=0))
    return len(values.values) // values.num_values
