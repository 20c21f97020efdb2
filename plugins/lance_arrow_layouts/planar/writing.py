"""Writing pages of 2.3: choose structure and values, and join both planes.

Structure is dense by default. It is sparse if levels would be most of the page. Such pages have only nulls, one scalar
with nulls or lists, or too many entries for chunks. It is also sparse if the options require it. Source: spec 11,
writer choice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import PluginContractError, UnsupportedError
from lance_arrow.pages import (
    ChunkedParts,
    ZippedParts,
    automatic_dictionary,
    common_scalar,
    lacks_structs,
    num_valid,
    prefers_chunks,
    rules_for_chunks,
    values_at,
    write_chunked,
    write_zipped,
    zippable,
)
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar
from lance_arrow.spi import (
    COMPRESSIVE,
    BlockSlice,
    Bytes,
    DecodeContext,
    EncodedBlock,
    EncodeScope,
    EncodingKey,
    FixedWidth,
)
from lance_arrow.spi.encoders import EncodedPage, PageContent
from lance_arrow.spi.layouts import LayerKind, Levels, NodeKind
from lance_arrow_layouts.planar.sparse_layers import SparseLayer, sparse_layers

_POSITION = FixedWidth(64)
_PLAIN = (LayerKind.ALL_VALID_ITEM,)
_MAX_SCALAR_BITS = 256
"""The reference does not read larger ones."""
# Release 14.0.2 rejects these in positions and counts, or accepts only children that this project does not write.
_NOT_FOR_NUMBERS = frozenset(EncodingKey(COMPRESSIVE, name) for name in ("rle", "general", "dictionary"))
_NO_POSITIONS = pb.CompressiveEncoding(constant=pb.Constant())


def write_page(page: PageContent, scope: EncodeScope) -> EncodedPage:
    """Lay out a page.

    Raises
    ------
    UnsupportedError
        No combination can hold it.
    """
    can_be_sparse = NodeKind.FIXED_SIZE_LIST not in page.leaf.nodes or len(page.dimensions) == len(page.leaf.nodes)
    if page.values is None or (not num_valid(page.levels) and can_be_sparse):
        return _write_sparse(page, planar.ValuePlane(none=planar.NoValues()), (), scope)
    scalar = _scalar(page) if num_valid(page.levels) else None
    if scalar is not None:
        values = planar.ValuePlane(constant=planar.ConstantValues(scalar=scalar))
        if all(layer is LayerKind.ALL_VALID_ITEM for layer in page.levels.layers):
            return _page(_dense(page.levels), values, ())
        if can_be_sparse:
            return _write_sparse(page, values, (), scope)
    options = scope.options
    if options.layout == "sparse" and not can_be_sparse:
        raise UnsupportedError("a sparse structure of fixed-size lists with unknown dimensions")
    # Other readers cannot read dense levels of fixed-size lists of structs within lists.
    is_sparse = {NodeKind.FIXED_SIZE_LIST, NodeKind.LIST} <= set(page.leaf.nodes)
    if can_be_sparse and (is_sparse or "sparse" in (options.layout, options.preferred_layout)):
        return _sparse_values(page, scope)
    if _wants_chunks(page, scope) and _holds_chunks(page.values, scope):
        dictionary = automatic_dictionary(page, scope)
        stored = page.values if dictionary is None else dictionary.indices
        rules = rules_for_chunks(page.levels, stored, scope)
        if rules is not None:
            parts = write_chunked(page, page.levels, rules, scope, dictionary)
            return _page(_dense(page.levels), _chunked(parts, page.num_values, is_dense=True), parts.buffers)
        if can_be_sparse:
            return _sparse_values(page, scope)
    if page.items is not None or options.layout == "mini_block":
        raise UnsupportedError("chunks cannot hold such values, or too many entries between them")
    zipped = write_zipped(page.values, page.levels, scope)
    return _page(_dense(page.levels), _zipped(zipped, is_dense=True), zipped.buffers)


def _wants_chunks(page: PageContent, scope: EncodeScope) -> bool:
    layout, wish = scope.options.layout, scope.options.preferred_layout
    if layout is not None:
        return layout == "mini_block" or page.items is not None
    if page.items is not None or automatic_dictionary(page, scope) is not None:
        # A dictionary has priority over a preferred layout.
        return True
    if lacks_structs(page):
        return True
    wants = wish == "mini_block" if wish in ("mini_block", "full_zip") else prefers_chunks(page, scope)
    return wants or not _can_be_zipped(page.values, scope)


def can_write(page: PageContent, scope: EncodeScope) -> bool:
    """Return whether some codec can hold the values, in chunks or one by one."""
    if page.values is None or not num_valid(page.levels):
        return True
    is_scalar = _scalar(page) is not None
    if scope.options.layout == "constant" or is_scalar:
        return is_scalar
    return _holds_chunks(page.values, scope) or _can_be_zipped(page.values, scope)


def _holds_chunks(values: BlockSlice, scope: EncodeScope) -> bool:
    return scope.for_values().estimate_child(values, DecodeContext.MINI_BLOCK) is not None


def _can_be_zipped(values: BlockSlice, scope: EncodeScope) -> bool:
    return scope.for_values().estimate_child(zippable(values), DecodeContext.PER_VALUE) is not None


def _scalar(page: PageContent) -> bytes | None:
    """Return the scalar of a page; None for strings, which become dictionaries."""
    if page.values is None or page.items is not None or not isinstance(page.values.shape, FixedWidth):
        return None
    return common_scalar(page) if page.values.shape.bits <= _MAX_SCALAR_BITS else None


def _page(structure: Any, values: Any, buffers: tuple[Bytes, ...]) -> EncodedPage:
    return EncodedPage(planar.PlanarLayout(structure=structure, values=values), buffers)


def _dense(levels: Levels) -> Any:
    return planar.StructuralPlane(dense=planar.DenseStructure(layers=levels.layers))


def _chunked(parts: ChunkedParts, num_values: int, *, is_dense: bool) -> Any:
    message = planar.ChunkedValues(
        value_compression=parts.values,
        dictionary=parts.items,
        num_dictionary_items=parts.num_items,
        num_buffers=parts.num_buffers,
    )
    if is_dense:
        message.num_items = num_values
        levels = planar.ChunkedLevels(
            rep_compression=parts.rep, def_compression=parts.def_, repetition_index_depth=parts.index_depth
        )
        message.levels.CopyFrom(levels)
    return planar.ValuePlane(chunked=message)


def _zipped(parts: ZippedParts, *, is_dense: bool) -> Any:
    message = planar.ZippedValues(
        value_compression=parts.values,
        bits_per_value=parts.value_bits,
        bits_per_offset=parts.length_bits,
        num_items=parts.num_entries,
        num_visible_items=parts.num_values,
    )
    if is_dense:
        message.levels.CopyFrom(planar.ZippedLevels(bits_rep=parts.bits_rep, bits_def=parts.bits_def))
    return planar.ValuePlane(zipped=message)


def _sparse_values(page: PageContent, scope: EncodeScope) -> EncodedPage:
    """Write chunks of every slot, or zipped values of the valid slots."""
    assert page.values is not None
    plain = Levels(_PLAIN, page.num_values)
    prefers = page.items is not None or prefers_chunks(page, scope) or not _can_be_zipped(page.values, scope)
    if prefers and _holds_chunks(page.values, scope):
        dictionary = automatic_dictionary(page, scope)
        rules = rules_for_chunks(plain, page.values if dictionary is None else dictionary.indices, scope)
        if rules is not None:
            parts = write_chunked(page, plain, rules, scope, dictionary)
            return _write_sparse(page, _chunked(parts, page.num_values, is_dense=False), parts.buffers, scope)
    layers = sparse_layers(page.levels, page.leaf.nodes, page.dimensions)
    stored = values_at(zippable(page.values), np.flatnonzero(~layers[-1].is_null))
    zipped = write_zipped(stored, Levels(_PLAIN, stored.num_values), scope)
    return _write_sparse(page, _zipped(zipped, is_dense=False), zipped.buffers, scope)


def _write_sparse(page: PageContent, values: Any, buffers: tuple[Bytes, ...], scope: EncodeScope) -> EncodedPage:
    writer = _StructureWriter(scope)
    layers = [writer.layer(layer) for layer in sparse_layers(page.levels, page.leaf.nodes, page.dimensions)]
    structure = planar.StructuralPlane(sparse=planar.SparseStructure(layers=layers))
    return _page(structure, values, (*buffers, *writer.buffers))


class _StructureWriter:
    """Writes layers, outer-most first, and collects their buffers."""

    def __init__(self, scope: EncodeScope) -> None:
        self._scope = scope.for_parts()
        self.buffers: list[Bytes] = []

    def layer(self, layer: SparseLayer) -> Any:
        if layer.list_slots is not None and layer.counts is not None:
            # In the order of their buffers: positions of lists, numbers of items, nulls.
            message = planar.SparseListLayer(
                num_child_slots=int(layer.counts.sum()),
                non_empty_positions=self._numbers(layer.list_slots),
                num_non_empty_positions=len(layer.list_slots),
                counts=self._numbers(layer.counts),
                validity=self._validity(layer.is_null),
            )
            return planar.SparseLayer(list=message)
        validity = self._validity(layer.is_null)
        if layer.dimension:
            fixed = planar.SparseFslLayer(dimension=layer.dimension, validity=validity)
            return planar.SparseLayer(fixed_size_list=fixed)
        return planar.SparseLayer(validity=validity)

    def _validity(self, is_null: NDArray[np.bool_]) -> Any:
        """Write the null slots or the valid slots, depending on which are fewer."""
        num_null = int(np.count_nonzero(is_null))
        names_nulls = 2 * num_null <= len(is_null)
        positions = np.flatnonzero(is_null if names_nulls else ~is_null)
        meaning = planar.SparseValiditySet.NULL_POSITIONS if names_nulls else planar.SparseValiditySet.VALID_POSITIONS
        return planar.SparseValiditySet(
            meaning=meaning, positions=self._numbers(positions), num_positions=len(positions)
        )

    def _numbers(self, numbers: NDArray[np.int64]) -> Any:
        if not len(numbers):
            return _NO_POSITIONS
        block = BlockSlice(_POSITION, len(numbers), np.ascontiguousarray(numbers, "<i8").view(np.uint8))
        encoded = self._scope.encode_child(block, DecodeContext.BLOCK, without=_NOT_FOR_NUMBERS)
        if not isinstance(encoded, EncodedBlock):
            raise PluginContractError(f"a codec encoder returned {type(encoded).__name__}, expected a block")
        if encoded.buffer is not None:
            self.buffers.append(encoded.buffer)
        return encoded.description
