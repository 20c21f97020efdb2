"""`ItemFilters`: conditions on dictionary columns, evaluated once for each item in place of each row.

mode = 'AIR' AND quantity < 24 ─► mode = 'AIR': flags of 7 items, taken by the codes
                               └► quantity < 24: by Arrow, row by row
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from types import ModuleType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow import engine
from lance_arrow.arrays.column_paths import parse_dot_path
from lance_arrow.arrays.view_arrays import codes_of


class ItemFilters:
    """A filter whose parts, joined by AND, partly ask for one dictionary column each.

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
    """

    def __init__(
        self,
        native: ModuleType,
        schema: pa.Schema,
        of_items: Sequence[tuple[str, pc.Expression]],
        rest: pc.Expression | None,
    ) -> None:
        self._native, self._schema = native, schema
        self._of_items, self._rest = tuple(of_items), rest

    @classmethod
    def of(cls, native: ModuleType, bound: pc.Expression, stored: pa.Schema, schema: pa.Schema) -> ItemFilters | None:
        """Divide a filter that gives the same for equal rows.

        Parameters
        ----------
        native
            The bridge.
        bound
            The filter, bound to `schema`.
        stored
            Schema of the rows.
        schema
            The same, with values in place of dictionaries.

        Returns
        -------
        ItemFilters or None
            None where no part asks for one dictionary column alone.
        """
        of_items, rest = [], []
        for part in native.conjuncts(bound):
            paths = [parse_dot_path(path) for path in native.mentioned_columns(part, schema)]
            name = paths[0][0] if len(paths) == 1 and len(paths[0]) == 1 else None
            type_ = None if name is None else stored.field(name).type
            if name is not None and isinstance(type_, pa.DictionaryType):
                of_items.append((name, part))
            else:
                rest.append(part)
        if not of_items:
            return None
        return cls(native, schema, of_items, native.bind(reduce(and_, rest), schema) if rest else None)

    def mask(self, batch: pa.RecordBatch, pool: pa.MemoryPool | None) -> pa.Array | None:
        """Return which rows satisfy the filter; None where evaluating each row is as fast, or columns have other types.

        Raises
        ------
        pyarrow.ArrowException
            A condition fails for an item, which a row need not have.
        """
        for name, _ in self._of_items:
            place = batch.schema.get_field_index(name)
            type_ = batch.schema.field(place).type if place >= 0 else None
            if not isinstance(type_, pa.DictionaryType) or type_.value_type != self._schema.field(name).type:
                return None
            if len(batch.column(place).dictionary) >= batch.num_rows:
                return None
        found = None if self._rest is None else self._native.evaluate(self._rest, self._schema, batch, pool)
        for name, part in self._of_items:
            mask = self._rows_with(batch.column(name), name, part, pool)
            found = mask if found is None else pc.and_(found, mask, memory_pool=pool)
        return found

    def _rows_with(
        self, column: pa.DictionaryArray, name: str, part: pc.Expression, pool: pa.MemoryPool | None
    ) -> pa.Array:
        items, indices = column.dictionary, column.indices
        # Behind all items a null, for rows without one.
        few = pa.RecordBatch.from_arrays([pa.concat_arrays([items, pa.nulls(1, items.type)], pool)], [name])
        flags = self._native.evaluate(part, self._schema, few, pool)
        # Codes of nulls may be any number. Null flags count as no.
        known = flags.fill_null(False).to_numpy(zero_copy_only=False).view(np.uint8)
        bits = pa.allocate_buffer((len(column) + 7) // 8, pool)
        codes, width = codes_of(column)
        engine.flags_of_codes(codes, width, known[: len(items)], np.frombuffer(bits, np.uint8))
        mask = pa.Array.from_buffers(pa.bool_(), len(column), [None, bits], 0)
        if not indices.null_count:
            return mask
        nulls = indices.is_null()
        return pc.or_(mask, nulls) if known[-1] else pc.and_not(mask, nulls)
