"""Write pages of chunks: rules for the value codec, then levels, values, chunk words and index.

The counterpart of `chunked`. It returns buffers and the descriptions of their codecs, for the message
of any layout.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import PluginContractError, UnsupportedError
from lance_arrow.kernels.native_codecs import chunk_pages_encoder
from lance_arrow.pages.dictionary_writing import (
    Dictionary,
    encode_items,
    native_dictionary_rules,
    scope_of_indices,
)
from lance_arrow.pages.level_writing import CutLevels, chunk_values, cut_levels, max_chunk_entries
from lance_arrow.pages.value_policy import zipped_from_bytes
from lance_arrow.spi.blocks import BlockSlice, Bytes, FixedWidth, Levels, VariableWidth
from lance_arrow.spi.encoding import ChunkRules, EncodedBlock, EncodedChunks, PageContent
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.leaf_type import LeafType
from lance_arrow.spi.scopes import EncodeScope

_MAX_SMALL_CHUNK = 32 << 10
"""Largest number of bytes in a 16-bit chunk word."""
_FIXED_RULES = ChunkRules(max_bytes=8186, max_values=4096, target_bytes=4096)
"""Largest sizes of the reference. Source: spec 10, chunk sizing."""
_VARIABLE_RULES = ChunkRules(max_bytes=16 << 20, max_values=4096, target_bytes=4096)
_SMALL_VARIABLE_RULES = ChunkRules(max_bytes=16 << 10, max_values=4096, target_bytes=4096)
_COMPACT_FIXED_RULES = ChunkRules(max_bytes=256 << 10, max_values=32768, target_bytes=128 << 10)
_COMPACT_VARIABLE_RULES = ChunkRules(max_bytes=16 << 20, max_values=32768, target_bytes=128 << 10)
_HEADER_BYTES = 16
_FEWEST_VALUES = 32
"""Chunks of fewer values are not written: entries without a value would cost more than chunks save."""


class ChunkedParts(NamedTuple):
    """A written page of chunks; messages are ``CompressiveEncoding``, None if absent.

    Parameters
    ----------
    values, rep, def_, items
        Codecs of values (or indices), levels and dictionary items.
    num_items
        Items of the dictionary.
    num_buffers
        Value buffers per chunk.
    buffers
        Chunk table, chunks, then dictionary and repetition index if they exist.
    """

    values: Message
    rep: Message | None
    def_: Message | None
    items: Message | None
    num_items: int
    num_buffers: int
    buffers: tuple[Bytes, ...]

    @property
    def index_depth(self) -> int:
        """1 if there is a repetition index, else 0."""
        return int(self.rep is not None)


def rules_for_chunks(
    levels: Levels, values: BlockSlice, scope: EncodeScope, *, least: int = _FEWEST_VALUES
) -> ChunkRules | None:
    """Return the rules for chunks of a page, so that their sizes fit chunk words and headers.

    Parameters
    ----------
    levels
        Levels of the chunks; without streams if structure is stored elsewhere.
    values
        The values, or the indices into a dictionary.
    least
        Smallest number of values of a chunk.

    Returns
    -------
    ChunkRules or None
        None if too many entries without a value lie between the values.
    """
    is_large = scope.file_version >= "2.2"
    rules = _rules(isinstance(values.shape, VariableWidth), is_large, scope)
    if levels.rep is None:
        return rules
    # The level streams share the bytes that the values of a small chunk leave free.
    room = 2 * _MAX_SMALL_CHUNK * 64 if is_large else _MAX_SMALL_CHUNK - _HEADER_BYTES - (rules.max_bytes + 7) // 8 * 8
    most = chunk_values(levels, values.num_values, rules.max_values, max_chunk_entries(levels, room // 2))
    if most is None or most < min(least, rules.max_values):
        return None
    return rules if most == rules.max_values else replace(rules, max_values=most)


def _rules(is_variable: bool, is_large: bool, scope: EncodeScope) -> ChunkRules:
    options = scope.options
    if is_large and options.preset == "compact":
        return _COMPACT_VARIABLE_RULES if is_variable else _COMPACT_FIXED_RULES
    if not is_variable:
        return _FIXED_RULES
    rules = _VARIABLE_RULES if is_large else _SMALL_VARIABLE_RULES
    wanted = options.minichunk_bytes
    if wanted is None or (not is_large and wanted >= _MAX_SMALL_CHUNK):
        return rules
    return replace(rules, target_bytes=min(wanted, rules.max_bytes))


def native_chunk_pages(leaf: LeafType, scope: EncodeScope) -> object | None:
    """Return the capsule that writes chunks of values natively, for `native_pages`; None for nested shapes."""
    if not isinstance(leaf.shape, FixedWidth | VariableWidth):
        return None
    is_large = scope.file_version >= "2.2"
    index_rules = _rules(False, is_large, scope)
    rules = _rules(True, is_large, scope) if isinstance(leaf.shape, VariableWidth) else index_rules
    return chunk_pages_encoder(
        _numbers(rules),
        large=is_large,
        zipped_from_bytes=zipped_from_bytes(scope),
        estimate_rules=_numbers(scope.chunk_rules),
        index_rules=_numbers(index_rules),
        **native_dictionary_rules(leaf, scope),
    )


def _numbers(rules: ChunkRules) -> tuple[int, int, int]:
    return rules.max_bytes, rules.max_values, rules.target_bytes


def write_chunked(
    page: PageContent, levels: Levels, rules: ChunkRules, scope: EncodeScope, dictionary: Dictionary | None = None
) -> ChunkedParts:
    """Encode a page as chunks.

    Parameters
    ----------
    page
        With at least one value.
    levels
        Levels of the chunks: those of the page, or none if structure is stored elsewhere.
    rules
        From `rules_for_chunks`.
    dictionary
        Indices and items that replace the values.

    Raises
    ------
    UnsupportedError
        No codec can hold values or items, or a chunk is too large for its chunk word.
    """
    values, items = page.values, page.items
    inner = scope.for_values()
    if dictionary is not None:
        values, items = dictionary.indices, dictionary.items
        inner = scope_of_indices(scope)
    if values is None or values.num_values == 0:
        raise UnsupportedError("a page without values has no chunks")
    large = scope.file_version >= "2.2"
    encoded, cut, num_bytes = _cut_to_size(levels, values, rules, inner, large)
    buffers = list(_assembled(encoded, cut, num_bytes, large))
    of_items = None if items is None else encode_items(items, scope)
    if of_items is not None:
        buffers.append(_bytes_of(of_items))
    if cut.index is not None:
        buffers.append(cut.index.view(np.uint8))
    return ChunkedParts(
        values=encoded.description,
        rep=None if cut.rep is None else cut.rep.description,
        def_=None if cut.def_ is None else cut.def_.description,
        items=None if of_items is None else of_items.description,
        num_items=0 if items is None else items.num_values,
        num_buffers=len(encoded.buffers),
        buffers=tuple(buffers),
    )


def _bytes_of(block: EncodedBlock) -> Bytes:
    return np.empty(0, np.uint8) if block.buffer is None else block.buffer


def _cut_to_size(
    levels: Levels, values: BlockSlice, rules: ChunkRules, scope: EncodeScope, large: bool
) -> tuple[EncodedChunks, CutLevels, int]:
    """Encode values and levels in chunks whose sizes fit words and headers; return them and the total bytes.

    The rules ensure that if levels are bit-packed. If no installed codec packs them, smaller chunks may fit.
    """
    while True:
        encoded = scope.with_rules(rules).encode_child(values, DecodeContext.MINI_BLOCK)
        if not isinstance(encoded, EncodedChunks):
            raise PluginContractError(f"a codec encoder returned {type(encoded).__name__}, expected chunks")
        num_bytes, max_bytes, num_values, max_values = _measured(encoded, (), large)
        if num_values != values.num_values or max_values > rules.max_values:
            raise PluginContractError(
                f"a codec encoder cut {values.num_values} values into chunks that break the rules"
            )
        cut = cut_levels(levels, encoded.value_counts, scope)
        if cut.streams:
            num_bytes, max_bytes, _, _ = _measured(encoded, tuple(one.sizes for one in cut.streams), large)
        if cut.fits and (large or max_bytes <= _MAX_SMALL_CHUNK):
            return encoded, cut, num_bytes
        if rules.max_values <= 2:
            raise UnsupportedError("two values with their levels do not fit into one chunk")
        rules = replace(rules, max_values=rules.max_values // 2)


def _assembled(encoded: EncodedChunks, cut: CutLevels, num_bytes: int, large: bool) -> tuple[Bytes, Bytes]:
    """Return the chunk table and the chunks."""
    words = np.empty(len(encoded.value_counts) * (4 if large else 2), np.uint8)
    data = np.empty(num_bytes, np.uint8)
    streams = cut.streams
    kernels.write_chunks(
        cut.num_levels,
        tuple(np.ascontiguousarray(one.buffer) for one in streams),
        tuple(one.sizes for one in streams),
        tuple(np.ascontiguousarray(one) for one in encoded.buffers),
        _value_sizes(encoded),
        encoded.value_counts,
        large,
        words,
        data,
    )
    return words, data


def _value_sizes(encoded: EncodedChunks) -> NDArray[np.int64]:
    """Return the bytes of each value buffer in each chunk; codecs may return slices of larger arrays."""
    return np.ascontiguousarray(encoded.sizes).reshape(len(encoded.buffers), len(encoded.value_counts))


def _measured(
    encoded: EncodedChunks, level_sizes: tuple[NDArray[np.int64], ...], large: bool
) -> tuple[int, int, int, int]:
    """Return the bytes of all chunks and of the largest, and the values of all and of the largest."""
    return kernels.measure_chunks(level_sizes, _value_sizes(encoded), encoded.value_counts, large)
