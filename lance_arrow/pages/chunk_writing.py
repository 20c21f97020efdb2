"""Writing pages of chunks: rules for the value codec, then levels, values, words and index put together.

The mirror of `chunked` and `open_chunks`: what comes out are buffers and the descriptions of their codecs, for whatever
message a layout puts them into.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.errors import PluginContractError, UnsupportedError
from lance_arrow.pages.dictionary_writing import Dictionary, encode_items, scope_of_indices
from lance_arrow.pages.level_writing import CutLevels, chunk_values, cut_levels, max_chunk_entries
from lance_arrow.spi.blocks import BlockSlice, Bytes, Levels, VariableWidth
from lance_arrow.spi.encoding import ChunkRules, EncodedBlock, EncodedChunks, PageContent
from lance_arrow.spi.keys import DecodeContext
from lance_arrow.spi.scopes import EncodeScope

_MAX_SMALL_CHUNK = 32 << 10
"""Bytes that a 16-bit chunk word can tell."""
_FIXED_RULES = ChunkRules(max_bytes=8186, max_values=4096, target_bytes=4096)
"""What the reference allows. Source: spec 10, chunk sizing."""
_VARIABLE_RULES = ChunkRules(max_bytes=16 << 20, max_values=4096, target_bytes=4096)
_SMALL_VARIABLE_RULES = ChunkRules(max_bytes=16 << 10, max_values=4096, target_bytes=4096)
_COMPACT_FIXED_RULES = ChunkRules(max_bytes=256 << 10, max_values=32768, target_bytes=128 << 10)
_COMPACT_VARIABLE_RULES = ChunkRules(max_bytes=16 << 20, max_values=32768, target_bytes=128 << 10)
_HEADER_BYTES = 16
_FEWEST_VALUES = 32
"""Chunks of fewer values, because entries without one are in the way, cost more than they are worth."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkedParts:
    """A page of chunks as written; messages are ``CompressiveEncoding``, None where absent.

    Parameters
    ----------
    values, rep, def_, items
        Of values (or indices), levels and dictionary items.
    num_items
        Items of the dictionary.
    num_buffers
        Value buffers per chunk.
    buffers
        Chunk table, chunks, then dictionary and repetition index where they exist.
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
        """1 where there is a repetition index."""
        return int(self.rep is not None)


def rules_for_chunks(
    levels: Levels, values: BlockSlice, scope: EncodeScope, *, least: int = _FEWEST_VALUES
) -> ChunkRules | None:
    """Return what chunks of a page may be, so that chunk words and headers can tell their sizes.

    Parameters
    ----------
    levels
        What goes into the chunks; without streams where structure is kept elsewhere.
    values
        The values, or the indices into a dictionary.
    least
        Fewest values that a chunk may be cut down to.

    Returns
    -------
    ChunkRules or None
        None where too many entries without a value lie between the values.
    """
    is_large = scope.file_version >= "2.2"
    rules = _rules(isinstance(values.shape, VariableWidth), is_large, scope)
    # What a small chunk's values leave of it is shared by the level streams.
    room = 2 * _MAX_SMALL_CHUNK * 64 if is_large else _MAX_SMALL_CHUNK - _HEADER_BYTES - (rules.max_bytes + 7) // 8 * 8
    most = chunk_values(levels, values.num_values, rules.max_values, max_chunk_entries(levels, room // 2))
    if most is None or most < min(least, rules.max_values):
        return None
    return replace(rules, max_values=most)


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


def write_chunked(
    page: PageContent, levels: Levels, rules: ChunkRules, scope: EncodeScope, dictionary: Dictionary | None = None
) -> ChunkedParts:
    """Encode a page as chunks.

    Parameters
    ----------
    page
        With at least one value.
    levels
        What goes into the chunks: the page's, or none where structure is kept elsewhere.
    rules
        As `rules_for_chunks` says.
    dictionary
        Indices and items that stand for the values.

    Raises
    ------
    UnsupportedError
        No codec can hold values or items, or a chunk is larger than its word can say.
    """
    values, items = page.values, page.items
    inner = scope.for_values()
    if dictionary is not None:
        values, items = dictionary.indices, dictionary.items
        inner = scope_of_indices(scope)
    if values is None or values.num_values == 0:
        raise UnsupportedError("a page without values has no chunks")
    large = scope.file_version >= "2.2"
    encoded, cut = _cut_to_size(levels, values, rules, inner, large)
    buffers = list(_assembled(encoded, cut, large))
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
) -> tuple[EncodedChunks, CutLevels]:
    """Encode values and levels of chunks that words and headers can tell the sizes of.

    Rules promise that where levels are packed to their bits; should no installed codec do so, smaller chunks may fit.
    """
    while True:
        encoded = scope.with_rules(rules).encode_child(values, DecodeContext.MINI_BLOCK)
        if not isinstance(encoded, EncodedChunks):
            raise PluginContractError(f"chunks were wanted, a codec encoder returned {type(encoded).__name__}")
        counts = encoded.value_counts
        if int(counts.sum()) != values.num_values or int(counts.max()) > rules.max_values:
            raise PluginContractError(
                f"a codec encoder cut {values.num_values} values into chunks that break the rules"
            )
        cut = cut_levels(levels, counts, scope)
        if cut.fits and (large or int(_chunk_bytes(encoded, cut, large).max()) <= _MAX_SMALL_CHUNK):
            return encoded, cut
        if rules.max_values <= 2:
            raise UnsupportedError("two values and the levels around them are more than a chunk can hold")
        rules = replace(rules, max_values=rules.max_values // 2)


def _assembled(encoded: EncodedChunks, cut: CutLevels, large: bool) -> tuple[Bytes, Bytes]:
    """Chunk table and chunks."""
    num_chunks = len(encoded.value_counts)
    words = np.empty(num_chunks * (4 if large else 2), np.uint8)
    data = np.empty(int(_chunk_bytes(encoded, cut, large).sum()), np.uint8)
    kernels.write_chunks(
        cut.num_levels,
        tuple(np.ascontiguousarray(one.buffer) for one in cut.streams),
        tuple(one.sizes for one in cut.streams),
        tuple(np.ascontiguousarray(one) for one in encoded.buffers),
        np.ascontiguousarray(encoded.sizes).reshape(len(encoded.buffers), num_chunks),
        encoded.value_counts,
        large,
        words,
        data,
    )
    return words, data


def _chunk_bytes(encoded: EncodedChunks, cut: CutLevels, large: bool) -> NDArray[np.int64]:
    """Bytes of each chunk, ``(num_chunks,)``."""
    header = 2 + 2 * len(cut.streams) + (4 if large else 2) * len(encoded.buffers)
    sizes = np.full(len(encoded.value_counts), (header + 7) & ~7, np.int64)
    for part in (*encoded.sizes, *(stream.sizes for stream in cut.streams)):
        sizes += (part + 7) & ~7
    return sizes
