"""`RowWriter`: Arrow columns to the pages of an open file; the writing twin of `RowReader`.

    arrays of a column ──► LeafPages: row borders ──► shred: levels and values ──► PageEncoder ──► FileWriter
                                     └──► ZoneBuilder: bounds of runs of rows ──► column buffer

Pages are encoded by several threads and placed in the order in which they became full: same rows, same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.arrays.page_split import LeafPages
from lance_arrow.arrays.readable_items import with_readable_items
from lance_arrow.arrays.shred import shred
from lance_arrow.container.file_writer import FileWriter
from lance_arrow.errors import located
from lance_arrow.runtime import Runtime
from lance_arrow.spi import EncodedPage, EncodeOptions, EncodingKey, PendingPage, ZoneMapPlace
from lance_arrow.statistics.zone_builder import ZoneBuilder
from lance_arrow.statistics.zone_maps import encode_zones
from lance_arrow.statistics.zone_types import DEFAULT_ROWS_PER_ZONE, bounds_type
from lance_arrow.structure.page_encoder import PageEncoder, options_by_path

_JOINED_ROWS = 1 << 17
_JOINED_BYTES = 4 << 20
"""Most rows, and bytes, of short arrays that are joined before they are bounded."""
_COLUMN_ENCODING = "lance.encodings.ColumnEncoding"


@dataclass(slots=True, eq=False)
class _LeafWriter:
    """One leaf while its column is written."""

    leaf: LeafNode
    top: int
    options: EncodeOptions
    pages: LeafPages
    zones: ZoneBuilder | None
    next_row: int = 0
    num_bytes: int = 0


@dataclass(slots=True, eq=False)
class _FullPage:
    """Rows that make a page."""

    of: _LeafWriter
    arrays: Sequence[pa.Array]
    first_row: int
    num_rows: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_rows = sum(map(len, self.arrays))


class RowWriter:
    """Writes the rows of one file.

    Parameters
    ----------
    file
        Where pages go.
    tree
        The file's columns.
    runtime
        Plugins, limits, threads.
    encoder
        Encodes pages.
    base_options
        Options of every column.
    column_options
        A caller's words for columns, by dotted path.
    page_bytes
        Bytes of a leaf, before encoding, that make a page.
    rows_per_zone
        Rows that share an entry of a zone map; 0 for none.
    """

    def __init__(
        self,
        file: FileWriter,
        tree: Sequence[ColumnNode],
        runtime: Runtime,
        encoder: PageEncoder,
        *,
        base_options: EncodeOptions,
        column_options: Mapping[str, Mapping[str, Any]],
        page_bytes: int,
        rows_per_zone: int,
    ) -> None:
        self._file = file
        self._runtime = runtime
        self._encoder = encoder
        self.num_rows = 0
        self._leaves: list[_LeafWriter] = []
        for top, root in enumerate(tree):
            for leaf in root.leaves():
                options = options_by_path(
                    base_options, column_options, leaf.path, (root.field.metadata, leaf.field.metadata)
                )
                wants_zones = rows_per_zone > 0 if options.zone_map is None else options.zone_map
                has_zones = wants_zones and bounds_type(leaf) is not None
                zones = ZoneBuilder(leaf, rows_per_zone or DEFAULT_ROWS_PER_ZONE) if has_zones else None
                self._leaves.append(_LeafWriter(leaf, top, options, LeafPages(leaf, page_bytes), zones))

    def write(self, columns: Sequence[Sequence[pa.Array]], num_rows: int) -> None:
        """Add rows: for each top-level column its arrays, `num_rows` rows in all.

        Raises
        ------
        LanceError
            A value cannot be encoded; the column is named. The file cannot be finished any more.
        """
        full = [
            (leaf, arrays) for leaf in self._leaves for array in columns[leaf.top] for arrays in leaf.pages.add(array)
        ]
        self.num_rows += num_rows
        self._place(full)

    def finish(self) -> None:
        """Write what is left, and what describes the columns."""
        self._place([(leaf, rest) for leaf in self._leaves if (rest := leaf.pages.rest())])
        for leaf in self._leaves:
            self._describe(leaf)

    def _place(self, full: Iterable[tuple[_LeafWriter, Sequence[pa.Array]]]) -> None:
        pages = []
        for leaf, arrays in full:
            page = _FullPage(leaf, arrays, leaf.next_row)
            leaf.next_row += page.num_rows
            pages.append(page)
        by_leaf: dict[int, list[_FullPage]] = {}
        for page in pages:
            by_leaf.setdefault(page.of.leaf.column, []).append(page)
        for page, encoded in zip(pages, self._runtime.ahead(self._encode, pages), strict=True):
            self._add(page, encoded)
        # Encoding has refused what contradicts itself: zones need not.
        for _ in self._runtime.map(_add_to_zones, list(by_leaf.values())):
            pass

    def _encode(self, page: _FullPage) -> EncodedPage | PendingPage:
        with located(column=page.of.leaf.path):
            options = page.of.options
            content = shred(page.of.leaf, page.arrays)
            if page.of.leaf.field.nullable:
                content = with_readable_items(content, options)
            return self._encoder.encode(content, options)

    def _add(self, page: _FullPage, encoded: EncodedPage | PendingPage) -> None:
        if isinstance(encoded, PendingPage):
            places = [self._file.place(one) for one in encoded.outside]
            encoded = encoded.complete(np.array(places, np.int64))
        page.of.num_bytes += encoded.nbytes
        leaf = page.of.leaf
        length = page.num_rows * leaf.lengths_per_row
        self._file.add_page(
            leaf.column,
            encoded.description,
            encoded.buffers,
            length=length,
            priority=page.first_row,
            distribution=encoded.distribution,
        )

    def _describe(self, leaf: _LeafWriter) -> None:
        table = self._runtime.table
        description = table.column_encoding(EncodingKey(_COLUMN_ENCODING, "values")).describe(None, None)
        buffers: tuple[Any, ...] = ()
        if leaf.zones is not None and self.num_rows:
            # Asked for after all pages: what the column takes decides how fine its map is.
            buffers = (np.frombuffer(encode_zones(leaf.zones.finish(leaf.num_bytes)), np.uint8),)
            wrapper = table.column_encoding(EncodingKey(_COLUMN_ENCODING, "zone_index"))
            description = wrapper.describe(description, ZoneMapPlace(leaf.zones.rows_per_zone, 0))
        self._file.set_column(leaf.leaf.column, description, buffers)


_NEVER_JOINED = (pa.DictionaryType, pa.BaseExtensionType)


def _add_to_zones(pages: Sequence[_FullPage]) -> None:
    zones = pages[0].of.zones
    if zones is not None:
        with located(column=pages[0].of.leaf.path):
            arrays = [array for page in pages for array in page.arrays]
            # Arrow joins no dictionaries with nulls among their items, and extension and nested arrays at a price.
            is_plain = not isinstance(arrays[0].type, _NEVER_JOINED) and not arrays[0].type.num_fields
            for array in _joined(arrays) if is_plain else arrays:
                zones.add(array)


def _joined(arrays: Sequence[pa.Array]) -> Iterator[pa.Array]:
    """Join short neighbours: a copy costs less than bounds of few values, which are merged in the end."""
    held: list[pa.Array] = []
    num_rows = num_bytes = 0
    for array in arrays:
        array_bytes = array.nbytes
        if held and (num_rows + len(array) > _JOINED_ROWS or num_bytes + array_bytes > _JOINED_BYTES):
            yield pa.concat_arrays(held) if len(held) > 1 else held[0]
            held, num_rows, num_bytes = [], 0, 0
        held.append(array)
        num_rows += len(array)
        num_bytes += array_bytes
    if held:
        yield pa.concat_arrays(held) if len(held) > 1 else held[0]
