"""`FragmentReading`: some columns of a fragment, from its files side by side, rows that are left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.arrow_arrays import batch_without_columns, typed_schema
from lance_arrow.arrays.column_tree import ColumnNode, LeafNode
from lance_arrow.container.footer import FileVersion
from lance_arrow.errors import CorruptManifestError, UnsupportedError, located
from lance_arrow.manifests.fragments import NO_COLUMN, DataFileMeta
from lance_arrow.runtime import computed_once
from lance_arrow.scan.fragments.field_sources import FieldSource, FileNodes, LeafPlace, bind_fields, expanded
from lance_arrow.scan.fragments.fragment_rows import TableSource, stored_column
from lance_arrow.scan.open_file import OpenFile
from lance_arrow.scan.read_counts import ReadCounts
from lance_arrow.scan.row_weights import RowWeights
from lance_arrow.spi.rows import RowRanges

if TYPE_CHECKING:
    from lance_arrow.scan.blobs.blob_reader import BlobReader
    from lance_arrow.scan.blobs.pending_batch import PendingBatch
    from lance_arrow.scan.open_file import FileReading
    from lance_arrow.scan.pages_ahead import ScanAhead

# In files of these, structs and lists have columns of their own.
_WITH_HEADERS = (FileVersion.V0_1, FileVersion.V2_0)


class FragmentReading:
    """Reads some columns of a fragment; may be shared by threads.

    Parameters
    ----------
    rows
        The fragment, or several as one.
    nodes
        (Pruned) columns of the table, virtual ones among them.
    other
        Another reading of the fragment, whose open files are used.
    """

    def __init__(self, rows: TableSource, nodes: Sequence[ColumnNode], other: FragmentReading | None = None) -> None:
        self.rows = rows
        self._known: dict[int, OpenFile] = {} if other is None else other._known
        self._leaves: dict[int, dict[int, LeafPlace]] = {} if other is None else other._leaves
        self._opened: dict[int, OpenFile] = {}
        self._is_asked = False
        stored = [node for node in nodes if not _is_virtual(node)]
        with located(path=rows.columns.facts.manifest_path):
            binding = rows.columns.bindings.of(stored, rows.meta.files, self._roots_of, lambda: self._bound(stored))
        sources, parts = binding.sources, binding.parts
        self._sources: dict[str, FieldSource] = {source.node.field.name: source for source in sources}
        self.nodes = tuple(node if _is_virtual(node) else self._sources[node.field.name].node for node in nodes)
        self.schema = pa.schema([node.field for node in self.nodes])
        # Readings by file.
        self._files = {part.file: self._open(part.file).reading(part.nodes) for part in parts}
        counts = {opened.rows.num_rows for opened in self._opened.values()} - {rows.num_physical}
        if counts:
            raise CorruptManifestError(
                f"data files of fragment {rows.meta.id} have {counts.pop()} and {rows.num_physical} rows",
                path=rows.columns.facts.manifest_path,
            )

    @property
    def opened(self) -> list[OpenFile]:
        """The files that are read."""
        return list(self._opened.values())

    @property
    def file_bytes(self) -> int:
        """Bytes of the files that are read."""
        return sum(opened.source.size() for opened in self.opened)

    @computed_once
    def has_blobs(self) -> bool:
        """Whether bytes of blobs are wanted."""
        return any(file.has_blobs for file in self._files.values())

    @property
    def parts(self) -> tuple[FileReading, ...]:
        """What is read of each file."""
        return tuple(self._files.values())

    @computed_once
    def stored_bytes(self) -> int:
        """Bytes that the columns take in the files."""
        return sum(file.stored_bytes for file in self._files.values())

    def column_bytes(self) -> dict[str, int]:
        """Return the bytes that each column takes in the files, by name."""
        of_leaf = {number: file.leaf_bytes() for number, file in self._files.items()}
        return {
            name: sum([of_leaf[file][leaf.column] for file, kept in source.parts for leaf in kept.leaves()])
            for name, source in self._sources.items()
        }

    @computed_once
    def gap_bytes(self) -> int:
        """Holes up to which reading through them takes less time than another request."""
        return max((file.gap_bytes for file in self._files.values()), default=0)

    @computed_once
    def is_far(self) -> bool:
        """Whether each read takes a round of requests."""
        return any(file.is_far for file in self._files.values())

    def keep_indices(self, rows: RowRanges) -> None:
        """Load what must be known of pages before these rows are read."""
        for file in self._files.values():
            file.keep_indices(rows)

    def beside(self, nodes: Sequence[ColumnNode]) -> FragmentReading:
        """Return a reading of other columns of the fragment; it uses the files that are open already."""
        return FragmentReading(self.rows, nodes, self)

    def divisible_bytes(self) -> int:
        """Return of how many stored bytes it pays to give each thread a part."""
        return sum(file.divisible_bytes() for file in self._files.values())

    def weights(self) -> RowWeights:
        """Estimate what the rows of the files take in memory."""
        parts = [file.weights() for file in self._files.values()]
        return parts[0] if len(parts) == 1 else RowWeights.together(parts, self.rows.num_physical)

    def ask_ahead(self, rows: RowRanges, scan: ScanAhead) -> None:
        """Ask pages of far files ahead: `read` is going to be called for windows of these rows, in order."""
        self._is_asked = True
        for file in self._files.values():
            file.ask_ahead(rows, scan)

    def window(self, rows: RowRanges) -> AbstractContextManager[object]:
        """Enter for the time that a window of what was asked ahead is read."""
        if not self._is_asked:
            return nullcontext()
        with ExitStack() as entered:
            for file in self._files.values():
                entered.enter_context(file.window(rows))
            return entered.pop_all()

    def share(self, other: FragmentReading) -> None:
        """Use the pages that another reading of the fragment asked ahead."""
        for number, file in self._files.items():
            if number in other._files:
                file.share(other._files[number])

    def pending(self, batch: pa.RecordBatch) -> PendingBatch:
        """Find the blobs of a batch that was read; errors are those of `PendingBatch.of`."""
        from lance_arrow.scan.blobs.pending_batch import PendingBatch  # noqa: PLC0415 - for blobs alone

        return PendingBatch.of(self.nodes, batch, self._blobs_of)

    def _blobs_of(self, leaf: LeafNode) -> BlobReader:
        place = self._place_of(leaf)
        assert place is not None  # leaves that no file has are no blobs
        return self._open(place.file).blobs

    def read(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read rows of the files.

        Parameters
        ----------
        rows
            Which; all live.
        pool
            Arrow memory pool of the result; the default one when None.

        Returns
        -------
        batches
            In row order, of `schema`; more than one where 32-bit offsets overflow.
        counts
            Pages and leaves touched.

        Raises
        ------
        LanceError
            As `RowReader.read` and `FieldSource.array`.
        """
        return self._assembled([(number, file.read(rows, pool)) for number, file in self._files.items()], rows, pool)

    def count_judged(self, rows: RowRanges) -> tuple[int, ReadCounts] | None:
        """Count rows of a judged column that is in a file as the table has it; see `count_judged`."""
        file = self.as_stored
        return None if file is None else file.count_judged(rows)

    def take(self, rows: RowRanges, pool: pa.MemoryPool | None = None) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Read scattered rows; parameters, results and errors are those of `read`."""
        return self._assembled([(number, file.take(rows, pool)) for number, file in self._files.items()], rows, pool)

    def take_noted(self, rows: Any, first: int, schema: pa.Schema) -> pa.Table | None:
        """Read few rows of pages that were read before; see `RowReader.take_noted`."""
        if not self._is_as_stored:
            return None
        (file,) = self._files.values()
        return file.take_noted(rows, first, schema)

    def _assembled(
        self,
        read: Sequence[tuple[int, tuple[list[pa.RecordBatch], ReadCounts]]],
        rows: RowRanges,
        pool: pa.MemoryPool | None,
    ) -> tuple[list[pa.RecordBatch], ReadCounts]:
        """Put together what was read of each file, by its number."""
        if self._is_as_stored:
            return read[0][1]
        per_file = [(number, batches) for number, (batches, _) in read]
        of_files = [counts for _, (_, counts) in read]
        counts = of_files[0] if len(of_files) == 1 else reduce(ReadCounts.joined, of_files, ReadCounts(0, ()))
        offsets = expanded(rows.starts, rows.stops) if self._needs_offsets else None
        made = []
        start = 0
        for num_rows, columns in _aligned(per_file, rows.num_rows):
            own = None if offsets is None else offsets[start : start + num_rows]
            made.append(self._batch(columns, num_rows, own, pool))
            start += num_rows
        return made, counts

    @property
    def as_stored(self) -> FileReading | None:
        """What reads the one file whose batches are those of the fragment; None if there is no such file."""
        return next(iter(self._files.values())) if self._is_as_stored else None

    @computed_once
    def _is_as_stored(self) -> bool:
        if len(self._files) != 1 or any(
            _is_virtual(node) or not self._sources[node.field.name].is_same for node in self.nodes
        ):
            return False
        (file,) = self._files.values()
        kept = [self._sources[node.field.name].parts[0][1] for node in self.nodes]
        is_in_order = len(kept) == len(file.nodes) and all(
            one is own for one, own in zip(kept, file.nodes, strict=True)
        )
        return is_in_order and file.schema.equals(self.schema, check_metadata=True)

    @computed_once
    def _needs_offsets(self) -> bool:
        return any(_is_virtual(node) for node in self.nodes)

    def _batch(
        self,
        columns: dict[tuple[int, str], pa.Array],
        num_rows: int,
        offsets: NDArray[np.int64] | None,
        pool: pa.MemoryPool | None,
    ) -> pa.RecordBatch:
        arrays = []
        for node in self.nodes:
            if isinstance(node, LeafNode) and node.column < 0:
                assert offsets is not None
                arrays.append(self.rows.virtual(node.column, offsets, pool))
                continue
            source = self._sources[node.field.name]
            with located(path=self.rows.columns.facts.manifest_path):
                parts = [columns[file, kept.field.name] for file, kept in source.parts]
                arrays.append(source.array(parts, num_rows, pool))
        if not arrays:
            return batch_without_columns(num_rows)
        return pa.RecordBatch.from_arrays(arrays, schema=typed_schema(self.schema, arrays))

    def _roots_of(self, file: int) -> Sequence[ColumnNode]:
        return self._open(file).rows.roots

    def _bound(self, nodes: Sequence[ColumnNode]) -> tuple[tuple[FieldSource, ...], tuple[FileNodes, ...]]:
        has_forms = self.rows.columns.options.has_forms
        has_forms = has_forms or any([isinstance(node, LeafNode) and node.has_form for node in nodes])
        return bind_fields(nodes, self._place_of, self._roots_of, has_forms=has_forms)

    def _place_of(self, leaf: LeafNode) -> LeafPlace | None:
        field_id = self.rows.columns.field_id(leaf)
        found = self.rows.meta.file_of(field_id)
        if found is None:
            self._refuse_whole(leaf)
            return None
        file, column = found
        number = next(at for at, one in enumerate(self.rows.meta.files) if one is file)
        column = stored_column(file, self._open(number), field_id, column)
        place = None if column == NO_COLUMN else self._leaf_at(number, column)
        if place is None:
            raise _no_column(file, column, leaf)
        return place

    def _refuse_whole(self, leaf: LeafNode) -> None:
        """Refuse a leaf that no file has, but of which a file has what lies above it in one column: it is not null."""
        for above in self.rows.columns.ids_above(leaf):
            found = self.rows.meta.file_of(above)
            if found is not None and found[0].version not in _WITH_HEADERS and found[1] != NO_COLUMN:
                raise UnsupportedError(
                    f"the data file {found[0].path!r} has what lies above this field in one column", column=leaf.path
                )

    def _leaf_at(self, number: int, column: int) -> LeafPlace | None:
        """Return the place of a physical column of a file; None if it is no leaf there."""
        known = self._leaves.setdefault(number, {})
        if column not in known:
            roots = self._open(number).rows.roots
            at = roots.place_with(column)
            if at is not None:
                known |= {leaf.column: LeafPlace(number, at, steps) for leaf, steps in _leaf_steps(roots[at])}
        return known.get(column)

    def _open(self, number: int) -> OpenFile:
        opened = self._opened.get(number)
        if opened is None:
            opened = self._known.get(number)
            if opened is None:
                opened = self._known[number] = self.rows.open_file(number)
            self._opened[number] = opened
        return opened


def _leaf_steps(node: ColumnNode, above: tuple[int, ...] = ()) -> Iterator[tuple[LeafNode, tuple[int, ...]]]:
    if isinstance(node, LeafNode):
        yield node, above
    for number, child in enumerate(node.children):
        yield from _leaf_steps(child, (*above, number))


def _is_virtual(node: ColumnNode) -> bool:
    return isinstance(node, LeafNode) and node.column < 0


def _no_column(file: DataFileMeta, column: int, leaf: LeafNode) -> CorruptManifestError:
    return CorruptManifestError(
        f"data file {file.path!r} is said to have the field in its physical column {column}, which is no leaf there",
        column=leaf.path,
        detail=column,
    )


def _aligned(
    per_file: Sequence[tuple[int, Sequence[pa.RecordBatch]]], num_rows: int
) -> Iterator[tuple[int, dict[tuple[int, str], pa.Array]]]:
    """Cut the batches of all files at the same rows; yield their number and the columns by file and name."""
    borders = {0, num_rows}
    for _, batches in per_file:
        borders.update(np.cumsum([batch.num_rows for batch in batches]).tolist())
    left = {file: list(batches) for file, batches in per_file}
    ordered = sorted(borders)
    for start, stop in pairwise(ordered):
        columns = {}
        for file, batches in left.items():
            while not batches[0].num_rows:
                batches.pop(0)
            first = batches.pop(0)
            if first.num_rows > stop - start:
                batches.insert(0, first.slice(stop - start))
                first = first.slice(0, stop - start)
            columns.update({(file, name): array for name, array in zip(first.schema.names, first.columns, strict=True)})
        yield stop - start, columns
