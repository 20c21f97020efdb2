"""Automatic dictionaries: distinct values once, and an index for each value, if that is smaller.

Source: the reference's policy, spec 10 point 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import PluginContractError, UnsupportedError
from lance_arrow.kernels.native_codecs import best_blocks_encoder, best_chunks_encoder
from lance_arrow.pages.level_writing import visible_levels
from lance_arrow.pages.picked_values import values_at
from lance_arrow.spi.blocks import BlockSlice, FixedWidth, VariableWidth
from lance_arrow.spi.encoding import EncodedBlock, PageContent
from lance_arrow.spi.keys import COMPRESSIVE, DecodeContext, EncodingKey
from lance_arrow.spi.leaf_type import LeafType
from lance_arrow.spi.scopes import EncodeScope

_FEWEST_VALUES = 100
_MOST_ITEMS = 100_000
_DIVISOR = 2
_FEW_VALUES = 8192
_SIZE_RATIO = 0.8
_PACKED_RATIO = 0.75
"""Largest ratio of the bits of an index to those of a bit-packed value: values take longer to read by indices."""
_INDEX = FixedWidth(32)
_NAME = "dictionary"
# A dictionary does not help, since items are distinct. Release 14.0.2 rejects the others where items must have bytes.
_NOT_FOR_ITEMS = frozenset(EncodingKey(COMPRESSIVE, name) for name in (_NAME, "constant", "range", "delta"))


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Items in order of first appearance, and an index for each value; null slots have index 0."""

    indices: BlockSlice
    items: BlockSlice


def automatic_dictionary(page: PageContent, scope: EncodeScope) -> Dictionary | None:
    """Return the dictionary of a page if it saves bytes, or if the caller named this codec; made once per page.

    Raises
    ------
    UnsupportedError
        The caller named it, and the values are bits, lists or structs.
    """
    if page.values is None or page.items is not None or page.is_blob or not _is_candidate(page.values, scope):
        return None
    return scope.summary(page.values).remember(_NAME, lambda: _make(page, scope))


def _is_candidate(values: BlockSlice, scope: EncodeScope) -> bool:
    """Return whether there are enough values, with a width for which the reference makes dictionaries."""
    is_named = scope.options.codec == _NAME
    if not is_named and (values.num_values < _FEWEST_VALUES or scope.options.codec is not None):
        return False
    if isinstance(values.shape, VariableWidth):
        return True
    if is_named:
        if not isinstance(values.shape, FixedWidth) or values.shape.bits < 8:
            raise UnsupportedError(f"dictionaries hold byte strings or values of whole bytes, not {values.shape}")
        return True
    return isinstance(values.shape, FixedWidth) and values.shape.bits in _widths(scope)


def native_dictionary_rules(leaf: LeafType, scope: EncodeScope) -> dict[str, Any]:
    """Return when a dictionary may be made, as `kernels.native_codecs.chunk_pages_encoder` takes it."""
    options = scope.options
    is_variable = isinstance(leaf.shape, VariableWidth)
    indices = items = None
    if isinstance(leaf.shape, VariableWidth):
        of_indices = scope_of_indices(scope).native_encoders(_INDEX, DecodeContext.MINI_BLOCK)
        of_items = _scope_of_items(scope).native_encoders(leaf.shape, DecodeContext.BLOCK, without=_NOT_FOR_ITEMS)
        if of_indices is not None and of_items is not None:
            indices, items = best_chunks_encoder(of_indices), best_blocks_encoder(of_items)
    return {
        "indices": indices,
        "items": items,
        "compresses_strings": options.compression is not None or options.preset == "compact",
        "dictionary_bits": (0,) if is_variable else _widths(scope),
        "dictionary_values": _FEWEST_VALUES,
        "dictionary_divisor": options.dict_divisor or _DIVISOR,
        "packed_ratio": _PACKED_RATIO if options.preset == "default" else 0.0,
        "dictionary_ratio": _SIZE_RATIO if options.dict_size_ratio is None else options.dict_size_ratio,
        "compresses_indices": options.compression in ("lz4", "zstd") or options.preset == "compact",
    }


def _widths(scope: EncodeScope) -> tuple[int, ...]:
    """Return the bits of fixed-width values for which the reference makes dictionaries."""
    return (128,) if scope.file_version == "2.1" else (64, 128)


