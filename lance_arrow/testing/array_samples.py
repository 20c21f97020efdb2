"""Columns for tests of array encodings: values, nulls, lists and dictionaries, and the expected results of reading.

Results are compared as plain Python values, one per row. Nulls are None. Values with a width or length are bytes.
Fixed-size lists and structs are tuples of items or fields. Lists are the numbers of their items.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from lance_arrow.spi import BlockShape, BlockSlice, FixedSizeList, FixedWidth, LeafType, PackedStruct, VariableWidth
from lance_arrow.spi.layouts import NodeKind
from lance_arrow.testing.samples import Sample, filled, make_sample

NULL_NAMES = ("no nulls", "some nulls", "all nulls")
STRANGE_LEAVES = (
    LeafType(FixedWidth(1)),
    LeafType(FixedWidth(32)),
    LeafType(FixedWidth(256)),
    LeafType(VariableWidth(32)),
    LeafType(VariableWidth(64), is_text=True),
    LeafType(FixedSizeList(FixedWidth(8), 3)),
    LeafType(PackedStruct((FixedWidth(8), FixedWidth(64)))),
    LeafType(FixedWidth(8), items=VariableWidth(32)),
    LeafType(None),
    LeafType(None, (NodeKind.LIST,)),
)
"""Columns that an encoding may get by mistake, for reading or writing."""
_NUM_ITEMS = 7
_LONGEST_LIST = 300


@dataclass(frozen=True, slots=True, eq=False)
class ArraySample:
    """Rows of one column.

    Parameters
    ----------
    leaf
        Schema of the column.
    num_values
        Rows; lists count as one each.
    values
        Value of each row, also under nulls; None for lists and for columns without values. If the leaf keeps its
        dictionary: indices into `items`.
    nulls
        ``(num_values,) bool``; None if no row is null.
    items
        Items of the dictionary that the leaf keeps; at most seven.
    ends
        For the column of a list: ``(num_values,) int64``, the end of the items of each list. Null lists may have items.
    """

    leaf: LeafType
    num_values: int
    values: Sample | None = None
    nulls: NDArray[np.bool_] | None = None
    items: Sample | None = None
    ends: NDArray[np.int64] | None = None

    @property
    def num_items(self) -> int:
        """Items of all lists."""
        return 0 if self.ends is None or not len(self.ends) else int(self.ends[-1])

    @property
    def validity(self) -> bytes:
        """A bit per row, 1 where it is valid, least significant first."""
        nulls = np.zeros(self.num_values, np.bool_) if self.nulls is None else self.nulls
        return np.packbits(~nulls, bitorder="little").tobytes()

    def rows(self) -> list[Any]:
        """Expected result of reading, one value per row."""
        if self.ends is not None:
            found: list[Any] = list(zip([0, *self.ends.tolist()][:-1], self.ends.tolist(), strict=True))
            found = [pair if pair[0] < pair[1] else () for pair in found]
        elif self.values is None:
            found = [()] * self.num_values
        else:
            found = python_values(filled(self.values))
        if self.items is not None and self.values is not None:
            items = python_values(filled(self.items))
            found = [items[index] for index in self.values.items.tolist()]
        return found if self.nulls is None else with_nulls(found, self.nulls)

    def cleared(self) -> ArraySample:
        """Return the rows as an encoder gets them: zero, empty or without items under nulls."""
        if self.nulls is None:
            return self
        if self.ends is not None:
            lengths = np.where(self.nulls, 0, np.diff(self.ends, prepend=0))
            return replace(self, ends=np.cumsum(lengths))
        return self if self.values is None else replace(self, values=_cleared(self.values, self.nulls))


@dataclass(frozen=True, slots=True, eq=False)
class EncodedArraySample:
    """Result of `ArraySuite.encode`: a description, and the page buffers that it names."""

    description: Message
    buffers: tuple[bytes, ...] = ()


def make_array_sample(leaf: LeafType, shape: BlockShape | None, name: str, nulls: str, num_values: int) -> ArraySample:
    """Make a sample.

    Parameters
    ----------
    leaf
        Schema of the column.
    shape
        Shape of the decoded values, with item validity of fixed-size lists; None for columns without values.
    name
        One of `lance_arrow.testing.samples.SAMPLE_NAMES`; it also decides the lists and dictionary.
    nulls
        One of `NULL_NAMES`.
    num_values
        Rows of the sample "exactly full chunk"; longer samples have 2 * `num_values` + 7 rows.
    """
    plain = make_sample(FixedWidth(8) if shape is None else shape, name, num_values)
    made = ArraySample(leaf, plain.num_values, None if shape is None else plain)
    chance = np.random.default_rng(len(name) + 7 * len(nulls))
    if leaf.items is not None:
        indices = chance.integers(0, _NUM_ITEMS, plain.num_values).astype(plain.items.dtype)
        items = make_sample(leaf.items, "extremes" if plain.num_values < 2 else name, _NUM_ITEMS).part(0, _NUM_ITEMS)
        if name in ("all equal", "one value"):
            indices[:] = _NUM_ITEMS - 1
        made = replace(made, values=Sample(plain.shape, plain.num_values, indices), items=items)
    if leaf.nodes == (NodeKind.LIST,):
        longest = {"all equal": 2, "extremes": _LONGEST_LIST, "maximum width": 50}.get(name, 5)
        lengths = chance.integers(0, longest + 1, plain.num_values)
        if name == "all equal":
            lengths[:] = longest
        if name == "extremes":
            lengths = np.where(np.arange(plain.num_values) % 2, 0, longest)
        made = replace(made, ends=np.cumsum(lengths).astype(np.int64))
    return made if nulls == "no nulls" else replace(made, nulls=_nulls(nulls, plain.num_values, chance))


def python_values(block: BlockSlice) -> list[Any]:
    """Return the values of a decoded block in the form of `ArraySample.rows`; a boolean is one byte."""
    shape = block.shape
    if isinstance(shape, PackedStruct):
        return list(zip(*map(python_values, block.fields), strict=True))
    if isinstance(shape, VariableWidth):
        offsets = block.offsets.view(f"<i{shape.offset_bits // 8}").tolist()
        base = offsets[0]
        assert offsets == sorted(offsets), "offsets descend"
        assert offsets[-1] - base == len(block.values), "the last offset is not the end of the bytes"
        data = block.values.tobytes()
        return [data[start - base : stop - base] for start, stop in pairwise(offsets)]
    if isinstance(shape, FixedSizeList):
        return _lists(block, shape)
    if shape.bits == 1:
        bits = np.unpackbits(block.values, bitorder="little")[block.bit_offset :]
        return [bytes([bit]) for bit in bits[: block.num_values].tolist()]
    width, data = shape.bytes_per_value, block.values.tobytes()
    return [data[at * width : (at + 1) * width] for at in range(block.num_values)]


def with_nulls(values: list[Any], nulls: NDArray[np.bool_]) -> list[Any]:
    """Replace null rows by None."""
    return [None if is_null else value for value, is_null in zip(values, nulls.tolist(), strict=True)]


def _lists(block: BlockSlice, shape: FixedSizeList) -> list[Any]:
    size, inner = shape.dimension, block.validity
    own = None
    if shape.has_validity:
        own, *rest = block.validity
        inner = tuple(rest)
    items = python_values(
        BlockSlice(shape.items, block.num_values * size, block.values, block.bit_offset, validity=inner)
    )
    if own is not None:
        bits = np.unpackbits(own.values, bitorder="little")[own.bit_offset :][: len(items)]
        items = with_nulls(items, bits == 0)
    return [tuple(items[at * size : (at + 1) * size]) for at in range(block.num_values)]


def _nulls(name: str, num_values: int, chance: np.random.Generator) -> NDArray[np.bool_]:
    if name == "all nulls":
        return np.ones(num_values, np.bool_)
    nulls: NDArray[np.bool_] = chance.random(num_values) < 0.3
    # The first and the last row, to find off-by-one errors.
    nulls[:1] = nulls[-1:] = True
    return nulls


def _cleared(values: Sample, nulls: NDArray[np.bool_]) -> Sample:
    if isinstance(values.shape, PackedStruct):
        return replace(values, fields=tuple(_cleared(field, nulls) for field in values.fields))
    if isinstance(values.items, list):
        return replace(values, items=[b"" if null else one for one, null in zip(values.items, nulls, strict=True)])
    items = values.items.copy()
    each = items.reshape(len(nulls), -1) if len(nulls) else items
    each[nulls] = 0
    return replace(values, items=items)
