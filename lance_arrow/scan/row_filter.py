"""`RowFilter`: which rows of one file satisfy a filter; its columns are decoded where zone maps cannot tell.

expression ─► bound to a schema ─► zones: no row, every row, undecided ─► columns of the undecided rows ─► flags
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import Path, parse_dot_path, project
from lance_arrow.arrays.column_tree import ColumnNode
from lance_arrow.arrays.schema_cache import PerTree
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.pruning.zone_predicates import ZonePredicate
from lance_arrow.pruning.zone_pruning import PruneResult, prune_rows, zone_predicate
from lance_arrow.scan.blobs.blob_reader import BlobReader
from lance_arrow.scan.pages_ahead import PagesAhead, ScanAhead
from lance_arrow.scan.predicates import MISFITS, misfit
from lance_arrow.scan.read_counts import Tally
from lance_arrow.scan.row_reader import RowReader
from lance_arrow.scan.windows import ROWS_FOR_ONE, SCAN_ROWS, Window, Windows
from lance_arrow.scan.zone_reader import ZoneReader
from lance_arrow.spi import RowRanges


@dataclass(frozen=True, slots=True, eq=False)
class Filtered:
    """Which of some rows satisfy a filter.

    Parameters
    ----------
    mask
        ``(num_rows,)`` Arrow booleans; null counts as no.
    batch
        The filter's columns in these rows; None where they came in several batches, or with the bytes of blobs.
    """

    mask: pa.BooleanArray
    batch: pa.RecordBatch | None


class FilterPlan:
    """A filter, bound to a schema; files are judged and read by it side by side.

    Parameters
    ----------
    expression
        Bound or not.
    schema
        What its fields are fields of: the file's, or that of a dataset, whose columns the file may lack (they are null)
        or hold as another type (they are cast).

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema.
    """

    def __init__(self, expression: pc.Expression, schema: pa.Schema) -> None:
        self.schema = schema
        self.native = native_bridge()
        self.predicate: ZonePredicate | None = None
        self.expression = expression
        self.paths: tuple[Path, ...] | None = None
        """Columns, and fields of structs, that the filter mentions; None where nobody can tell."""
        # pyarrow alone shows nobody the parts of an expression.
        if self.native is not None:
            self.expression = bound_filter(self.native, expression, schema)
            self.predicate = zone_predicate(self.native, self.expression, schema)
            self.paths = mentioned_paths(self.native, self.expression, schema)
        self.is_repeatable = self.predicate is not None and not self.predicate.calls("random")
        """Whether the same rows satisfy it each time it is asked."""
        self._nodes = PerTree(self._projected)

    def nodes(self, roots: tuple[ColumnNode, ...]) -> tuple[ColumnNode, ...]:
        """Return the columns of a file that the filter mentions."""
        return self._nodes.of(roots)

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None = None) -> pa.Array:
        """Evaluate it for rows that are here; see `evaluated_mask`."""
        return evaluated_mask(self.native, self.expression, self.schema, batch, pool)

    def _projected(self, roots: tuple[ColumnNode, ...]) -> tuple[ColumnNode, ...]:
        paths = tuple((root.field.name,) for root in roots) if self.paths is None else self.paths
        return project(roots, paths, missing_ok=True)


class RowFilter:
    """A filter on one file.

    Parameters
    ----------
    plan
        The filter.
    reader, zones, blobs
        The file.
    """

    def __init__(self, plan: FilterPlan, reader: RowReader, zones: ZoneReader, blobs: BlobReader) -> None:
        self._plan = plan
        self._reader, self._zones, self._blobs = reader, zones, blobs

    @property
    def nodes(self) -> tuple[ColumnNode, ...]:
        """Columns of the file that it mentions."""
        return self._plan.nodes(self._reader.roots)

    @property
    def has_blobs(self) -> bool:
        """Whether it asks for the bytes of blobs."""
        return any(node.shown is not node.field for node in self.nodes)

    @property
    def is_repeatable(self) -> bool:
        """Whether the same rows satisfy it each time it is asked."""
        return self._plan.is_repeatable

    def prune(self, within: RowRanges) -> PruneResult:
        """Ask the zone maps; see `prune_rows`."""
        return prune_rows(self._reader, self._zones, self._plan.predicate, within)

    def of(
        self, rows: RowRanges, tally: Tally, pool: pa.MemoryPool | None = None, reader: RowReader | None = None
    ) -> Filtered:
        """Decode the filter's columns of some rows, and evaluate it.

        Parameters
        ----------
        rows, tally, pool
            Which rows, where to count, and Arrow's memory pool.
        reader
            A view of the file's reader; the reader itself when None.

        Raises
        ------
        InvalidArgumentError
            A function fails on some value.
        LanceError
            As `RowReader.read`.
        """
        batches, counts = (reader or self._reader).read(self.nodes, rows, pool)
        tally.add(counts, rows.num_rows)
        has_blobs = self.has_blobs
        masks = [self.mask(batch, pool) for batch in (self._filled(batches, pool) if has_blobs else batches)]
        mask = masks[0] if len(masks) == 1 else pa.concat_arrays(masks)
        is_plain = len(batches) == 1 and not has_blobs
        return Filtered(mask, batches[0] if is_plain else None)

    def count(
        self, prune_result: PruneResult, tally: Tally, pool: pa.MemoryPool | None = None, *, use_threads: bool = True
    ) -> int:
        """Count rows that satisfy it, of those that zones have left; undecided ones are decoded. Raises as `of`."""
        rows, settings = prune_result.maybe, self._reader.runtime.settings
        found = prune_result.all.num_rows
        if not len(rows):
            return found
        use_threads = use_threads and rows.num_rows > ROWS_FOR_ONE
        weights, max_bytes = self._reader.weights(self.nodes), settings.window_bytes(settings.num_threads + 1)
        if rows.num_rows <= ROWS_FOR_ONE and float(weights.totals[-1]) <= max_bytes:
            return found + self.of(rows, tally, pool).mask.true_count
        windows = Windows(
            rows,
            None,
            weights=weights,
            max_bytes=max_bytes,
            max_rows=min(SCAN_ROWS, -(-rows.num_rows // settings.num_threads)) if use_threads else SCAN_ROWS,
        )

        ahead = PagesAhead(self._reader, self.nodes, rows, ScanAhead(settings.memory_budget_bytes, None))

        def count(window: Window) -> int:
            with ahead.window(window.rows) as reader:
                return self.of(window.rows, tally, pool, reader).mask.true_count

        counted = self._reader.runtime.ahead(count, windows) if use_threads else map(count, windows)
        return found + sum(counted)

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None = None) -> pa.Array:
        """Evaluate it for rows that are here, with the bytes of blobs; raises `InvalidArgumentError` as `of` does."""
        return self._plan.mask(batch, pool)

    def _filled(self, batches: list[pa.RecordBatch], pool: pa.MemoryPool | None) -> Iterator[pa.RecordBatch]:
        most = self._reader.runtime.settings.blob_piece_bytes
        for batch in batches:
            for piece in self._blobs.pending(self.nodes, batch, most).pieces():
                yield piece.filled(pool)


def evaluated_mask(
    native: ModuleType | None,
    expression: pc.Expression,
    schema: pa.Schema,
    batch: pa.RecordBatch,
    pool: pa.MemoryPool | None,
) -> pa.Array:
    """Evaluate a filter for rows that are here.

    Parameters
    ----------
    native
        The bridge, which the expression is bound by; None without it.
    expression, schema
        The filter, and what its fields are fields of.
    batch
        The columns it mentions.
    pool
        Where the result is allocated.

    Raises
    ------
    InvalidArgumentError
        It fails on some value, or gives no booleans.
    """
    try:
        if native is not None:
            found: pa.Array = native.evaluate(expression, schema, batch, pool)
        else:
            found = evaluated(expression, batch)
    except MISFITS as error:
        raise InvalidArgumentError(f"the filter {expression} cannot be evaluated: {error}") from error
    if not pa.types.is_boolean(found.type):
        raise InvalidArgumentError(f"the filter {expression} gives {found.type}, expected bool")
    return found


def columns_of(expression: pc.Expression, schema: pa.Schema, *, what: str = "filter") -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that an expression mentions; all when the bridge is absent.

    Parameters
    ----------
    expression, schema
        The expression, and what its fields are fields of.
    what
        What an error is to call it.

    Raises
    ------
    InvalidArgumentError
        The expression does not fit the schema.
    """
    native = native_bridge()
    if native is None:
        return tuple((name,) for name in schema.names)
    return mentioned_paths(native, bound_filter(native, expression, schema, what=what), schema)


