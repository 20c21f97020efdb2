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
from lance_arrow.spi import PRIVATE_CODEC
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
    """A top-level column of an open file whose pages may be copied; made by `copied_column`.

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


def copied_column(opened: OpenFile, wanted: SchemaField, version: FileVersion) -> CopiedColumn | None:
    """Return a column of a file, if its pages can be those of a column of a file to be written.

    Parameters
    ----------
    opened
        The file.
    wanted
        The column as the new file has it.
    version
        Of the new file, 2.1 or later.

    Returns
    -------
    CopiedColumn or None
        None if pages must be encoded. This is so for files of another version or without checksums, and for a column
        that is missing or has another type. It is also so for blobs (whose places belong to the file), fixed-size lists
        of structs, encodings outside the format, and small pages.
    """
    from lance_arrow.container.stored_pages import has_sums  # noqa: PLC0415 - where pages are copied

    file = opened.rows.file
    if file.version is not version or file.checks is None:
        return None
    found = [at for at, one in enumerate(file.fields) if one.id == wanted.id]
    if not found or not _is_same(file.fields[found[0]], wanted, version):
        return None
    node = opened.rows.roots[found[0]]
    leaves = list(node.leaves())
    # Of fixed-size lists of structs, the reference reads no column in which some pages are null and others not.
    if any(leaf.is_blob or leaf.refusal is not None or any(leaf.dimensions) for leaf in leaves):
        return None
    metas = opened.rows.metas(leaves)
    table = file.checks.table
    is_fit = all(
        are_large_pages(len(meta.pages), file.num_rows, meta.stored_bytes)
        and has_sums(table, meta)
        and not _is_private(meta, opened.runtime)
        for meta in metas
    )
    return CopiedColumn(opened, node) if is_fit else None


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
