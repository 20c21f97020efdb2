"""Automatic dictionaries: distinct values once, and an index for each value, where that is smaller.

Source: the reference's policy, spec 10 point 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lance_arrow import kernels
from lance_arrow.errors import PluginContractError
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, VariableWidth
from lance_arrow.spi.encoding import EncodedBlock, PageContent
from lance_arrow.spi.keys import COMPRESSIVE, DecodeContext, EncodingKey
from lance_arrow.spi.pages.open_chunks import visible_levels
from lance_arrow.spi.pages.picked_values import values_at
from lance_arrow.spi.scopes import EncodeScope

_FEWEST_VALUES = 100
_MOST_ITEMS = 100_000
_DIVISOR = 2
_SIZE_RATIO = 0.8
_INDEX = FixedWidth(32)
_NAME = "dictionary"
# Items are distinct: a dictionary of them is none. The others 14.0.2 refuses where values are expected to have bytes.
_NOT_FOR_ITEMS = frozenset(EncodingKey(COMPRESSIVE, name) for name in (_NAME, "constant", "range", "delta"))


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Items in order of first appearance, and for each value the index of its own; null slots have index 0."""

    indices: BlockSlice
    items: BlockSlice


def automatic_dictionary(page: PageContent, scope: EncodeScope) -> Dictionary | None:
    """Return the dictionary of a page where one is worth it; made once per page."""
    if page.values is None or page.items is not None or page.is_blob or not _may_have(page.values, scope):
        return None
    return scope.summary(page.values).remember(_NAME, lambda: _make(page, scope))


def _may_have(values: BlockSlice, scope: EncodeScope) -> bool:
    """Whether the values are many enough, and of a width that the reference makes dictionaries of."""
    if values.num_values < _FEWEST_VALUES or scope.options.codec is not None:
        return False
    if isinstance(values.shape, VariableWidth):
        return True
    widths = (128,) if scope.file_version == "2.1" else (64, 128)
    return isinstance(values.shape, FixedWidth) and values.shape.bits in widths


def _make(page: PageContent, scope: EncodeScope) -> Dictionary | None:
    values = page.values
    assert values is not None
    options, summary = scope.options, scope.summary(values)
    ratio = _SIZE_RATIO if options.dict_size_ratio is None else options.dict_size_ratio
    plain = scope.for_values().estimate_child(values, DecodeContext.MINI_BLOCK)
    if plain is None:
        plain = float(summary.raw_bytes)
    most_bytes = min(ratio * summary.raw_bytes, plain)
    if isinstance(values.shape, FixedWidth) and most_bytes < values.num_values * values.shape.bytes_per_value / 4:
        # Bits or runs of the values themselves are nearly as small as indices, and need no items.
        return None
    most_items = min(values.num_values // (options.dict_divisor or _DIVISOR), _MOST_ITEMS)
    found = _numbered(page, values, most_items)
    if found is None:
        return None
    indices, firsts = found
    items = values_at(values, firsts)
    index_bytes = values.num_values * max(1, (len(firsts) - 1).bit_length()) / 8
    if index_bytes + scope.summary(items).raw_bytes >= most_bytes:
        return None
    return Dictionary(BlockSlice(_INDEX, values.num_values, indices.view(np.uint8)), items)


def _numbered(
    page: PageContent, values: BlockSlice, most_items: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.uint32]], np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    """Indices, and where each item first appears; None where there are more than `most_items`."""
    nulls = visible_levels(page.levels) if page.levels.def_ is not None else None
    indices = np.empty(values.num_values, np.uint32)
    firsts = np.empty(most_items, np.int64)
    data = np.ascontiguousarray(values.values)
    if isinstance(values.shape, VariableWidth):
        offsets = np.ascontiguousarray(values.offsets)
        num_items = kernels.index_variable(offsets, values.shape.offset_bits, data, nulls, indices, firsts)
    else:
        assert isinstance(values.shape, FixedWidth)
        num_items = kernels.index_fixed(data, values.shape.bytes_per_value, nulls, indices, firsts)
    return None if not num_items else (indices, firsts[:num_items])


def encode_items(items: BlockSlice, scope: EncodeScope) -> EncodedBlock:
    """Encode the items of a dictionary as one block: plain in 2.1, then compressed by LZ4 if nothing else is asked.

    Raises
    ------
    UnsupportedError
        No installed codec can hold them.
    """
    options = scope.options
    if scope.file_version == "2.1":
        name = "variable" if isinstance(items.shape, VariableWidth) else "flat"
        encoded = scope.for_parts().encode_with(EncodingKey(COMPRESSIVE, name), items, DecodeContext.BLOCK)
    else:
        inner = scope.for_parts(
            compression=options.dict_values_compression or "lz4",
            compression_level=options.dict_values_compression_level,
        )
        encoded = inner.encode_child(items, DecodeContext.BLOCK, without=_NOT_FOR_ITEMS)
    if not isinstance(encoded, EncodedBlock):
        raise PluginContractError(f"a block was wanted, a codec encoder returned {type(encoded).__name__}")
    return encoded
