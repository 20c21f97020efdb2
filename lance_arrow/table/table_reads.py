"""`TableReads`: methods of `LanceTable` that read rows of its version."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lance_arrow.choices import OnCorruption, check_choice, names
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.files.frame_reads import FrameReads
from lance_arrow.manifests.references import branch_root
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.row_arguments import as_row_ids
from lance_arrow.scan.windows import WINDOW_ROWS
from lance_arrow.table.table_handle import TableHandle

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from pyarrow.dataset import Scanner

    from lance_arrow.arrow_dataset.description import DatasetDescription
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
    from lance_arrow.files.salvaging.reports import LostRows
    from lance_arrow.scan.ordering.ordered_table import OrderedTable
    from lance_arrow.scan.ordering.sort_keys import OrderBy
    from lance_arrow.table.changed_rows.version_diff import TableDiff, VersionPair
    from lance_arrow.table.salvaging.damaged_reads import DamagedTableRead


class TableReads(TableHandle, FrameReads):
    """Methods of `LanceTable` that read rows. Rows that are deleted are never among them."""

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema, with field and schema metadata."""
        return self._reader.columns.schema

    def count_rows(self, filter: Predicate | None = None) -> int:
        """Count the rows, or those that satisfy a filter. Without a filter, the manifest mostly has the answer.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.count_rows("id < 10")
        10
        """
        return self._reader.count(filter)

    def to_table(
        self,
        columns: Sequence[str] | None = None,
        filter: Predicate | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
        on_corruption: OnCorruption = "raise",
    ) -> pa.Table:
        """Read all rows that are not deleted, or those of them that satisfy a filter.

        Parameters
        ----------
        columns
            Dotted paths in the wanted order, as for `LanceFile.read`; all columns when None. ``_rowid`` and
            ``_rowaddr`` may be among them. Tables with stable row ids also have ``_row_created_at_version`` and
            ``_row_last_updated_at_version``.
        filter
            pyarrow expression, DNF tuples or SQL, over the same columns.
        order_by
            Column to order the rows by, or a list of columns, the first one deciding: ``"price"`` or ``[("price",
            "descending"), "id"]``. ``("price", "descending", "at_start")`` puts nulls first; by default they are last
            in either direction, after NaN. Equal rows stay in the order of the table. With a `limit`, zone maps leave
            out zones that cannot hold one of the first rows.
        limit, offset
            The most rows to return, all when None; how many rows to skip before them.
        on_corruption
            As for `LanceFile.read`, without a filter and the three options above. Missing files count as damaged.
            Fragments whose deletion file is lost are left out. `lost` says what is missing.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or the filter does not fit. Or values of a column have no order, or `limit`
            or `offset` is negative.
        MissingFileError
            A file that the manifest names does not exist.
        LanceError
            As `LanceFile.read`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.to_table(["id"], filter="price > 49").num_rows
        1
        >>> table.to_table(["id"], order_by=[("price", "descending")], limit=2)["id"].to_pylist()
        [99, 98]
        """
        some = self._some_rows(columns, filter, order_by, limit, offset)
        if on_corruption != "raise":
            return self._damaged_read(columns, filter, on_corruption, is_whole=some is None).read()
        return self._reader.read(self._reader.projection(columns), filter) if some is None else some.table()

    def _some_rows(
        self,
        columns: Sequence[str] | None,
        filter: Predicate | None,
        order_by: OrderBy | None,
        limit: int | None,
        offset: int,
    ) -> OrderedTable | None:
        """Return what reads rows in an order, or some rows by number; None where all are wanted as they are."""
        if order_by is None and limit is None and not offset:
            return None
        from lance_arrow.scan.ordering.ordered_table import OrderedTable  # noqa: PLC0415 - for these alone
        from lance_arrow.scan.ordering.row_limits import RowLimits  # noqa: PLC0415
        from lance_arrow.scan.ordering.sort_keys import sort_keys  # noqa: PLC0415

        keys, limits = sort_keys(order_by), RowLimits.of(limit, offset)
        return OrderedTable(self._reader, self._reader.projection(columns), filter, keys, limits)

    @property
    def lost(self) -> tuple[LostRows, ...]:
        """What the last read with `on_corruption` could not read: fragments, columns, rows and causes."""
        return self._lost

    def _damaged_read(
        self, columns: Sequence[str] | None, filter: Predicate | None, on_corruption: OnCorruption, *, is_whole: bool
    ) -> DamagedTableRead:
        from lance_arrow.table.salvaging.damaged_reads import DamagedTableRead  # noqa: PLC0415 - for damage alone

        check_choice("on_corruption", names(OnCorruption), on_corruption)
        if filter is not None:
            raise InvalidArgumentError("a filter of damaged columns has no answer: filter what on_corruption returns")
        if not is_whole:
            raise InvalidArgumentError(
                "damaged rows have no order and no number: sort or slice what on_corruption returns"
            )
        read = DamagedTableRead(self._root, self._manifest, self._reader.columns, columns, on_corruption)
        self._lost = tuple(read.report.lost)
        return read

    def to_batches(
        self,
        columns: Sequence[str] | None = None,
        filter: Predicate | None = None,
        batch_size: int | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
        on_corruption: OnCorruption = "raise",
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows in order, in batches of at most `batch_size` rows; other arguments are those of `to_table`.

        Raises
        ------
        InvalidArgumentError
            The table has no such column, or `batch_size` is not a positive integer. It is raised by the call itself.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> sum(batch.num_rows for batch in table.to_batches(["id"], batch_size=60))
        100
        """
        size = _checked_size(batch_size)
        some = self._some_rows(columns, filter, order_by, limit, offset)
        if on_corruption != "raise":
            read = self._damaged_read(columns, filter, on_corruption, is_whole=some is None)
            return (batch for table in read.tables() for batch in table.to_batches(max_chunksize=size))
        return (
            self._reader.batches(self._reader.projection(columns), filter, size) if some is None else some.batches(size)
        )

    def scanner(
        self,
        columns: Sequence[str] | dict[str, pc.Expression] | None = None,
        filter: Predicate | None = None,
        *,
        order_by: OrderBy | None = None,
        limit: int | None = None,
        offset: int = 0,
        batch_size: int | None = None,
    ) -> Scanner:
        """Build a `pyarrow.dataset.Scanner` of this version, for libraries that take one.

        Parameters
        ----------
        columns, filter, order_by, limit, offset, batch_size
            As for `to_batches`; `columns` may also be expressions by name.

        Raises
        ------
        ImportError
            The native bridge does not support the installed pyarrow.
        InvalidArgumentError
            As `to_batches`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.scanner(["id"], filter="id >= 7", limit=2).to_table()["id"].to_pylist()
        [7, 8]
        """
        wanted = columns if columns is None or isinstance(columns, dict) else list(columns)
        size = _checked_size(batch_size) or WINDOW_ROWS
        return self.dataset().scanner(wanted, filter, size, order_by=order_by, limit=limit, offset=offset)

    def _schema_of(self, columns: Sequence[str] | None) -> pa.Schema:
        return self._reader.projection(columns).schema

    def _as_table(self, columns: Sequence[str] | None, filter: Predicate | None) -> pa.Table:
        return self.to_table(columns, filter)

    def take(self, indices: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by number. The result has the order and the duplicates of `indices`.

        Parameters
        ----------
        indices
            Row numbers in the order of `to_table`, from 0: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            As for `to_table`.

        Raises
        ------
        InvalidArgumentError
            A number is negative or not below `count_rows()`; the message has the number.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.take([3, 1], ["id"])["id"].to_pylist()
        [3, 1]
        """
        return self._reader.take(indices, columns)

    def take_row_ids(self, ids: Any, columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows by ``_rowid``. The result has the order and the duplicates of `ids`.

        Parameters
        ----------
        ids
            Stable row ids if the table has them, else row addresses: list, numpy or pyarrow integer array, ``(n,)``.
        columns
            As for `to_table`.

        Raises
        ------
        InvalidArgumentError
            No row has such an id, or it is deleted; the message has the id.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> ids = table.to_table(["_rowid"], filter="id = 7")["_rowid"]
        >>> table.take_row_ids(ids, ["name"])["name"].to_pylist()
        ['n7']
        """
        return self._reader.take_ids(as_row_ids(ids), columns)

    def changes(
        self,
        since: int | str,
        until: int | str | None = None,
        *,
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
    ) -> pa.RecordBatchReader:
        """Read the rows that were inserted, deleted or updated between two versions: the net change.

        A row that was inserted and deleted again is left out, and of several updates the last one counts. A row that
        a compaction moved has not changed, nor has one that got a column, unless the writer recorded it as updated.
        With stable row ids, an updated row appears once, with its new values. Without them, updates are not recorded.

        Parameters
        ----------
        since
            The version that the reader knows, not included: number or tag.
        until
            The last version that is included: number or tag; this version when None.
        columns
            As for `to_table`; columns of `until`. ``_rowid`` is always there.
        batch_size
            As for `to_batches`.

        Returns
        -------
        pyarrow.RecordBatchReader
            First the deleted rows, as they were in `since`, then the others, as they are in `until`. Both are in the
            order of their version. The columns are:

            - ``_change_type``, string: ``"insert"``, ``"delete"`` or ``"update"``
            - ``_change_version``, uint64: the version with which the row came or went for good, or was last updated
            - ``_rowid``, uint64: stable row id; not in tables without them
            - the columns of the table; deleted rows have null where `since` has no such column

        Raises
        ------
        ChangesNotRecordedError
            The table does not record what changed. A version in between was cleaned up, or replaced the whole table.
            Or the table has no stable row ids, and a version moved or updated rows. `version` of the error is the one
            that is unclear. It is raised by the call itself.
        VersionNotFoundError
            `since` or `until` does not exist.
        InvalidArgumentError
            `since` is after `until`, they are on different branches, or there is no such column.
        ResourceLimitError
            The lists of rows that differ take more than `Limits.max_expanded_bytes`, at 32 bytes a row.
        LanceError, OSError
            As `to_table`; some are raised by the reader.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.append(pyarrow.table({"id": [100]}))
        >>> result = table.delete("id = 7")
        >>> table.changes(1, columns=["id"]).read_all().to_pydict()
        {'_change_type': ['delete', 'insert'], '_change_version': [3, 2], 'id': [7, 100]}
        """
        pair = self._pair(since, until, "changes")
        return pair.changes(columns, _checked_size(batch_size))

    def diff(self, since: int | str, until: int | str | None = None) -> TableDiff:
        """Compare two versions: columns, fragments, and how many rows were added, deleted and updated.

        Manifests, transactions and deletion files are read, no data file.

        Parameters
        ----------
        since, until
            As for `changes`; `since` may also be the newer one.

        Returns
        -------
        TableDiff
            Its numbers of rows are None where the table does not record them, and `unknown` says why.

        Raises
        ------
        VersionNotFoundError
            `since` or `until` does not exist.
        InvalidArgumentError
            They are on different branches.
        LanceError, OSError
            As `changes`, except `ChangesNotRecordedError`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> result = table.delete("id < 10")
        >>> found = table.diff(1)
        >>> found.rows_added, found.rows_deleted, found.rows_updated
        (0, 10, 0)
        """
        return self._pair(since, until, "diff").diff()

    def _pair(self, since: int | str, until: int | str | None, job: str) -> VersionPair:
        # Reads of rows need nothing of this.
        from lance_arrow.table.changed_rows.row_changes import VersionRows  # noqa: PLC0415
        from lance_arrow.table.changed_rows.version_diff import VersionPair  # noqa: PLC0415

        first = self._find(since)
        second = self._manifest if until is None else self._find(until)
        for given, found in ((since, first), (until, second)):
            if found.branch != self._manifest.branch:
                raise InvalidArgumentError(
                    f"{given!r} is a version of branch {found.branch or 'main'!r}, this is one of "
                    f"{self._manifest.branch or 'main'!r}",
                    path=self._root.name,
                    detail=given,
                )
        if job == "changes" and first.version > second.version:
            raise InvalidArgumentError(
                f"since is version {first.version}, which is after version {second.version}; exchange the two",
                path=self._root.name,
                detail=since,
            )
        limits = default_runtime().settings.limits
        line = branch_root(self._root, self._branch)
        return VersionPair(line, first, second, lambda one: VersionRows(one, self._reader_of(one), limits), limits)

    def dataset(self) -> LanceDataset:
        """Return this version as a `pyarrow.dataset.FileSystemDataset`, fragment by fragment.

        Raises
        ------
        ImportError
            The native bridge does not support the installed pyarrow.
        """
        made: LanceDataset = importlib.import_module("lance_arrow.arrow_dataset.table_dataset").table_dataset(
            self._manifest.facts, self._manifest.fragments, self._root.given, self._options
        )
        return made

    def describe(self, columns: Sequence[str] | None = None, *, read: bool = True) -> DatasetDescription:
        """Describe each column of this version, as `LanceDataset.describe`.

        Parameters
        ----------
        columns, read
            As for `LanceDataset.describe`.

        Raises
        ------
        ImportError
            The native bridge does not support the installed pyarrow.
        InvalidArgumentError
            There is no such column.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.describe(["price"])["price"].maximum.as_py()
        49.5
        """
        return self.dataset().describe(columns, read=read)

    def __len__(self) -> int:
        return self.count_rows()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Export all live rows as an Arrow C stream, a fresh one at each call."""
        reader = pa.RecordBatchReader.from_batches(self.schema, self.to_batches())
        return reader.__arrow_c_stream__(requested_schema)


def _checked_size(batch_size: int | None) -> int | None:
    if batch_size is None:
        return None
    if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
        raise InvalidArgumentError(f"batch_size is {batch_size!r}, expected an integer, at least 1", detail=batch_size)
    return int(batch_size)
