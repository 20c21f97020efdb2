"""Which columns of strings lie as dictionaries: what ``strings="dictionary"`` means for a file, a table, a dataset.

The answer is a list of names, found once from one file. Other files do not change the schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lance_arrow.arrays.coded_leaves import can_be_coded
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.container.schema import LEGACY_VERSIONS
from lance_arrow.errors import UnknownEncodingError, UnsupportedError, located
from lance_arrow.scan.file_pages import FilePages
from lance_arrow.spi.keys import BufferRole

if TYPE_CHECKING:
    from lance_arrow.scan.fragments.table_reader import TableReader


def stored_dictionaries(file: FilePages) -> tuple[str, ...]:
    """Return the paths of top-level columns of strings whose pages are dictionaries for at least half of the rows.

    Parameters
    ----------
    file
        The file; metadata of these columns is read. Files before 2.1 have no such columns.

    Raises
    ------
    CorruptFileError, TruncatedReadError
        As reading the columns.
    """
    return tuple([leaf.path for leaf in _in_dictionaries(file, _leaves(file.roots))])


def table_dictionaries(table: TableReader) -> tuple[str, ...]:
    """Return such columns of a table, by its fragment of most rows; errors are those of opening its files."""
    fragments = table.fragments
    if not len(fragments):
        return ()
    rows = table.fragment(max(range(len(fragments)), key=lambda number: fragments[number].physical_rows or 0))
    files: dict[int, tuple[FilePages, dict[int, str]]] = {}
    for leaf in _leaves(table.columns.roots):
        stored = rows.stored_leaf(table.columns.field_id(leaf)) if can_be_coded(leaf) else None
        if stored is not None:
            file, own = stored[0].rows, stored[1]
            # A column may have another name in its file.
            files.setdefault(id(file), (file, {}))[1][own.column] = leaf.path
    return tuple(
        [
            paths[own.column]
            for file, paths in files.values()
            for own in _in_dictionaries(file, [leaf for leaf in _leaves(file.roots) if leaf.column in paths])
        ]
    )


def _leaves(roots: Iterable[object]) -> list[LeafNode]:
    return [root for root in roots if isinstance(root, LeafNode)]


def _in_dictionaries(file: FilePages, leaves: Iterable[LeafNode]) -> list[LeafNode]:
    """Return those leaves of a file that hold strings and lie in dictionaries."""
    if file.file.version in LEGACY_VERSIONS:
        return []
    wanted = [leaf for leaf in leaves if can_be_coded(leaf)]
    with located(path=file.file.name):
        # Metadata of all of them at once.
        file.described(wanted)
        return [leaf for leaf in wanted if 2 * _rows_in_dictionaries(file, leaf) >= max(1, file.num_rows)]


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
