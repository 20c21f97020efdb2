"""`describe`: what is in each column of a dataset: nulls, least and greatest value, bytes.

zone maps ─► whole? ─ yes ─► counts and bounds
                    └ no ──► values of these columns, in one scan ─► counts and bounds
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrays.column_paths import project
from lance_arrow.arrow_dataset.column_statistics import ColumnStatistics, statistics_of
from lance_arrow.html_repr import html_table
from lance_arrow.runtime import default_runtime
from lance_arrow.scan.ordering.sort_keys import as_sortable
from lance_arrow.scan.predicates import MISFITS
from lance_arrow.scan.projection import column_paths, have_blobs

if TYPE_CHECKING:
    from lance_arrow.arrays.column_tree import ColumnNode
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset

_HEADER = ("column", "type", "rows", "nulls", "minimum", "maximum", "bytes")
_SHOWN_CHARACTERS = 30
_ROWS_TOGETHER = 65_536


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """One column; what is unknown is None.

    Parameters
    ----------
    name, type
        Of the column.
    num_rows
        Rows that are not deleted.
    null_count
        Rows that are null. None for blobs.
    minimum, maximum
        Least and greatest value; NaN is none. None for types without order, and where every row is null.
    num_bytes
        Bytes that the column takes in the data files, deleted rows included. None where fragments are parts of files.
    was_read
        Whether values were read, because zone maps do not tell everything.
    """

    name: str
    type: pa.DataType
    num_rows: int
    null_count: int | None
    minimum: pa.Scalar | None
    maximum: pa.Scalar | None
    num_bytes: int | None
    was_read: bool

    def texts(self) -> tuple[str, ...]:
        """Return the cells of a printed row."""
        counts = [self.num_rows, self.null_count]
        bounds = [self.minimum, self.maximum]
        shown = ["" if one is None else _cut(str(one.as_py())) for one in bounds]
        cells = [self.name, _cut(str(self.type)), *(_number(one) for one in counts), *shown, _number(self.num_bytes)]
        return tuple(cells)


@dataclass(frozen=True, slots=True)
class DatasetDescription:
    """All columns that were asked for; printable, and a table in notebooks.

    Parameters
    ----------
    columns
        One for each column, in order.
    """

    columns: tuple[ColumnDescription, ...]

    def __getitem__(self, name: str) -> ColumnDescription:
        """Return a column by its name; raises `KeyError`."""
        found = next((one for one in self.columns if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def __str__(self) -> str:
        rows = [_HEADER, *(one.texts() for one in self.columns)]
        widths = [max(len(row[place]) for row in rows) for place in range(len(_HEADER))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)

    def __repr__(self) -> str:
        names = ", ".join(one.name for one in self.columns[:5])
        more = f" and {len(self.columns) - 5:,} more" if len(self.columns) > 5 else ""
        return f"<DatasetDescription columns={len(self.columns)}: {names}{more}>"

    def _repr_html_(self) -> str:
        return html_table(_HEADER, (one.texts() for one in self.columns))


def described(dataset: LanceDataset, columns: Sequence[str] | None, *, read: bool) -> DatasetDescription:
    """Describe columns; see `LanceDataset.describe`."""
    names = list(dataset.schema.names if columns is None else columns)
    fields = list(dataset.scanner(columns=names).projected_schema)
    known = {}
    if dataset._own_filter is None:
        single = [name for name, field in zip(names, fields, strict=True) if not pa.types.is_nested(field.type)]
        known = statistics_of(dataset, single)
    num_rows = dataset.count_rows()
    made = {name: _of_statistics(field, known.get(name), num_rows) for name, field in zip(names, fields, strict=True)}
    blobs = _with_blobs(dataset, names)
    unknown = [name for name, one in made.items() if one is None and name not in blobs]
    if read and unknown:
        made.update(_of_values(dataset, unknown))
    stored = _stored_bytes(dataset, names)
    found = []
    for name, field in zip(names, fields, strict=True):
        one = made[name] or _Facts.partly(known.get(name))
        was_read = read and name in unknown
        low, high = (_shown_as(bound, field.type) for bound in (one.minimum, one.maximum))
        num_bytes = None if stored is None else stored(name)
        found.append(ColumnDescription(name, field.type, num_rows, one.null_count, low, high, num_bytes, was_read))
    return DatasetDescription(tuple(found))


@dataclass(slots=True)
class _Facts:
    """Nulls and bounds of a column, of the rows seen so far."""

    null_count: int | None = 0
    minimum: pa.Scalar | None = None
    maximum: pa.Scalar | None = None

    @classmethod
    def partly(cls, known: ColumnStatistics | None) -> _Facts:
        """Keep what is certain of statistics that do not tell everything."""
        if known is None:
            return cls(None)
        low, high = known.is_minimum_exact, known.is_maximum_exact
        return cls(known.null_count, known.minimum if low else None, known.maximum if high else None)

    def add(self, values: pa.Array) -> None:
        """See more rows."""
        assert self.null_count is not None
        self.null_count += values.null_count
        if pa.types.is_nested(values.type):
            return
        plain = as_sortable(values)
        if pa.types.is_floating(plain.type):
            plain = plain.filter(pc.invert(pc.is_nan(plain)))
        try:
            bounds = pc.min_max(plain)
        except MISFITS:
            # The type has no order.
            return
        for own, name, is_better in (("minimum", "min", pc.less), ("maximum", "max", pc.greater)):
            seen, best = bounds[name], getattr(self, own)
            if seen.is_valid and (best is None or is_better(seen, best).as_py()):
                setattr(self, own, seen)


def _of_statistics(field: pa.Field, known: ColumnStatistics | None, num_rows: int) -> _Facts | None:
    """Return what zone maps tell; None where that is not everything."""
    if not num_rows or pa.types.is_null(field.type):
        return _Facts(num_rows)
    if known is None:
        return _Facts() if pa.types.is_nested(field.type) and not field.nullable else None
    null_count = 0 if not field.nullable else known.null_count
    if null_count is None:
        return None
    has_values = null_count < num_rows and known.nan_count != num_rows - null_count
    if has_values and not (known.is_minimum_exact and known.is_maximum_exact):
        return None
    return _Facts(null_count, known.minimum, known.maximum)


def _of_values(dataset: LanceDataset, names: Sequence[str]) -> dict[str, _Facts]:
    found = {name: _Facts() for name in names}
    batches: list[pa.RecordBatch] = []
    waiting = 0

    def add() -> None:
        for number, facts in enumerate(found.values()):
            parts = [batch.column(number) for batch in batches]
            # Arrow does not put dictionaries inside of other types together.
            is_plain = not pa.types.is_nested(parts[0].type) and not pa.types.is_dictionary(parts[0].type)
            for values in [pa.concat_arrays(parts)] if is_plain else parts:
                facts.add(values)

    for batch in dataset.to_batches(columns=list(names)):
        batches.append(batch)
        waiting += batch.num_rows
        # Small batches, as of many small files, take as long as large ones.
        if waiting >= _ROWS_TOGETHER:
            add()
            batches, waiting = [], 0
    if batches:
        add()
    return found


def _shown_as(bound: pa.Scalar | None, type_: pa.DataType) -> pa.Scalar | None:
    """Return a bound in the type of the column, or of the values of a dictionary."""
    plain = type_.value_type if isinstance(type_, pa.DictionaryType) else type_
    plain = plain.storage_type if isinstance(plain, pa.BaseExtensionType) else plain
    if bound is not None and pa.types.is_floating(plain) and bound.as_py() == 0:
        # Bounds of zone maps have -0.0, as either zero may be a value.
        return pa.scalar(0.0).cast(plain)
    return bound if bound is None or bound.type == plain else bound.cast(plain)


def _with_blobs(dataset: LanceDataset, names: Sequence[str]) -> set[str]:
    """Return the columns that hold blobs: these are not read to be counted."""
    table = dataset._table
    roots: Sequence[ColumnNode] = () if table is None else table.columns.roots
    if table is None:
        opened = next((fragment.opened_rows() for fragment in dataset.fragments), None)
        roots = () if opened is None else opened[0].roots
    return {name for name in names if have_blobs(project(roots, column_paths([name], roots), missing_ok=True))}


def _stored_bytes(dataset: LanceDataset, names: Sequence[str]) -> Callable[[str], int] | None:
    """Return what sums the bytes of a column over all files; None where fragments are parts of files, or opaque."""
    table = dataset._table
    if table is not None:
        roots = table.columns.all_roots
        nodes = project(roots, column_paths(list(names), roots), missing_ok=True)
        if {node.field.name for node in nodes} == set(names):
            sums = dict.fromkeys(names, 0)
            sizes = default_runtime().each(
                lambda number: table.fragment(number).reading(nodes).column_bytes(),
                range(len(table.fragments)),
                is_far=dataset._is_far,
            )
            for own in sizes:
                for name, size in own.items():
                    sums[name] += size
            return sums.__getitem__
        sources = [table.fragment(number) for number in range(len(table.fragments))]
        return lambda name: sum(
            one.reading(project(one.roots, column_paths([name], one.roots), missing_ok=True)).stored_bytes
            for one in sources
        )
    opened = list(default_runtime().each(lambda one: one.opened_rows(), dataset.fragments, is_far=dataset._is_far))
    if any(one is None or one[1].num_rows != one[0].num_physical for one in opened):
        return None
    files = [one[0] for one in opened if one is not None]
    return lambda name: sum(
        file.reading(project(file.roots, column_paths([name], file.roots), missing_ok=True)).stored_bytes
        for file in files
    )


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARACTERS else line[: _SHOWN_CHARACTERS - 1] + "…"
