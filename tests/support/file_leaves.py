"""The leaves of a schema as a file numbers them, and pages of their rows read back without encodings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.arrow_arrays import DecodedLeaf, build_array
from lance_arrow.arrays.column_destination import Allocator, decode_values
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, column_tree
from lance_arrow.arrays.dictionaries import decode_dictionary
from lance_arrow.arrays.unravel import unravel
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.schema import arrow_schema, column_mapping, fields_from_arrow
from lance_arrow.settings import Limits
from lance_arrow.spi import Bitmap, BlockSlice, FixedSizeList, PackedStruct, VariableWidth
from lance_arrow.spi.encoders import PageContent
from lance_arrow.spi.layouts import DictionaryItems


def file_column(field: pa.Field) -> ColumnNode:
    """The tree of one column, with the types that a file gives it."""
    fields = fields_from_arrow(pa.schema([field]))
    (root,) = column_tree(arrow_schema(fields), column_mapping(fields, FileVersion.V2_2))
    return root


def file_leaves(type_: pa.DataType, metadata: dict[str, str] | None = None) -> list[LeafNode]:
    """Leaves of a column ``c`` of a type."""
    return list(file_column(pa.field("c", type_, metadata=metadata)).leaves())


class _Page:
    """Content of a page as a reader's loaded page: its block is copied to where it shall be decoded."""

    def __init__(self, page: PageContent) -> None:
        self.levels = page.levels
        self._block = page.values
        self.num_values = page.num_values
        self.shape = None if page.values is None else page.values.shape
        self.num_bytes = _bytes(page.values)
        self.dictionary: DictionaryItems | None = None
        if page.items is not None:
            items = _Page(PageContent(0, page.levels, page.items, page.leaf, 0))
            items.num_items = page.items.num_values  # type: ignore[attr-defined]
            self.dictionary = items  # type: ignore[assignment]

    def decode(self, out: BlockSlice) -> None:
        _copy(self._block, out)


def _bytes(block: BlockSlice | None) -> int | tuple[int, ...]:
    if block is None:
        return 0
    if isinstance(block.shape, PackedStruct):
        return tuple(_bytes(field) for field in block.fields)
    return len(block.values) if isinstance(block.shape, VariableWidth) else 0


def _copy(block: BlockSlice, out: BlockSlice) -> None:
    assert (block.shape, block.num_values) == (out.shape, out.num_values)
    for mine, theirs in zip(block.fields, out.fields, strict=True):
        _copy(mine, theirs)
    for mine, theirs in zip(block.validity, out.validity, strict=True):
        _copy_bits(mine, theirs)
    if isinstance(block.shape, PackedStruct):
        return
    if isinstance(block.shape, VariableWidth):
        dtype = f"i{block.shape.offset_bits // 8}"
        given, wanted = block.offsets.view(dtype), out.offsets.view(dtype)
        assert given[0] == 0
        assert given[-1] == len(block.values)
        wanted[:] = given + wanted[0]
    leaf = block.shape.leaf if isinstance(block.shape, FixedSizeList) else block.shape
    if not isinstance(leaf, VariableWidth) and leaf.bits == 1:
        per_value = block.shape.items_per_value if isinstance(block.shape, FixedSizeList) else 1
        count = block.num_values * per_value
        assert len(block.values) == (block.bit_offset + count + 7) // 8
        _copy_bits(Bitmap(block.values, block.bit_offset, count), Bitmap(out.values, out.bit_offset, count))
        return
    out.values[:] = block.values


def _copy_bits(source: Bitmap, out: Bitmap) -> None:
    bits = np.unpackbits(source.values, bitorder="little")[source.bit_offset :][: source.num_bits]
    whole = np.unpackbits(out.values, bitorder="little")
    whole[out.bit_offset : out.bit_offset + out.num_bits] = bits
    out.values[:] = np.packbits(whole, bitorder="little")


def rebuilt(root: ColumnNode, pages: Sequence[Sequence[PageContent]]) -> pa.Array:
    """The rows of one column from the pages of each of its leaves."""
    allocator = Allocator(Limits())
    decoded = {}
    for leaf, contents in zip(root.leaves(), pages, strict=True):
        loaded = [_Page(page) for page in contents]
        structure = unravel([page.levels for page in loaded], leaf.offset_bits, leaf.dimensions, allocator)
        if leaf.leaf.items is not None:
            values = decode_dictionary(loaded, leaf, structure[0], allocator)
        else:
            values = decode_values(loaded, leaf.leaf.shape, allocator)
        decoded[leaf.column] = DecodedLeaf(values, structure)
    return build_array(root, decoded)