def bound_filter(
    native: ModuleType, expression: pc.Expression, schema: pa.Schema, *, what: str = "filter"
) -> pc.Expression:
    """Bind a filter; raises `InvalidArgumentError` where it does not fit the schema."""
    try:
        found: pc.Expression = native.bind(expression, schema)
    except MISFITS as error:
        raise InvalidArgumentError(
            f"the {what} {expression} does not fit the schema: {misfit(error, schema)}"
        ) from error
    return found


def mentioned_paths(native: ModuleType, bound: pc.Expression, schema: pa.Schema) -> tuple[Path, ...]:
    """Return the columns, and fields of structs, that a bound filter mentions."""
    return tuple(parse_dot_path(path) for path in native.mentioned_columns(bound, schema))


def native_bridge() -> ModuleType | None:
    """Return the bridge, whose absence costs pruning but no answer."""
    try:
        module = importlib.import_module("lance_arrow.arrow_dataset.bridge.loading")
    except ImportError:
        return None
    found: ModuleType = module.bridge
    return found


def evaluated(expression: pc.Expression, batch: pa.RecordBatch) -> pa.Array:
    """Evaluate through pyarrow's execution plans, which know no plain call for it; raises what Arrow does."""
    # Imported when a filter is evaluated: it loads pyarrow.dataset, which loads pandas.
    acero = importlib.import_module("pyarrow.acero")
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(pa.Table.from_batches([batch])))
    wanted = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["kept"]))
    kept = acero.Declaration.from_sequence([source, wanted]).to_table(use_threads=False).column("kept")
    return kept.combine_chunks() if kept.num_chunks != 1 else kept.chunk(0)
