"""`SortKey`: a column to order rows by; its values as a class (value, NaN, null) and a value that Arrow sorts.

Arrow puts NaN between values and nulls, in either direction. Its options for nulls differ between versions, and nulls
of several columns cannot be placed by all of them. So the class is a sort key of its own, before the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow.arrays.column_tree import LeafNode, storage_type
from lance_arrow.choices import NullPlacement, Order, check_choice, names
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.late_arrow import pc

OrderBy: TypeAlias = "str | Sequence[str | tuple[str, Order] | tuple[str, Order, NullPlacement]]"
"""A column, or several, the first one deciding: name, direction (default: ascending), place of nulls (at the end)."""
NAN_CLASS = 1
# Half floats and small decimals have no sort kernels; each of their values is one of the wider type. Strings of many
# batches may need offsets of 64 bits.
_WIDER = {
    pa.string().id: lambda type_: pa.large_string(),
    pa.binary().id: lambda type_: pa.large_binary(),
    pa.float16().id: lambda type_: pa.float32(),
    pa.decimal32(1).id: lambda type_: pa.decimal128(type_.precision, type_.scale),
    pa.decimal64(1).id: lambda type_: pa.decimal128(type_.precision, type_.scale),
    pa.string_view().id: lambda type_: pa.large_string(),
    pa.binary_view().id: lambda type_: pa.large_binary(),
}


class Bound(NamedTuple):
    """A value of a key that rows are compared with: its class, and the value where that is the class of values."""

    rank: int
    value: pa.Scalar


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """Values of a key.

    Parameters
    ----------
    ranks
        ``(n,) uint8`` classes; lower ones come first.
    values
        The values, of a type that Arrow sorts; arbitrary where the class is not that of values.
    """

    ranks: NDArray[np.uint8]
    values: pa.Array

    def at(self, row: int) -> Bound:
        """Return one row as a bound."""
        return Bound(int(self.ranks[row]), self.values[row])


@dataclass(frozen=True, slots=True)
class SortKey:
    """A column that rows are ordered by.

    Parameters
    ----------
    name
        Dotted path.
    order
        Direction of the values.
    nulls
        Where nulls are, and NaN beside them.
    """

    name: str
    order: Order = "ascending"
    nulls: NullPlacement = "at_end"

    @property
    def value_class(self) -> int:
        """Class of values that are neither null nor NaN."""
        return 0 if self.nulls == "at_end" else 2

    @property
    def null_class(self) -> int:
        """Class of nulls."""
        return 2 - self.value_class

    def column(self, array: pa.Array) -> KeyColumn:
        """Convert values of the column."""
        values = as_sortable(array)
        ranks = np.full(len(values), self.value_class, np.uint8)
        if pa.types.is_floating(values.type):
            ranks[pc.fill_null(pc.is_nan(values), False).to_numpy(zero_copy_only=False)] = NAN_CLASS
        if values.null_count:
            ranks[values.is_null().to_numpy(zero_copy_only=False)] = self.null_class
        return KeyColumn(ranks, values)

    def compare(self, column: KeyColumn, bound: Bound) -> NDArray[np.int8]:
        """Return -1 for values before a bound, 0 for equal ones, 1 for those after it, ``(n,) int8``."""
        signs = np.sign(column.ranks.astype(np.int8) - np.int8(bound.rank))
        if bound.rank != self.value_class:
            return signs
        equal = signs == 0
        less, greater = (
            pc.fill_null(compare(column.values, bound.value), False).to_numpy(zero_copy_only=False)
            for compare in (pc.less, pc.greater)
        )
        if self.order == "descending":
            less, greater = greater, less
        signs[equal & less], signs[equal & greater] = -1, 1
        return signs

    def check(self, leaf: LeafNode | None) -> None:
        """Raise `InvalidArgumentError` for columns whose values have no order; None stands for structs and lists."""
        type_ = None if leaf is None or leaf.is_blob else leaf.field.type
        self.check_type(type_)

    def check_type(self, type_: pa.DataType | None) -> None:
        """Raise `InvalidArgumentError` for a type whose values have no order."""
        if type_ is not None:
            storage = storage_type(type_)
            of = storage_type(storage.value_type) if isinstance(storage, pa.DictionaryType) else storage
            if not pa.types.is_nested(of) and not pa.types.is_union(of):
                return
        of_type = "a blob, struct or list" if type_ is None else f"of type {type_}"
        raise InvalidArgumentError(
            f"rows cannot be ordered by column {self.name!r}, which is {of_type}; expected single values",
            detail=self.name,
        )


def sort_keys(order_by: OrderBy | None) -> tuple[SortKey, ...]:
    """Read what a caller gave as `order_by`; no key for None.

    Raises
    ------
    InvalidArgumentError
        It has another form, an unknown direction, or a column twice.
    """
    if order_by is None:
        return ()
    given: Any = (order_by,) if isinstance(order_by, str) else order_by
    if not isinstance(given, Sequence) or not given:
        raise _misformed(order_by)
    keys = tuple(_key(one) for one in given)
    columns = [key.name for key in keys]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise InvalidArgumentError(f"order_by names column {twice!r} twice", detail=twice)
    return keys


def _key(given: Any) -> SortKey:
    if isinstance(given, str):
        return SortKey(given)
    if not isinstance(given, (tuple, list)) or not 1 <= len(given) <= 3 or not isinstance(given[0], str):
        raise _misformed(given)
    key = SortKey(*given)
    check_choice(f"the order of column {key.name!r}", names(Order), key.order)
    check_choice(f"the place of nulls of column {key.name!r}", names(NullPlacement), key.nulls)
    return key


def _misformed(given: object) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"order_by has {given!r}, expected a column or a list such as [('a', 'descending'), 'b']", detail=given
    )


def as_sortable(array: pa.Array) -> pa.Array:
    """Convert values to a type that Arrow sorts and compares, in the same order."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if isinstance(array, pa.DictionaryArray):
        return as_sortable(array.dictionary_decode())
    if pa.types.is_null(array.type):
        # Null has no comparisons.
        return array.cast(pa.int8())
    wider = _WIDER.get(array.type.id)
    return array if wider is None else array.cast(wider(array.type))