def _make(page: PageContent, scope: EncodeScope) -> Dictionary | None:
    values = page.values
    assert values is not None
    options, summary = scope.options, scope.summary(values)
    if options.codec == _NAME:
        found = _numbered(page, values, values.num_values)
        return None if found is None else _dictionary(values, *found)
    most_items = min(values.num_values // (options.dict_divisor or _DIVISOR), _MOST_ITEMS)
    # Counting few values takes less time than estimating them; too many distinct ones rule a dictionary out.
    found = _numbered(page, values, most_items) if values.num_values <= _FEW_VALUES else None
    if found is None and values.num_values <= _FEW_VALUES:
        return None
    ratio = _SIZE_RATIO if options.dict_size_ratio is None else options.dict_size_ratio
    most_bytes = ratio * summary.raw_bytes
    if isinstance(values.shape, VariableWidth):
        found = found or _numbered(page, values, most_items)
        if found is None:
            return None
        made = _dictionary(values, *found)
        num_bytes = _num_bytes(made, scope)
        offsets_bytes = values.num_values * values.shape.offset_bits // 8
        if num_bytes < min(most_bytes, offsets_bytes) and options.compression is None and options.preset != "compact":
            # Without compression around them, chunks of strings have their offsets: other codecs are not tried.
            return made
        return made if num_bytes < min(most_bytes, _plain_bytes(values, scope)) else None
    most_bytes = min(most_bytes, _plain_bytes(values, scope))
    is_packed = summary.integers is not None
    if is_packed and most_bytes < summary.raw_bytes / 4 and not _compresses_indices(values, scope):
        # Bit-packed values are small too: indices must be much smaller. Counting ends with the first item too many.
        most_items = min(most_items, _items_worth_indices(most_bytes, values.num_values, options.preset))
    if found is None and most_items > 0:
        found = _numbered(page, values, most_items)
    if found is None or len(found[1]) > most_items:
        return None
    made = _dictionary(values, *found)
    return made if _num_bytes(made, scope) < most_bytes else None


def _items_worth_indices(packed_bytes: float, num_values: int, preset: str) -> int:
    """Return how many items may have indices that take much less than the packed values; 0: none."""
    bits = math.ceil(_PACKED_RATIO * 8 * packed_bytes / num_values) - 1
    return 1 << bits if bits > 0 and preset == "default" else 0


def _plain_bytes(values: BlockSlice, scope: EncodeScope) -> float:
    """Estimate the bytes without a dictionary."""
    plain = scope.for_values().estimate_child(values, DecodeContext.MINI_BLOCK)
    return float(scope.summary(values).raw_bytes) if plain is None else plain


def _compresses_indices(values: BlockSlice, scope: EncodeScope) -> bool:
    """Return whether indices become smaller than bit-packed: by runs, which take half the width, or by compression."""
    options, num_runs = scope.options, scope.summary(values).num_runs
    if options.compression in ("lz4", "zstd") or options.preset == "compact":
        return True
    return num_runs is not None and num_runs * 4 < values.num_values


def _num_bytes(made: Dictionary, scope: EncodeScope) -> float:
    """Estimate the bytes of indices and items, each with its encoding."""
    indices = scope_of_indices(scope).estimate_child(made.indices, DecodeContext.MINI_BLOCK)
    items = float(scope.summary(made.items).raw_bytes)
    if scope.file_version != "2.1":
        compressed = _scope_of_items(scope).estimate_child(made.items, DecodeContext.BLOCK, without=_NOT_FOR_ITEMS)
        items = items if compressed is None else min(items, compressed)
    return items + (float(len(made.indices.values)) if indices is None else indices)


def scope_of_indices(scope: EncodeScope) -> EncodeScope:
    """Return the scope for encoding indices: with compression if the column's options require it."""
    options = scope.options
    asked = options.compression if options.compression in ("lz4", "zstd") else None
    return scope.for_parts(compression=asked, compression_level=None if asked is None else options.compression_level)


def _scope_of_items(scope: EncodeScope) -> EncodeScope:
    options = scope.options
    return scope.for_parts(
        compression=options.dict_values_compression or "lz4",
        compression_level=options.dict_values_compression_level,
    )


def _dictionary(values: BlockSlice, indices: NDArray[np.uint32], firsts: NDArray[np.int64]) -> Dictionary:
    stored = BlockSlice(_INDEX, values.num_values, indices.view(np.uint8), present=values.present)
    return Dictionary(stored, values_at(values, firsts))


def _numbered(
    page: PageContent, values: BlockSlice, most_items: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64]] | None:
    """Return the indices, and the first position of each item; None if there are more than `most_items`."""
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
    """Encode dictionary items as one block: plain in 2.1, later with LZ4 unless the options name a codec.

    Raises
    ------
    UnsupportedError
        No installed codec can hold them.
    """
    if scope.file_version == "2.1":
        name = "variable" if isinstance(items.shape, VariableWidth) else "flat"
        encoded = scope.for_parts().encode_with(EncodingKey(COMPRESSIVE, name), items, DecodeContext.BLOCK)
    else:
        encoded = _scope_of_items(scope).encode_child(items, DecodeContext.BLOCK, without=_NOT_FOR_ITEMS)
    if not isinstance(encoded, EncodedBlock):
        raise PluginContractError(f"a codec encoder returned {type(encoded).__name__}, expected a block")
    return encoded
