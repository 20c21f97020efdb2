"""Polars: `scan` returns a `LazyFrame` with pushdown of columns, predicate and number of rows.

Polars asks for the first column where a query needs none. Behind the frame's columns that is one without values, so
that counting reads nothing, or the columns of the predicate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from polars.io.plugins import register_io_source

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.integrations.engine_rows import EngineRows, free_name
from lance_arrow.integrations.polars_predicates import Divided, divided
from lance_arrow.integrations.wanted_rows import Source, opened
from lance_arrow.scan.filters.kept_by_schema import KeptBySchema

BATCH_ROWS = 1 << 19
"""Most rows of a frame. Polars divides frames among its threads, and proposes batches that take twice the time."""
_COUNTED_ROWS = 1 << 24
_Constants: TypeAlias = Mapping[str, str | None]
_NOTHING: _Constants = {}
_EVERYTHING = Divided(None, None, {})
_kept_types: KeptBySchema[Mapping[str, pl.DataType]] = KeptBySchema()
_FIRST_CHECKED, _LAST_CHECKED = (2, 0), (2, 1)
"""Versions of Polars that are known to ask for the column without values where a scan's other columns are not used."""
_ROWS_ARE_ALL = _FIRST_CHECKED <= tuple(map(int, pl.__version__.split(".")[:2])) <= _LAST_CHECKED


def scan(source: Source, *, categoricals: bool = False) -> pl.LazyFrame:
    """Scan a dataset lazily.

    Only the selected columns are read. Conditions that Arrow evaluates exactly as Polars does prune and filter in the
    scan. Polars applies the others to the rows. A query of a few rows (``head``, ``limit``) reads little more than
    these. ``len`` reads no column.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`. What is opened here has ``strings="view"``: Polars
        takes views as they are.
    categoricals
        Whether to open with ``strings="dictionary"``, so that columns of strings that are stored as dictionaries are
        ``Categorical``.

    Returns
    -------
    polars.LazyFrame
        The dataset is opened by this call, and scanned each time the frame is collected.

    Raises
    ------
    FileNotFoundError, LanceError
        As `lance_arrow.dataset`.
    """
    frames = _Frames.of(source, categoricals=categoricals)
    schema = {frames.rows_name: pl.Null(), **frames.types}
    found = register_io_source(
        frames, schema=schema, validate_schema=True, is_pure=True, explain_name="lance", explain_detail=frames.detail
    )
    return found.select(pl.nth(range(1, len(schema))))


