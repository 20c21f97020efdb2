"""`CopiedRows`: rows of files whose pages may become pages of another file as they are: same bytes, nothing encoded.

Pages are copied only from files with checksums. The checksums are compared during the copy, so that no damaged page
gets a new checksum. Such files come from this package, so other readers can read their pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptFileError
from lance_arrow.runtime import Runtime
from lance_arrow.spi import PRIVATE_CODEC, FixedWidth
from lance_arrow.spi.leaf_type import NodeKind
from lance_arrow.statistics.zone_maps import ZoneMap

if TYPE_CHECKING:
    from lance_arrow.container.columns import ColumnMeta
    from lance_arrow.container.file_reader import LanceFileReader
    from lance_arrow.container.stored_pages import StoredPage
    from lance_arrow.scan.open_file import OpenFile

LEAST_PAGE_ROWS = 1 << 16
LEAST_PAGE_BYTES = 1 << 20
"""Columns are copied whose pages have as many rows, or stored bytes, on average: a scan pays for each page."""
_WAVE_BYTES = 16 << 20
_WAVES_IN_MEMORY = 4


@dataclass(frozen=True, slots=True, eq=False)
class CopiedColumn:
    """A top-level column of an open file whose pages may be copied; made by `copied_columns`.

    Parameters
    ----------
    opened
        The file.
    node
        The column in it.
    """

    opened: OpenFile
    node: ColumnNode

    def zone_maps(self) -> Sequence[ZoneMap | None]:
        """Return the zone map of each leaf; None where there is none, or it is damaged."""
        leaves = list(self.node.leaves())
        try:
            return self.opened.zones.get(leaves)
        except CorruptFileError:
            # Bounds can be had from the values.
            return [None] * len(leaves)


@dataclass(frozen=True, slots=True, eq=False)
class CopiedRows:
    """Rows that a writer may copy or encode, column by column.

    Parameters
    ----------
    num_rows
        How many.
    columns
        By number of the top-level column in the new file: where pages may be copied from.
    read
        Decodes columns, by name; all of them when None.
    """

    num_rows: int
    columns: Mapping[int, CopiedColumn]
    read: Callable[[Sequence[str] | None], Iterator[pa.RecordBatch]] = field(repr=False)


def are_large_pages(num_pages: int, num_rows: int, num_bytes: int) -> bool:
    """Return whether pages of a column are large enough, on average, to be copied."""
    return num_rows >= LEAST_PAGE_ROWS * num_pages or num_bytes >= LEAST_PAGE_BYTES * num_pages


def copied_columns(
    opened: OpenFile, wanted: Mapping[int, SchemaField], version: FileVersion
) -> dict[int, CopiedColumn]:
    """Return the columns of a file whose pages can be those of columns of a file to be written.

    Metadata is read of all columns that may have large pages, at once.

    Parameters
    ----------
    opened
        The file.
    wanted
        Columns as the new file has them, by their numbers there.
    version
        Of the new file, 2.1 or later.

    Returns
    -------
    dict
        By number. The pages of the others must be encoded. This is so for files of another version or without
        checksums, and for a column that is missing or has another type. It is also so for blobs (whose places belong to
        the file), fixed-size lists of structs, encodings outside the format, and small pages.
    """
    from lance_arrow.container.stored_pages import has_sums  # noqa: PLC0415 - where pages are copied

    file, roots, num_rows = opened.rows.file, opened.rows.roots, opened.rows.num_rows
    if file.version is not version or file.checks is None:
        return {}
    places = {one.id: at for at, one in enumerate(file.fields)}
    found: list[tuple[int, ColumnNode, list[LeafNode]]] = []
    for top, column in wanted.items():
        at = places.get(column.id)
        if at is None or not _is_same(file.fields[at], column, version):
            continue
        node = roots[at]
        leaves = list(node.leaves())
        # Of fixed-size lists of structs, the reference reads no column in which some pages are null and others not.
        if any(leaf.is_blob or leaf.refusal is not None or any(leaf.dimensions) for leaf in leaves):
            continue
        if all(_may_have_large_pages(leaf, num_rows) for leaf in leaves):
            found.append((top, node, leaves))
    metas = iter(opened.rows.metas([leaf for _, _, leaves in found for leaf in leaves]))
    table = file.checks.table
    fit = {}
    for top, node, leaves in found:
        own = [next(metas) for _ in leaves]
        if all(
            are_large_pages(len(meta.pages), num_rows, meta.stored_bytes)
            and has_sums(table, meta)
            and not _is_private(meta, opened.runtime)
            for meta in own
        ):
            fit[top] = CopiedColumn(opened, node)
    return fit


def _may_have_large_pages(leaf: LeafNode, num_rows: int) -> bool:
    """Return whether a page of all rows may be large, as far as the type tells: metadata of the others is not read."""
    shape = leaf.leaf.shape
    if leaf.leaf.nodes != (NodeKind.ITEM,) or leaf.leaf.items is not None or not isinstance(shape, FixedWidth):
        return True
    # Levels, chunk headers and tables take less than the values of a byte or more, and 4 bytes for a row.
    return are_large_pages(1, num_rows, num_rows * (4 + shape.bits // 4))


def copied_pages(columns: Sequence[CopiedColumn], runtime: Runtime) -> Iterator[tuple[LeafNode, StoredPage]]:
    """Read the pages of columns ahead, within the memory budget; those of each column come in row order.

    Raises
    ------
    CorruptPageError
        Bytes contradict their checksum; file, column, page and byte range are named.
    TruncatedReadError, OSError
        As reading goes.
    """
    from lance_arrow.container.stored_pages import StoredPages  # noqa: PLC0415 - where pages are copied

    wave_bytes = min(_WAVE_BYTES, runtime.settings.window_bytes(_WAVES_IN_MEMORY))
    of_file: dict[LanceFileReader, list[LeafNode]] = {}
    for column in columns:
        of_file.setdefault(column.opened.rows.file, []).extend(column.node.leaves())
    for file, leaves in of_file.items():
        pages = StoredPages(file, [leaf.column for leaf in leaves])
        by_number = {leaf.column: leaf for leaf in leaves}
        for some in runtime.ahead(pages.read, pages.waves(wave_bytes), num_ahead=1):
            for page in some:
                yield by_number[page.column], page


def _is_same(one: SchemaField, wanted: SchemaField, version: FileVersion) -> bool:
    """Whether pages of one field mean the same for the other; names do not matter."""
    return (
        (one.id, one.logical_type, len(one.children)) == (wanted.id, wanted.logical_type, len(wanted.children))
        and not one.is_blob
        and not wanted.is_blob
        and one.is_packed(version) == wanted.is_packed(version)
        and (wanted.nullable or not one.nullable)
        and all(_is_same(mine, other, version) for mine, other in zip(one.children, wanted.children, strict=True))
    )


def _is_private(meta: ColumnMeta, runtime: Runtime) -> bool:
    """Whether a page is encoded outside of the format, which other readers refuse."""
    from lance_arrow.structure.description import describe  # noqa: PLC0415 - where pages are copied

    for described in meta.pages.descriptions:
        if described.distribution:
            return True
        # The id of a private codec has a slash.
        if b"/" in described.value:
            report = describe(described.message, described.value, runtime.table)
            if any(node.key.startswith(PRIVATE_CODEC) for node in report.walk()):
                return True
    return False
