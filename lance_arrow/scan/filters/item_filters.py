"""`ItemFilters`: conditions on columns that come as dictionaries, evaluated once for each item in place of each row.

mode = 'AIR' AND quantity < 24 ─► mode = 'AIR': flags of 7 items, taken by the codes
                               └► quantity < 24: by Arrow, row by row
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from functools import reduce
from operator import and_
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from lance_arrow import engine
from lance_arrow.arrays.column_paths import parse_dot_path
from lance_arrow.arrays.column_tree import ItemJudge
from lance_arrow.arrays.view_arrays import codes_of
from lance_arrow.scan.filters.judges import Judge, flags_of

_MOST_REMEMBERED_BYTES = 256 << 10


class ItemFilters:
    """A filter whose parts, joined by AND, partly ask for one column of strings each.

    Parameters
    ----------
    native
        The bridge.
    schema
        Schema that the filter is bound to: dictionary columns are their values in it.
    of_items
        Column and condition of such parts.
    rest
        All other parts as one bound filter; None if there are none.
    rest_names
        The columns that these ask for.
    """

    def __init__(
        self,
        native: ModuleType,
        schema: pa.Schema,
        of_items: Sequence[tuple[str, pc.Expression]],
        rest: pc.Expression | None,
        rest_names: frozenset[str],
    ) -> None:
        self._native, self._schema = native, schema
        self._of_items, self._rest, self._rest_names = tuple(of_items), rest, rest_names
        self.names = frozenset([name for name, _ in self._of_items]) - rest_names
        """The columns that no other part asks for."""
        # Batches of one page have equal dictionaries: the flags of the last one of each part.
        self._known: list[tuple[pa.Array, NDArray[np.uint8]] | None] = [None] * len(self._of_items)

    @property
    def are_all(self) -> bool:
        """Whether one part is the whole filter."""
        return self._rest is None and len(self._of_items) == 1

    @classmethod
    def of(
        cls, native: ModuleType, bound: pc.Expression, texts: Collection[str], schema: pa.Schema
    ) -> ItemFilters | None:
        """Divide a filter that gives the same for equal rows.

        Parameters
        ----------
        native
            The bridge.
        bound
            The filter, bound to `schema`.
        texts
            Columns of strings.
        schema
            Schema of the rows, with values in place of dictionaries and views.

        Returns
        -------
        ItemFilters or None
            None where no part asks for one column of strings alone.
        """
        of_items: dict[str, list[pc.Expression]] = {}
        rest: list[pc.Expression] = []
        others: set[str] = set()
        for part in native.conjuncts(bound):
            paths = [parse_dot_path(path) for path in native.mentioned_columns(part, schema)]
            if len(paths) == 1 and len(paths[0]) == 1 and paths[0][0] in texts:
                of_items.setdefault(paths[0][0], []).append(part)
            else:
                rest.append(part)
                others |= {path[0] for path in paths}
        if not of_items:
            return None
        joined = [(name, native.bind(reduce(and_, parts), schema)) for name, parts in of_items.items()]
        left = native.bind(reduce(and_, rest), schema) if rest else None
        return cls(native, schema, joined, left, frozenset(others))

    def for_scan(self) -> ItemFilters:
        """Return the same parts without the dictionaries of another scan."""
        found = copy(self)
        found._known = [None] * len(self._of_items)
        return found

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None) -> pa.Array | None:
        """Return which rows satisfy the filter; None where evaluating each row is as fast.

        Raises
        ------
        pyarrow.ArrowException
            A condition fails for an item, which a row need not have.
        """
        judged = {name for name, _ in self._of_items if self._is_judged(batch, name)}
        if not judged and not any([self._has_items(batch, name) for name, _ in self._of_items]):
            return None
        found = None if self._rest is None else self._of_rest(self._rest, batch, pool)
        for number, (name, part) in enumerate(self._of_items):
            if name in judged:
                mask = batch.column(name)
            elif self._has_items(batch, name):
                mask = self._rows_with(batch.column(name), number, pool)
            else:
                mask = self._native.evaluate(part, self._schema, batch.select([name]), pool)
            found = mask if found is None else pc.and_(found, mask, memory_pool=pool)
        return found

    def _of_rest(self, rest: pc.Expression, batch: pa.RecordBatch, pool: pa.MemoryPool | None) -> pa.Array:
        # Arrow decodes all dictionaries of a batch, whether the expression asks for them or not.
        names = [name for name in batch.schema.names if name in self._rest_names]
        return self._native.evaluate(rest, self._schema, batch.select(names) if names else batch, pool)

    def judge(self, name: str) -> ItemJudge | None:
        """Return what judges items of a column; None where null cannot be judged."""
        part = next(part for own, part in self._of_items if own == name)
        return Judge.of(self._native, self._schema, name, part)

    def _is_judged(self, batch: pa.RecordBatch, name: str) -> bool:
        """Whether a column of strings came as flags of its rows."""
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
        name, part = self._of_items[number]
        found = flags_of(self._native, self._schema, name, part, items, pool)
        if items.nbytes <= _MOST_REMEMBERED_BYTES:
            self._known[number] = items, found
        return found

    def _rows_with(self, column: pa.DictionaryArray, number: int, pool: pa.MemoryPool | None) -> pa.Array:
        indices = column.indices
        known = self._flags(column.dictionary, number, pool)
        # Codes of nulls may be any number.
        bits = pa.allocate_buffer((len(column) + 7) // 8, pool)
        codes, width = codes_of(column)
        engine.flags_of_codes(codes, width, known[:-1], np.frombuffer(bits, np.uint8))
        mask = pa.Array.from_buffers(pa.bool_(), len(column), [None, bits], 0)
        if not indices.null_count:
            return mask
        nulls = indices.is_null()
        return pc.or_(mask, nulls) if known[-1] else pc.and_not(mask, nulls)
