"""`FragmentPruner`: leaves out local fragments before Python opens them, by the zone maps at the ends of their files.

fragments of one kind ─► first one: columns of the filter in its files ─► a native file pruner for each file of a kind
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from lance_arrow.errors import LanceError
from lance_arrow.manifests.fragments import FragmentMeta
from lance_arrow.pruning.file_pruner import FilePruner, file_pruner
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.scan.fragments.joined_fragments import OpensFragment, joining_key
from lance_arrow.scan.fragments.table_columns import TableColumns
from lance_arrow.scan.groups.left_by_shown import left_by_shown


class FragmentPruner:
    """Leaves out fragments of one scan; may be shared by threads.

    Parameters
    ----------
    columns, fragments
        The table's.
    reader
        What opens a fragment by itself.
    predicate
        Filter of the scan.
    """

    def __init__(
        self,
        columns: TableColumns,
        fragments: Sequence[FragmentMeta],
        reader: OpensFragment,
        predicate: ZonePredicate,
    ) -> None:
        self._columns, self._fragments, self._reader, self._predicate = columns, fragments, reader, predicate
        self._has_checks = columns.options.verify != "off"
        self._known: dict[tuple[object, ...], dict[int, FilePruner]] = {}
        self._lock = Lock()

    def left(self, numbers: Sequence[int]) -> list[int]:
        """Return those fragments of a group in which a row may satisfy the filter.

        Parameters
        ----------
        numbers
            Fragments of one `joining_key`.
        """
        key = joining_key(self._fragments[numbers[0]])
        assert key is not None
        try:
            return left_by_shown(
                numbers,
                lambda some: self._asked(key, some),
                lambda number: self._register(key, number),
                lambda: self._is_idle(key),
            )
        except (LanceError, OSError):
            # The scan tells what is wrong.
            return list(numbers)

    def _of(self, key: tuple[object, ...]) -> dict[int, FilePruner] | None:
        with self._lock:
            return self._known.get(key)

    def _is_idle(self, key: tuple[object, ...]) -> bool:
        known = self._of(key)
        return known is not None and all(pruner.native.is_idle for pruner in known.values())

    def _asked(self, key: tuple[object, ...], numbers: Sequence[int]) -> list[int]:
        left, options = list(numbers), self._columns.options
        for at, pruner in (self._of(key) or {}).items():
            files = [self._fragments[number].files[at] for number in left]
            paths = self._columns.facts.data_paths(files, allow_external_bases=options.allow_external_bases)
            left = [left[one] for one in pruner.native.left(paths, [file.size_bytes or 0 for file in files])]
        return left

    def _register(self, key: tuple[object, ...], number: int) -> None:
        """Show a fragment to the pruners of its kind, which are made for the first one; by the number of the file.

        Raises
        ------
        LanceError, OSError
            As opening the fragment's files.
        """
        with self._lock:
            found = self._reader.fragment(number).bounded_leaves(self._predicate.fields)
            known = self._known.get(key)
            if known is None:
                made = {at: file_pruner(self._predicate, has_checks=self._has_checks) for at in found}
                known = self._known[key] = {at: pruner for at, pruner in made.items() if pruner is not None}
            for at, pruner in known.items():
                if at in found:
                    opened, leaves = found[at]
                    pruner.register(opened.rows, leaves)
