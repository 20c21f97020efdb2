"""`LanceFileFragment`, one file of a dataset, or some rows of one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow.dataset import Dataset, FragmentScanOptions

from lance_arrow.arrays.view_arrays import taken
from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.scanner_options import (
    BATCH_READAHEAD,
    BATCH_ROWS,
    FRAGMENT_READAHEAD,
    ScannerOptions,
)
from lance_arrow.errors import UnsupportedError
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.projection import Projection
from lance_arrow.scan.row_arguments import Rows, as_offsets, as_rows
from lance_arrow.scan.row_restriction import RestrictedPayload, RowRestriction, rows_within
from lance_arrow.scan.row_taking import is_as_stored, take_rows
from lance_arrow.spi.rows import RowRanges
from lance_arrow.structure.row_selection import check_numbers, cut, intersection, nth_rows, take_order

if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.fragment_zones import FragmentZones

_FIRST_FILTERED_ROWS = 1024
_SHOWN_RANGES = 3
_TRUE = pc.scalar(True)


class LanceFileFragment(bridge.BridgeFragment):
    """One file of a Lance dataset, or some rows of one. `LanceFormat.make_fragment` makes it; it can be pickled.

    It is a `pyarrow.dataset.FileFragment`, with `path`, `filesystem`, `partition_expression`, `physical_schema`,
    `scanner` and so on. `subset`, `split_by_zone` and `zones` correspond to the row groups of Parquet fragments.

    Examples
    --------
    >>> (fragment,) = lance_arrow.dataset("flights.lance").fragments
    >>> fragment.subset(rows=(2, 5)).num_rows
    3
    """

    @property
    def metadata(self) -> dict[bytes, bytes]:
        """Schema metadata of the file."""
        return dict(self.physical_schema.metadata or {})

    @property
    def num_rows(self) -> int:
        """Rows of this fragment."""
        file = self._known()
        # Arrow would ask in another thread.
        return self.count_rows() if file is None else self._ranges(file).num_rows  # type: ignore[no-any-return]

    @property
    def rows(self) -> list[tuple[int, int]] | None:
        """Ranges ``(start, stop)`` of rows of the file that the fragment is cut down to; None for the whole file."""
        restriction = self.place.rows
        return None if restriction is None else list(zip(restriction.starts, restriction.stops, strict=True))

    @property
    def zones(self) -> FragmentZones:
        """The zones that hold rows of this fragment, with their bounds; reads the zone maps of the file."""
        from lance_arrow.arrow_dataset.fragment_zones import FragmentZones  # noqa: PLC0415 - for callers who look at zones

        file = self._opened()
        return FragmentZones.of(file, self._ranges(file))

    @property
    def num_zones(self) -> int:
        """Zones that hold rows of this fragment."""
        return len(self.zones)

    def subset(
        self,
        filter: Predicate | None = None,
        schema: pa.Schema | None = None,
        *,
        zones: Sequence[int] | None = None,
        rows: Rows | None = None,
    ) -> LanceFileFragment:
        """Return a fragment of some rows of the same file. Several conditions are combined.

        Parameters
        ----------
        filter
            Zones in which no row satisfies it are left out. The other zones keep all their rows.
        schema
            Schema of the filter's fields; that of the file when None.
        zones
            Numbers of zones, as in the property `zones`.
        rows
            A slice, ``(start, stop)`` or several of these in ascending order, of rows of the *file*.

        Raises
        ------
        InvalidArgumentError
            The fragment has no such zone or row, or no argument is given.
        UnsupportedError
            The fragment belongs to a table.

        Examples
        --------
        >>> (fragment,) = lance_arrow.dataset("flights.lance").fragments
        >>> fragment.subset(rows=slice(10, 30)).num_rows
        20
        """
        from lance_arrow.arrow_dataset.fragment_zones import FragmentZones, left_by_filter  # noqa: PLC0415 - as above

        file = self._opened()
        kept = self._ranges(file)
        if zones is not None:
            kept = FragmentZones.of(file, kept).rows_of(zones)
        if rows is not None:
            kept = intersection(kept, as_rows(rows, file.rows.num_rows))
        if filter is not None:
            kept = left_by_filter(file, filter, schema, kept)
        return self._cut_to(kept)

    def split_by_zone(
        self,
        filter: Predicate | None = None,
        schema: pa.Schema | None = None,
        *,
        max_rows: int | None = None,
    ) -> list[LanceFileFragment]:
        """Divide the fragment among several, cut where zones end.

        Parameters
        ----------
        filter, schema
            As for `subset`; rows of zones that are left out are in no fragment.
        max_rows
            Most rows of a fragment, which holds as many whole zones as fit, and where not one does, a part of one. A
            fragment for each zone when None.

        Returns
        -------
        list
            In order of rows; empty when nothing is left.

        Examples
        --------
        >>> (fragment,) = lance_arrow.dataset("flights.lance").fragments
        >>> [part.num_rows for part in fragment.split_by_zone(max_rows=60)]
        [60, 40]
        """
        from lance_arrow.arrow_dataset.fragment_zones import (  # noqa: PLC0415 - as above
            FragmentZones,
            left_by_filter,
            pieces,
        )

        file = self._opened()
        kept = self._ranges(file)
        if filter is not None:
            kept = left_by_filter(file, filter, schema, kept)
        return [self._cut_to(part) for part in pieces(FragmentZones.of(file, kept), kept, max_rows)]

    def take(
        self,
        indices: Any,
        columns: Sequence[str] | dict[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pa.MemoryPool | None = None,
    ) -> pa.Table:
        """Read rows by number, in the caller's order, duplicates kept; only what holds these rows is read.

        Parameters
        ----------
        indices
            Row numbers within this fragment: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            Names, or expressions by name; all columns when None.
        filter
            Rows are numbered as the filter leaves them, which takes a scan.
        batch_size, batch_readahead, fragment_readahead, fragment_scan_options, use_threads, cache_metadata, memory_pool
            As `pyarrow.dataset.Fragment.take`; they only matter where a scan is needed.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below `num_rows`; it is named.

        Examples
        --------
        >>> (fragment,) = lance_arrow.dataset("flights.lance").fragments
        >>> fragment.take([3, 1], ["id"])["id"].to_pylist()
        [3, 1]
        """
        options = ScannerOptions.of(locals())
        offsets = as_offsets(indices)
        file = None if filter is not None else self._known()
        if file is None:
            found: pa.Table = super().take(pa.array(offsets), **options.keywords())
            return found
        projection = as_stored(file, options, self.physical_schema)
        return self._taken(file, offsets, options, projection, lambda part: part)

    def take_as(
        self,
        dataset_of: Callable[[Sequence[LanceFileFragment]], Dataset],
        offsets: NDArray[np.int64],
        options: ScannerOptions,
        schema: pa.Schema,
        projected: pa.Schema,
    ) -> tuple[pa.Table, tuple[OpenFile, Projection] | None]:
        """Read rows as a dataset shows them; a far store is asked once whether the file changed.

        Parameters
        ----------
        dataset_of
            Makes a dataset, like the one this fragment is of, of other fragments.
        offsets
            ``(n,) int64`` numbers of rows of this fragment, in any order.
        options
            Options of the scan where one is needed; without a filter.
        schema, projected
            Of the dataset, and of what is wanted of it.

        Returns
        -------
        rows
            In the caller's order.
        read
            The file, and what is wanted of it; None where reading it takes more than that.

        Raises
        ------
        InvalidArgumentError
            There is no such row; it is named.
        """
        file = self._known()
        if file is None:
            check_numbers(offsets, self.num_rows)
            return dataset_of([self]).scanner(**options.keywords()).take(pa.array(offsets)), None
        projection = as_stored(file, options, schema)
        taken = self._taken(file, offsets, options, projection, lambda part: dataset_of([part]))
        read = None if projection is None else (file, projection)
        return pa.Table.from_arrays(taken.columns, schema=projected), read

    def opened_rows(self) -> tuple[OpenFile, RowRanges] | None:
        """Return the open file and the rows of it; None when something else than a bare file is behind the fragment."""
        file = self._known()
        return None if file is None else (file, self._ranges(file))

    def head(
        self,
        num_rows: int,
        columns: Sequence[str] | dict[str, pc.Expression] | None = None,
        filter: pc.Expression | None = None,
        batch_size: int = BATCH_ROWS,
        batch_readahead: int = BATCH_READAHEAD,
        fragment_readahead: int = FRAGMENT_READAHEAD,
        fragment_scan_options: FragmentScanOptions | None = None,
        use_threads: bool = True,
        cache_metadata: bool = True,
        memory_pool: pa.MemoryPool | None = None,
    ) -> pa.Table:
        """Read the first rows that satisfy a filter, little more of the file than these need.

        Parameters
        ----------
        num_rows
            How many; all there are when there are fewer.
        columns, filter
            As `pyarrow.dataset.Fragment.head`.
        batch_size, batch_readahead, fragment_readahead, fragment_scan_options, use_threads, cache_metadata, memory_pool
            As `pyarrow.dataset.Fragment.head`.

        Examples
        --------
        >>> (fragment,) = lance_arrow.dataset("flights.lance").fragments
        >>> fragment.head(2, ["id"])["id"].to_pylist()
        [0, 1]
        """
        options = ScannerOptions.of(locals())
        if self._known() is None:
            found: pa.Table = super().head(num_rows, **options.keywords())
            return found
        tables: list[pa.Table] = []
        missing = max(0, num_rows)
        for part in self.first_parts(missing, filter):
            tables.append(part.scanner(**options.keywords()).head(missing))
            missing -= tables[-1].num_rows
            if not missing:
                break
        return pa.concat_tables(tables)

    def first_parts(self, num_rows: int, filter: pc.Expression | None) -> Iterator[LanceFileFragment]:
        """Yield parts of the fragment, in order, for a caller that stops when it has enough rows.

        Without a filter there is one part of `num_rows`. With a filter, the first part is a little longer, and each
        next part is four times as long. So few rows are read if many match, and few parts if few match.
        """
        file = self._known()
        if file is None:
            yield self
            return
        held = self._ranges(file)
        step = num_rows if filter is None else max(_FIRST_FILTERED_ROWS, 4 * num_rows)
        start, stop = 0, min(step, held.num_rows)
        yield self._cut_to(cut(held, start, stop))
        while filter is not None and stop < held.num_rows:
            step *= 4
            start, stop = stop, min(stop + step, held.num_rows)
            yield self._cut_to(cut(held, start, stop))

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f" rows={_text_of(self.rows)}"
        guarantee = "" if self.partition_expression.equals(_TRUE) else f" where {self.partition_expression}"
        return f"<LanceFileFragment type=lance path={self.path}{rows}{guarantee}>"

    def _repr_html_(self) -> str:
        from lance_arrow.html_repr import as_html  # noqa: PLC0415 - for notebooks

        facts = {"path": self.path, "rows": f"{self.num_rows:,}"}
        if self.rows is not None:
            facts["rows of the file"] = _text_of(self.rows)
        return as_html("LanceFileFragment", facts, self.physical_schema)

    def _known(self) -> OpenFile | None:
        """The open file; None when something else than a bare file of ours is behind the fragment."""
        place = self.place
        if place.payload is not None:
            return None
        file: OpenFile | None = self.format.handler.opened(place)
        return file

    def _opened(self) -> OpenFile:
        file = self._known()
        if file is None:
            raise UnsupportedError(
                "a fragment of a table cannot be reduced to zones or rows of one file; use a filter, or take() or "
                "head() of the dataset",
                path=self.path,
            )
        return file

    def _ranges(self, file: OpenFile) -> RowRanges:
        return rows_within(self.place.rows, file.rows.num_rows)

    def _taken(
        self,
        file: OpenFile,
        offsets: NDArray[np.int64],
        options: ScannerOptions,
        projection: Projection | None,
        shown: Callable[[LanceFileFragment], LanceFileFragment | Dataset],
    ) -> pa.Table:
        """Take rows of a bare file; where a scan is needed, of what `shown` makes of the fragment cut to these rows."""
        nth = nth_rows(self._ranges(file), offsets)
        if projection is not None:
            return take_rows(file, projection, nth)
        order = take_order(nth, file.rows.num_rows)
        scanned: pa.Table = shown(self._cut_to(order.rows)).to_table(**options.keywords())
        return scanned if order.positions is None else taken(scanned, pa.array(order.positions))

    def _cut_to(self, rows: RowRanges) -> LanceFileFragment:
        whole = self.place.payload
        file = self.buffer if self.filesystem is None else self.path
        return self.format.make_fragment(
            file,
            self.filesystem,
            self.partition_expression,
            file_size=None if self.filesystem is None else self.file_size,
            physical_schema=self.physical_schema,
            payload=RestrictedPayload(RowRestriction.of(rows), whole),
        )


def as_stored(file: OpenFile, options: ScannerOptions, schema: pa.Schema) -> Projection | None:
    """Return what is wanted of a file; None where that takes a scan."""
    is_plain = options.fragment_scan_options is None and options.memory_pool is None
    if not is_plain or not is_as_stored(file, schema, options.columns):
        return None
    wanted = schema.names if options.columns is None else options.columns
    is_whole = options.columns is None and schema.names == file.rows.schema.names
    return file.everything if is_whole else Projection.of(file.roots, file.rows.metadata, wanted)


def _text_of(rows: Sequence[tuple[int, int]]) -> str:
    shown = ", ".join(f"{start}..{stop}" for start, stop in rows[:_SHOWN_RANGES])
    return shown if len(rows) <= _SHOWN_RANGES else f"{shown} and {len(rows) - _SHOWN_RANGES} more ranges"


bridge.show_fragments_as(LanceFileFragment)