def in_order(keys: Sequence[SortKey], columns: Sequence[KeyColumn], positions: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the order of rows, ``(n,) int64`` indices; rows with equal keys are in the order of their positions."""
    arrays: list[pa.Array] = []
    orders: list[tuple[str, Order]] = []
    for key, column in zip(keys, columns, strict=True):
        if len(column.ranks) and column.ranks.min() != column.ranks.max():
            orders.append((str(len(arrays)), "ascending"))
            arrays.append(pa.array(column.ranks))
        orders.append((str(len(arrays)), key.order))
        arrays.append(column.values)
    # Arrow's sort is stable.
    if (np.diff(positions) < 0).any():
        orders.append((str(len(arrays)), "ascending"))
        arrays.append(pa.array(positions))
    batch = pa.RecordBatch.from_arrays(arrays, [str(number) for number in range(len(arrays))])
    found: NDArray[np.int64] = pc.sort_indices(batch, sort_keys=orders).to_numpy().astype(np.int64)
    return found


def joined(columns: Sequence[KeyColumn]) -> KeyColumn:
    """Put values of a key one after another."""
    if len(columns) == 1:
        return columns[0]
    ranks = np.concatenate([column.ranks for column in columns])
    return KeyColumn(ranks, pa.concat_arrays([column.values for column in columns]))


def picked(column: KeyColumn, rows: NDArray[Any]) -> KeyColumn:
    """Return some values of a key, by their indices or flags."""
    indices = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    return KeyColumn(column.ranks[indices], column.values.take(pa.array(indices)))
