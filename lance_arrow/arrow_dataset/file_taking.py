"""`FileTaking`: rows by number of a dataset of files; what is the same for each take is found out once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import ref

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow.dataset import Dataset

from lance_arrow.arrays.view_arrays import taken
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.open_files import is_current
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_arguments import as_offsets, first_of
from lance_arrow.scan.row_taking import take_noted, take_rows
from lance_arrow.structure.row_selection import check_numbers

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.joined_taking import JoinedTaking

_MAX_KNOWN = 64

T = TypeVar("T")


class _Known(NamedTuple):
    """A file whose columns come out as the dataset shows them.

    Parameters
    ----------
    file
        The file, which the cache of open files may close.
    projection
        What is wanted of it.
    schema
        That of the result, where the file's differs in more than types; else None.
    """

    file: ref[OpenFile]
    projection: Projection
    schema: pa.Schema | None


class FileTaking:
    """Takes rows of a dataset of files; may be shared by threads.

    Parameters
    ----------
    fragments
        All of them.
    """

    def __init__(self, fragments: list[LanceFileFragment]) -> None:
        self.fragments = fragments
        self._known: dict[tuple[int, tuple[str, ...] | None], _Known] = {}

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """``(n + 1,) int64`` first rows of the fragments; they are looked at for it, of a store many at a time."""
        starts = np.zeros(len(self.fragments) + 1, np.int64)
        if self._joined is not None:
            counts = self._joined.num_rows()
        else:
            each = self._of_each(lambda number: self.fragments[number].num_rows, range(len(self.fragments)))
            counts = np.array(list(each), np.int64)
        np.cumsum(counts, out=starts[1:])
        return starts

    @cached_property
    def _joined(self) -> JoinedTaking | None:
        from lance_arrow.arrow_dataset.joined_taking import JoinedTaking  # noqa: PLC0415 - for many files alone

        return JoinedTaking.of(self.fragments)

    @cached_property
    def _is_far(self) -> bool:
        return bool(self.fragments[0].place.is_far)

    def _of_each(self, read: Callable[[int], T], numbers: Sequence[int]) -> Iterator[T]:
        """Apply a function to fragments, by their numbers, in order."""
        return default_runtime().each(read, numbers, is_far=self._is_far)

    def take(
        self,
        offsets: NDArray[np.int64],
        options: ScannerOptions,
        over: Callable[[Sequence[LanceFileFragment]], Dataset],
        schema: pa.Schema,
        projected: pa.Schema,
    ) -> pa.Table:
        """Read rows; parameters are those of `take_as`, whose errors it raises."""
        if len(self.fragments) == 1:
            # The file is opened once, by the take.
            return self._of_one(0, offsets, options, over, schema, projected)
        starts = self.starts
        check_numbers(offsets, int(starts[-1]))
        # Duplicate starts belong to fragments without rows.
        owners = np.searchsorted(starts, offsets, "right") - 1
        places = {owner: np.flatnonzero(owners == owner) for owner in np.unique(owners).tolist()}

        def offsets_of(owner: int) -> NDArray[np.int64]:
            found: NDArray[np.int64] = offsets[places[owner]] - starts[owner]
            return found

        def taken_of(owner: int) -> pa.Table:
            return self._of_one(owner, offsets_of(owner), options, over, schema, projected)

        read: list[int] = []
        parts: list[pa.Table] = []
        if self._joined is not None:
            for own, rows in self._joined.take(list(places), offsets_of, np.diff(starts), options, schema):
                read += own
                parts.append(pa.Table.from_arrays(rows.columns, schema=projected))
        left = [owner for owner in places if owner not in set(read)]
        parts += self._of_each(taken_of, left)
        if len(parts) == 1 and len(places) == 1:
            return parts[0]
        order = np.empty(len(offsets), np.int64)
        order[np.concatenate([places[owner] for owner in read + left])] = np.arange(len(offsets))
        return taken(pa.concat_tables(parts), pa.array(order))

    def take_known(self, rows: Any, columns: tuple[str, ...] | None) -> pa.Table | None:
        """Read rows of files that were read before in the same way; None where they were not, or rows do not exist.

        `rows` are as the caller gave them: few of pages that were read before are read in one native call.
        """
        number = 0
        if len(self.fragments) > 1:
            rows = rows if first_of(rows) >= 0 else as_offsets(rows)
            number = bisect_right(self.starts, first_of(rows)) - 1
        known = self._known.get((number, columns))
        file = None if known is None else known.file()
        if known is None or file is None:
            return None
        first = int(self.starts[number]) if number else 0
        taken = None if file.state is None else take_noted(file, known.projection, rows, first, file.state)
        if taken is None:
            offsets = as_offsets(rows) - first
            if not len(offsets) or offsets.min() < 0 or offsets.max() >= file.rows.num_rows or not is_current(file):
                return None
            taken = take_rows(file, known.projection, offsets)
        return taken if known.schema is None else pa.Table.from_arrays(taken.columns, schema=known.schema)

    def _of_one(
        self,
        number: int,
        offsets: NDArray[np.int64],
        options: ScannerOptions,
        over: Callable[[Sequence[LanceFileFragment]], Dataset],
        schema: pa.Schema,
        projected: pa.Schema,
    ) -> pa.Table:
        taken, read = self.fragments[number].take_as(over, offsets, options, schema, projected)
        if read is not None and self._has_all_rows(number, read[0]):
            file, projection = read
            is_shown = projection.schema.equals(projected, check_metadata=True)
            if len(self._known) >= _MAX_KNOWN:
                self._known = {}
            columns = None if options.columns is None else tuple(options.columns)
            self._known[number, columns] = _Known(ref(file), projection, None if is_shown else projected)
        return taken

    def _has_all_rows(self, number: int, file: OpenFile) -> bool:
        """Whether rows of the others have the numbers that they had when they were counted."""
        return len(self.fragments) == 1 or file.rows.num_rows == self.starts[number + 1] - self.starts[number]
