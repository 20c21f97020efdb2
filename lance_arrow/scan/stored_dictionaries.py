"""Which columns of strings lie as dictionaries: what ``strings="dictionary"`` means for a file, a table, a dataset.

The answer is a list of names, found once from one file. Other files do not change the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lance_arrow.arrays.coded_leaves import can_be_coded
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.errors import UnknownEncodingError, UnsupportedError, located
from lance_arrow.scan.file_pages import FilePages
from lance_arrow.scan.fragments.fragment_rows import FragmentRows, stored_column
from lance_arrow.scan.fragments.table_reader import TableReader
from lance_arrow.spi import BufferRole


def stored_dictionaries(file: FilePages, leaves: Iterable[LeafNode] | None = None) -> tuple[str, ...]:
    """Return the paths of top-level columns of strings whose pages are dictionaries for at least half of the rows.

    Parameters
    ----------
    file
        The file; metadata of these columns is read. Files before 2.1 have no such columns.
    leaves
        Columns to look at; all when None.

    Raises
    ------
    CorruptFileError, TruncatedReadError
        As reading the columns.
    """
    if file.file.version in LEGACY_VERSIONS:
        return ()
    found = [root for root in file.roots if isinstance(root, LeafNode)] if leaves is None else leaves
    wanted = [leaf for leaf in found if can_be_coded(leaf)]
    with located(path=file.file.name):
        return tuple([leaf.path for leaf in wanted if 2 * _rows_in_dictionaries(file, leaf) >= max(1, file.num_rows)])


def _rows_in_dictionaries(file: FilePages, leaf: LeafNode) -> int:
    """Count the rows in pages with a dictionary, as the layouts tell; 0 for columns that cannot be read."""
    try:
        (meta,) = file.metas([leaf])
        count = 0
        for number in range(len(meta.pages.row_starts) - 1):
            page = meta.pages[number]
            layout = file.bound(leaf.page_leaf, meta, number)
            if BufferRole.DICTIONARY in layout.roles(page.facts):
                count += page.facts.num_rows
        return count
    except (UnknownEncodingError, UnsupportedError):
        # Reading the column raises.
        return 0


def table_dictionaries(table: TableReader) -> tuple[str, ...]:
    """Return such columns of a table, by its fragment of most rows; errors are those of opening its files."""
    fragments = table.fragments
    if not len(fragments):
        return ()
    rows = table.fragment(max(range(len(fragments)), key=lambda number: fragments[number].physical_rows or 0))
    paths: list[str] = []
    for leaf in [root for root in table.columns.roots if isinstance(root, LeafNode) and can_be_coded(root)]:
        own = _stored_leaf(rows, table.columns.field_id(leaf))
        if own is not None and stored_dictionaries(own[0], [own[1]]):
            paths.append(leaf.path)
    return tuple(paths)


def _stored_leaf(rows: FragmentRows, field_id: int) -> tuple[FilePages, LeafNode] | None:
    found = rows.meta.file_of(field_id)
    if found is None:
        return None
    file, column = found
    opened = rows.open_file(next(at for at, one in enumerate(rows.meta.files) if one is file))
    column = stored_column(file, opened, field_id, column)
    leaves: Sequence[LeafNode] = [leaf for root in opened.rows.roots for leaf in root.leaves()]
    own = next((leaf for leaf in leaves if leaf.column == column), None)
    return None if own is None else (opened.rows, own)
