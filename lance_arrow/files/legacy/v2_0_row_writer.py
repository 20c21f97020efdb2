"""`V20RowWriter`: rows of 2.0 files, in which structs and lists have columns of their own above their items'.

A page of a top-level column is also a page of every column below it. A page of a list holds the ends of its rows; a
page of the column below holds the items of exactly these rows. Items below null lists are left out. Structs cannot be
null.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode, storage_type
from lance_arrow.arrays.list_items import list_items
from lance_arrow.arrays.shred import shred
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.container.schema import LeafColumn
from lance_arrow.errors import UnsupportedError, located
from lance_arrow.files.row_writer import WrittenLeaf
from lance_arrow.files.stored_rows import StoredColumns
from lance_arrow.files.writer_plan import WriterPlan
from lance_arrow.runtime import Runtime
from lance_arrow.spi import BlockSlice, EncodeOptions, EncodingKey, LeafType, VariableWidth
from lance_arrow.spi.arrays import ArrayContent, EncodedArray
from lance_arrow.spi.blocks import Levels
from lance_arrow.spi.encoding import PageContent
from lance_arrow.spi.keys import COLUMN_ENCODING
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.spi.scratch import block_over

_LIST = LeafType(None, (NodeKind.LIST,))
_HEAD = LeafType(None)
_NULL_BLOB, _EMPTY_BLOB = (1, 0), (0, 0)
"""Position and size. Source: spec 2.0, 5."""


@dataclass(slots=True, eq=False)
class _Leaf:
    """A leaf while the file is written, and how it looks alone."""

    of: WrittenLeaf
    alone: LeafNode


@dataclass(slots=True, eq=False)
class _Top:
    """A top-level column: rows that are no page yet."""

    node: ColumnNode
    held: list[pa.Array] = field(default_factory=list)
    held_bytes: int = 0


class V20RowWriter:
    """Writes the rows of one file of version 2.0; parameters and methods are those of `RowWriter`."""

    def __init__(self, file: FileWriter, plan: WriterPlan, runtime: Runtime, page_bytes: int) -> None:
        self._file = file
        self._runtime = runtime
        self._encoder = plan.encoder
        self._page_bytes = page_bytes
        self.num_rows = 0
        self._tops = [_Top(root) for root in plan.tree]
        self._heads: dict[str, int] = {}
        self._struct_rows: dict[str, int] = {}
        self._leaves: dict[int, _Leaf] = {}
        for each in plan.leaves:
            one, leaf = WrittenLeaf.of(each), each.leaf
            alone = replace(
                leaf,
                leaf=leaf.page_leaf,
                offset_bits=(0,),
                dimensions=(0,),
                nullable=leaf.nullable[:1],
                list_columns=(),
            )
            self._leaves[leaf.column] = _Leaf(one, alone)
            self._note_heads(file.form.leaves[leaf.column])

    def _note_heads(self, leaf: LeafColumn) -> None:
        for above in leaf.ancestors:
            if above.header_column is not None:
                self._heads[above.path] = above.header_column

    def write(self, rows: StoredColumns) -> None:
        """Add rows.

        Raises
        ------
        LanceError
            A value cannot be encoded; the column is named. The file cannot be finished any more.
        """
        for top, arrays in zip(self._tops, rows.columns, strict=True):
            for array in arrays:
                self._add(top, array)
        self.num_rows += rows.num_rows

    def hold_at_most(self, num_bytes: int) -> int:
        """Write the largest pages that wait if more than `num_bytes` wait; return the bytes that still do."""
        held_bytes = sum(top.held_bytes for top in self._tops)
        if held_bytes > num_bytes:
            for top in sorted(self._tops, key=lambda top: top.held_bytes, reverse=True):
                if held_bytes <= num_bytes // 2:
                    break
                held_bytes -= top.held_bytes
                self._flush(top)
        return held_bytes

    def finish(self) -> None:
        """Write what is left, and what describes the columns."""
        for top in self._tops:
            self._flush(top)
        for path, num_rows in self._struct_rows.items():
            # The reference reads no more than one page of a struct's column.
            self._add_page(path, ArrayContent(_HEAD, num_rows, None))
        table = self._runtime.table
        values = self._encoder.column(None)
        for column in self._heads.values():
            self._file.set_column(column, values)
        for column, leaf in self._leaves.items():
            description = values
            if leaf.of.leaf.is_blob:
                wrapper = table.column_encoding(EncodingKey(COLUMN_ENCODING, "blob"))
                description = wrapper.describe(values, None)
            self._file.set_column(column, description)
            found = leaf.of.zone_map() if self.num_rows else None
            if found is not None:
                # The reference reads no 2.0 column that says it has a zone map, so the file says it.
                self._file.add_zone_map(column, *found)

    def _add(self, top: _Top, array: pa.Array) -> None:
        """Hold rows until they make a page; large arrays are cut at about so many bytes."""
        rows_per_page = max(1, len(array) * self._page_bytes // max(array.nbytes, 1))
        for start in range(0, len(array), rows_per_page):
            part = array.slice(start, rows_per_page)
            top.held.append(part)
            top.held_bytes += part.nbytes
            if top.held_bytes >= self._page_bytes:
                self._flush(top)

    def _flush(self, top: _Top) -> None:
        if not top.held:
            return
        with located(column=top.node.path):
            self._write_pages(top.node, top.held)
        for leaf in top.node.leaves():
            zones = self._leaves[leaf.column].of.zones
            if zones is not None:
                with located(column=leaf.path):
                    for array in top.held:
                        zones.add(array)
        top.held, top.held_bytes = [], 0

    def _write_pages(self, node: ColumnNode, arrays: Sequence[pa.Array]) -> None:
        """Write a page of a node, and of those below."""
        if isinstance(node, LeafNode):
            self._write_leaf(self._leaves[node.column], arrays)
            return
        plain = [array.storage if isinstance(array, pa.ExtensionArray) else array for array in arrays]
        num_rows = sum(map(len, plain))
        if isinstance(storage_type(node.field.type), pa.StructType):
            if any(array.null_count for array in plain):
                raise UnsupportedError("structs of 2.0 files cannot be null", column=node.path)
            self._struct_rows[node.path] = self._struct_rows.get(node.path, 0) + num_rows
            for number, child in enumerate(node.children):
                self._write_pages(child, [array.field(number) for array in plain])
            return
        items, lengths = zip(*map(list_items, plain), strict=True)
        nulls = np.concatenate([array.is_null().to_numpy(zero_copy_only=False) for array in plain])
        ends = np.cumsum(np.concatenate(lengths), dtype=np.int64)
        content = ArrayContent(_LIST, num_rows, None, nulls if nulls.any() else None, ends=ends)
        self._add_page(node.path, content)
        (child,) = node.children
        self._write_pages(child, items)

    def _add_page(self, path: str, content: ArrayContent) -> None:
        scope = self._encoder.scope(content.leaf, EncodeOptions())
        self._place(self._heads[path], scope.encode_array(content, 0), content.num_values)

    def _write_leaf(self, leaf: _Leaf, arrays: Sequence[pa.Array]) -> None:
        with located(column=leaf.of.leaf.path):
            page = shred(leaf.alone, arrays)
            content = self._content(page)
            if page.is_blob:
                content = self._places_of(page, content)
            encoded = self._encoder.scope(page.leaf, leaf.of.plan.options).encode_array(content, 0)
        leaf.of.num_bytes += sum(len(buffer) for buffer in encoded.buffers)
        self._place(leaf.of.leaf.column, encoded, content.num_values)

    def _content(self, page: PageContent) -> ArrayContent:
        levels = page.levels
        assert isinstance(levels, Levels)
        nulls = None if levels.def_ is None or not levels.def_.any() else levels.def_ != 0
        if page.leaf.shape is None and not page.num_nulls and nulls is None:
            # A column of type null has no values; a struct without fields has no nulls.
            return ArrayContent(page.leaf, page.num_rows, None)
        return ArrayContent(page.leaf, page.num_rows, page.values, nulls, items=page.items)

    def _places_of(self, page: PageContent, content: ArrayContent) -> ArrayContent:
        """Write blobs outside of the page, and return where each is."""
        block = page.values
        assert block is not None
        assert isinstance(block.shape, VariableWidth)
        borders = block.offsets.view(f"<i{block.shape.offset_bits // 8}").astype(np.int64)
        borders -= borders[0]
        places = np.zeros((content.num_values, 2), np.uint64)
        nulls = np.zeros(content.num_values, np.bool_) if content.nulls is None else content.nulls
        for row, (start, stop) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
            if nulls[row]:
                places[row] = _NULL_BLOB
            elif start == stop:
                places[row] = _EMPTY_BLOB
            else:
                places[row] = self._file.place(block.values[start:stop]), stop - start
        return ArrayContent(page.leaf, content.num_values, _struct_block(page.leaf, places))

    def _place(self, column: int, encoded: EncodedArray, num_values: int) -> None:
        # Priorities of 2.0 are all 0.
        self._file.add_page(column, encoded.description, encoded.buffers, length=num_values, priority=0)


def _struct_block(leaf: LeafType, places: np.ndarray) -> BlockSlice:
    """Positions and sizes as a block of packed structs."""
    assert leaf.shape is not None
    block = block_over(np.empty(places.nbytes, np.uint8), leaf.shape, len(places))
    for number, one in enumerate(block.fields):
        one.values[:] = np.ascontiguousarray(places[:, number]).view(np.uint8)
    return block
