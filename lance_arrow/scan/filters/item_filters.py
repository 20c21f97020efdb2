"""`ItemFilters`: conditions on one column each, judged where its values are decoded, or once for each item.

mode = 'AIR' AND (quantity < 24 OR price < cost) ─► mode = 'AIR': flags of 7 items, taken by the codes
                                                 ├► quantity < 24: numbers up to 23, marked as they are decoded
                                                 └► price < cost: by Arrow, row by row
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.arrays.arrow_arrays import batch_without_columns
from lance_arrow.arrays.column_paths import parse_dot_path
from lance_arrow.arrays.view_arrays import codes_of
from lance_arrow.scan.filters.bound_filters import flags_of
from lance_arrow.scan.filters.judges import Judge
from lance_arrow.scan.predicates import MISFITS

_MOST_REMEMBERED_BYTES = 256 << 10
_DEEPEST = 8
"""Deeper parts are evaluated for each row."""


@dataclass(frozen=True, slots=True)
class _Joined:
    """Parts of a filter that are joined by AND, or by OR.

    Parameters
    ----------
    is_or
        Whether by OR.
    of_items
        Numbers of the conditions on one column each.
    inner
        Parts that are joined by the other.
    rest
        All other parts as one bound filter; None if there are none.
    rest_names
        The columns that these ask for.
    """

    is_or: bool
    of_items: tuple[int, ...]
    inner: tuple[_Joined, ...]
    rest: pc.Expression | None
    rest_names: frozenset[str]

    @property
    def all_rest_names(self) -> frozenset[str]:
        """The columns that parts ask for which are not conditions on one column."""
        return self.rest_names.union(*[one.all_rest_names for one in self.inner])


class ItemFilters:
    """A filter whose parts, joined by AND and OR, partly ask for one column of strings, or numbers, each.

    Parameters
    ----------
    native
        What `installed_expressions` returns.
    schema
        Schema that the filter is bound to: dictionary columns are their values in it.
    conditions
        Column and condition of such parts.
    joined
        How they are joined, with the other parts.
    """

    def __init__(
        self, native: ModuleType, schema: pa.Schema, conditions: Sequence[tuple[str, pc.Expression]], joined: _Joined
    ) -> None:
        self._native, self._schema, self._joined = native, schema, joined
        self._conditions = tuple(conditions)
        self.names = frozenset([name for name, _ in conditions]) - joined.all_rest_names
        """The columns that no other part asks for."""
        # Batches of one page have equal dictionaries: the flags of the last one of each part.
        self._known: list[tuple[pa.Array, NDArray[np.uint8]] | None] = [None] * len(self._conditions)

    @property
    def are_all(self) -> bool:
        """Whether one part is the whole filter."""
        joined = self._joined
        return len(self._conditions) == 1 and joined.rest is None and not joined.inner

    @classmethod
    def of(
        cls, native: ModuleType, bound: pc.Expression, columns: Collection[str], schema: pa.Schema
    ) -> ItemFilters | None:
        """Divide a filter that gives the same for equal rows.

        Parameters
        ----------
        native
            What `installed_expressions` returns.
        bound
            The filter, bound to `schema`.
        columns
            Columns of strings and numbers.
        schema
            Schema of the rows, with values in place of dictionaries and views.

        Returns
        -------
        ItemFilters or None
            None where no part asks for one of these columns alone.
        """
        division = _Division(native, columns, schema)
        joined = division.of(bound, is_or=False, depth=0)
        return None if joined is None else cls(native, schema, division.conditions, joined)

    def for_scan(self) -> ItemFilters:
        """Return the same parts without the dictionaries of another scan."""
        found = copy(self)
        found._known = [None] * len(self._conditions)
        return found

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None) -> pa.Array | None:
        """Return which rows satisfy the filter; None where evaluating each row is as fast.

        Raises
        ------
        pyarrow.ArrowException
            A condition fails for a row.
        """
        names = dict.fromkeys([name for name, _ in self._conditions])
        judged = {name for name in names if self._is_judged(batch, name)}
        if not judged and not any([self._has_items(batch, name) for name in names]):
            return None
        return self._mask(self._joined, batch, judged, pool)

    def _mask(
        self, joined: _Joined, batch: pa.RecordBatch, judged: Collection[str], pool: pa.MemoryPool | None
    ) -> pa.Array:
        found = None if joined.rest is None else self._of_rest(joined.rest, joined.rest_names, batch, pool)
        # Null counts as no at the end, but must not hide what another part of an OR says.
        join = pc.or_kleene if joined.is_or else pc.and_
        for number in joined.of_items:
            name, part = self._conditions[number]
            if name in judged:
                mask = batch.column(name)
            else:
                mask = self._rows_with(batch.column(name), number, pool) if self._has_items(batch, name) else None
                if mask is None:
                    mask = self._of_rest(part, frozenset((name,)), batch, pool)
            found = mask if found is None else join(found, mask, memory_pool=pool)
        for inner in joined.inner:
            mask = self._mask(inner, batch, judged, pool)
            found = mask if found is None else join(found, mask, memory_pool=pool)
        return found

    def _of_rest(
        self, rest: pc.Expression, rest_names: frozenset[str], batch: pa.RecordBatch, pool: pa.MemoryPool | None
    ) -> pa.Array:
        # Arrow decodes all dictionaries of a batch, whether the expression asks for them or not. Flags are not what the
        # schema says of their column.
        names = [name for name in batch.schema.names if name in rest_names]
        asked = batch.select(names) if names else batch_without_columns(batch.num_rows)
        return self._native.evaluate(rest, self._schema, asked, pool)

    def judge(self, name: str) -> Judge | None:
        """Return what judges items of a column; None where null cannot be, or where several conditions ask for it."""
        parts = [part for own, part in self._conditions if own == name]
        return Judge.of(self._native, self._schema, name, parts[0]) if len(parts) == 1 else None

    def _is_judged(self, batch: pa.RecordBatch, name: str) -> bool:
        """Whether a column came as flags of its rows."""
        place = batch.schema.get_field_index(name)
        return place >= 0 and bool(pa.types.is_boolean(batch.schema.field(place).type))

    def _has_items(self, batch: pa.RecordBatch, name: str) -> bool:
        """Whether a column is a dictionary of fewer items than rows."""
        place = batch.schema.get_field_index(name)
        type_ = batch.schema.field(place).type if place >= 0 else None
        if not isinstance(type_, pa.DictionaryType) or type_.value_type != self._schema.field(name).type:
            return False
        return len(batch.column(place).dictionary) < batch.num_rows

    def _flags(self, items: pa.Array, number: int, pool: pa.MemoryPool | None) -> NDArray[np.uint8]:
        """Return whether each item satisfies a part, and behind them whether null does."""
        known = self._known[number]
        if known is not None and known[0].equals(items):
            return known[1]
        name, part = self._conditions[number]
        found = flags_of(self._native, self._schema, name, part, items, pool)
        if items.nbytes <= _MOST_REMEMBERED_BYTES:
            self._known[number] = items, found
        return found

    def _rows_with(self, column: pa.DictionaryArray, number: int, pool: pa.MemoryPool | None) -> pa.Array | None:
        """Return which rows have an item that satisfies a part; None where it fails for one, which no row may have."""
        indices = column.indices
        try:
            known = self._flags(column.dictionary, number, pool)
        except MISFITS:
            return None
        # Codes of nulls may be any number.
        bits = pa.allocate_buffer((len(column) + 7) // 8, pool)
        codes, width = codes_of(column)
        engine.flags_of_codes(codes, width, known[:-1], np.frombuffer(bits, np.uint8))
        mask = pa.Array.from_buffers(pa.bool_(), len(column), [None, bits], 0)
        if not indices.null_count:
            return mask
        nulls = indices.is_null()
        return pc.or_(mask, nulls) if known[-1] else pc.and_not(mask, nulls)


class _Division:
    """Divides a filter: parts that ask for one of some columns alone become `conditions`."""

    def __init__(self, native: ModuleType, columns: Collection[str], schema: pa.Schema) -> None:
        self._native, self._columns, self._schema = native, columns, schema
        self.conditions: list[tuple[str, pc.Expression]] = []

    def of(self, bound: pc.Expression, *, is_or: bool, depth: int) -> _Joined | None:
        """Divide what is joined by AND, or by OR; None where no part asks for one of the columns alone."""
        parts = self._native.operands(bound, of_or=is_or)
        if depth > _DEEPEST or (depth and len(parts) == 1):
            return None
        of_items: dict[str, list[pc.Expression]] = {}
        rest: list[pc.Expression] = []
        others: set[str] = set()
        joined: list[_Joined] = []
        for part in parts:
            paths = [parse_dot_path(path) for path in self._native.mentioned_columns(part, self._schema)]
            if len(paths) == 1 and len(paths[0]) == 1 and paths[0][0] in self._columns:
                of_items.setdefault(paths[0][0], []).append(part)
                continue
            has_columns = any([path[0] in self._columns for path in paths])
            inner = self.of(part, is_or=not is_or, depth=depth + 1) if has_columns else None
            if inner is not None:
                joined.append(inner)
            else:
                rest.append(part)
                others |= {path[0] for path in paths}
        if not of_items and not joined:
            return None
        first = len(self.conditions)
        self.conditions += [(name, self._bound(of_one, is_or=is_or)) for name, of_one in of_items.items()]
        numbers = tuple(range(first, len(self.conditions)))
        left = self._bound(rest, is_or=is_or) if rest else None
        return _Joined(is_or, numbers, tuple(joined), left, frozenset(others))

    def _bound(self, parts: Sequence[pc.Expression], *, is_or: bool) -> pc.Expression:
        return self._native.bind(reduce(or_ if is_or else and_, parts), self._schema)