@dataclass(frozen=True)
class _Frames:
    """What Polars asks for rows.

    Parameters
    ----------
    dataset, rows
        The dataset, and its rows as they are read.
    rows_name
        Name of the column without values.
    types
        Types of the columns, as Polars shows them.
    """

    dataset: LanceDataset
    rows: EngineRows = field(compare=False)
    rows_name: str
    types: Mapping[str, pl.DataType] = field(compare=False)

    @classmethod
    def of(cls, source: Source, *, categoricals: bool) -> _Frames:
        dataset = opened(source, strings="dictionary" if categoricals else "view")
        schema = dataset.schema
        types = _kept_types.of(b"", schema, lambda: _frame(schema.empty_table()).schema)
        return cls(dataset, EngineRows(dataset), free_name(schema), types)

    @property
    def detail(self) -> str:
        """What a plan says of the source."""
        files = self.dataset.files
        return files[0] if len(files) == 1 else f"{len(files)} files"

    def __call__(
        self, with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        names = [self.rows_name, *self.dataset.schema.names] if with_columns is None else with_columns
        read = [name for name in names if name != self.rows_name]
        if predicate is None and n_rows is not None and read:
            # By expression: in a list of names, a dot would lead into a struct.
            yield self._shown(self.dataset.head(n_rows, {name: pc.field(name) for name in read}), names)
            return
        if predicate is None and not read:
            yield from self._counted(self.dataset.count_rows(), n_rows, names, _NOTHING)
            return
        rows = self.rows
        parts = self._parts(predicate, n_rows)
        filter, rest = parts.filter, parts.rest
        left = [] if rest is None else rest.meta.root_names()
        # What is known of all rows, or not used, is not read.
        known = {name: value.as_py() for name, value in parts.fixed.items() if _is_text(rows.schema.field(name).type)}
        if self.is_unread(with_columns, predicate):
            known = dict.fromkeys(read) | known
        fixed = {name: value for name, value in known.items() if name in names and name not in left}
        read = [name for name in dict.fromkeys([*names, *left]) if name != self.rows_name and name not in fixed]
        if not read:
            for frame in self._counted(rows.count(filter), n_rows, names, fixed):
                # What is left asks for no column.
                yield frame if rest is None else frame.filter(rest)
            return
        most_rows = BATCH_ROWS if n_rows is None else min(n_rows, BATCH_ROWS) or 1
        # Without a number, Polars takes the last row before it shows the first.
        schema, batches = rows.batches(read, filter, most_rows, wants_all=n_rows is None)
        missing, is_empty = n_rows, True
        for batch in batches:
            frame = self._shown(pa.Table.from_batches([batch]), [*names, *left], fixed)
            if missing is not None:
                frame = frame.head(missing)
                missing -= frame.height
            if rest is not None:
                frame = frame.filter(rest)
            if frame.height:
                is_empty = False
                yield _ordered(frame, names)
            if missing == 0:
                break
        if is_empty:
            yield self._shown(schema.empty_table(), names, fixed)

    def is_unread(self, with_columns: Sequence[str] | None, predicate: pl.Expr | None) -> bool:
        """Whether columns are named because the predicate names them, and no other part of Polars' plan uses them.

        Polars counts rows then, and selects the column without values. This is assumed of checked versions alone.
        """
        is_count = with_columns is not None and self.rows_name in with_columns
        return _ROWS_ARE_ALL and is_count and predicate is not None

    def _parts(self, predicate: pl.Expr | None, n_rows: int | None) -> Divided:
        """Divide a predicate; what asks for the first rows filters them afterwards.

        Polars says both for ``frame.head(n).filter(...)`` alone. It keeps ``frame.filter(...).head(n)`` for itself.
        """
        if predicate is None:
            return _EVERYTHING
        return Divided(None, predicate, {}) if n_rows is not None else divided(predicate, self.rows.schema)

    def _counted(
        self, num_rows: int, n_rows: int | None, names: Sequence[str], fixed: _Constants
    ) -> Iterator[pl.DataFrame]:
        """Yield frames of which no column is read, for rows that were counted."""
        left = num_rows if n_rows is None else min(num_rows, n_rows)
        sizes = [min(_COUNTED_ROWS, left - start) for start in range(0, left, _COUNTED_ROWS)] or [0]
        for size in sizes:
            yield _ordered(self._with_fixed(self._nulls(size).to_frame(), fixed), names)

    def _with_fixed(self, frame: pl.DataFrame, fixed: _Constants) -> pl.DataFrame:
        """Add columns with one value each."""
        texts = [pl.lit(value, self.types[name]).alias(name) for name, value in fixed.items() if value is not None]
        for name in [name for name, value in fixed.items() if value is None]:
            # `with_columns` would run a query for this. A text would be copied for each row here.
            none = pl.Series(name, [None], self.types[name])
            frame.insert_column(frame.width, none.new_from_index(0, frame.height))
        return frame.with_columns(texts) if texts else frame

    def _nulls(self, size: int) -> pl.Series:
        # `repeat` would run a query for this.
        return self._null.new_from_index(0, size)

    @cached_property
    def _null(self) -> pl.Series:
        return pl.Series(self.rows_name, [None], pl.Null)

    def _shown(
        self,
        table: pa.Table,
        names: Sequence[str],
        fixed: _Constants = _NOTHING,
    ) -> pl.DataFrame:
        """Return a frame of some columns; that without values is added, and those of one value."""
        frame = self._with_fixed(_frame(table), fixed)
        wanted = list(dict.fromkeys(names))
        if self.rows_name in wanted:
            frame.insert_column(min(wanted.index(self.rows_name), frame.width), self._nulls(frame.height))
        return _ordered(frame, wanted)


def _frame(table: pa.Table) -> pl.DataFrame:
    """Convert rows."""
    found = pl.from_arrow(table)
    assert isinstance(found, pl.DataFrame)
    return found


def _ordered(frame: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return some columns in order; frames that have them so are returned as they are: `select` runs a query."""
    return frame if frame.columns == list(names) else frame.select(names)


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_))
