"""`FieldBindings`: how columns of a table are bound to those of files, shared by fragments whose files are alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lance_arrow.arrays.schema_cache import ByColumns

if TYPE_CHECKING:
    from lance_arrow.arrays.column_tree import ColumnNode
    from lance_arrow.container.footer import FileVersion
    from lance_arrow.manifests.fragments import DataFileMeta
    from lance_arrow.scan.fragments.field_sources import FieldSource, FileNodes

_MOST_KINDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class FieldBinding:
    """Columns of a table, and the columns of files they are made of.

    Parameters
    ----------
    files
        What tells where fields are in the files of a fragment: ids, columns, and version of each.
    roots
        The column trees of those files that are read, by file number.
    sources, parts
        What `bind_fields` returns.
    """

    files: tuple[tuple[tuple[int, ...], tuple[int, ...], FileVersion], ...]
    roots: dict[int, Sequence[ColumnNode]]
    sources: tuple[FieldSource, ...]
    parts: tuple[FileNodes, ...]


class FieldBindings:
    """The bindings of the last few sets of columns, each for the last few kinds of fragments."""

    def __init__(self) -> None:
        self._held: ByColumns[list[FieldBinding]] = ByColumns()

    def of(
        self,
        nodes: Sequence[ColumnNode],
        files: Sequence[DataFileMeta],
        roots_of: Callable[[int], Sequence[ColumnNode]],
        bind: Callable[[], tuple[tuple[FieldSource, ...], tuple[FileNodes, ...]]],
    ) -> FieldBinding:
        """Return the binding of columns for the files of a fragment, or bind them.

        Parameters
        ----------
        nodes
            Columns of the table.
        files
            Those of the fragment.
        roots_of
            Opens a file, and returns its column tree; files of one schema have the same object.
        bind
            Finds sources and parts; its errors are raised.
        """
        known = self._held.of(nodes, list)
        kind = tuple([(file.fields, file.columns, file.version) for file in files])
        for binding in list(known):
            if binding.files == kind and all(roots_of(file) is roots for file, roots in binding.roots.items()):
                return binding
        sources, parts = bind()
        made = FieldBinding(kind, {part.file: roots_of(part.file) for part in parts}, sources, parts)
        # Threads may add the same twice.
        known[:] = [*known[1 - _MOST_KINDS :], made]
        return made
