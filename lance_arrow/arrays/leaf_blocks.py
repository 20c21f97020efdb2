"""Visible values of a leaf as one block: the Arrow buffer itself if they are one range, otherwise a native copy.

Values under nulls are never kept: slots of fixed width become zero, byte strings empty, items of null lists zero and
valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lance_arrow import kernels
from lance_arrow.arrays.column_tree import LeafNode
from lance_arrow.arrays.leaf_path import buffer_view, offsets_of, storage_array
from lance_arrow.errors import CorruptPageError, InvalidArgumentError, UnsupportedError
from lance_arrow.spi import (
    NO_BYTES,
    Bitmap,
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    PackedStruct,
    VariableWidth,
)

_Runs = tuple[NDArray[np.int64], NDArray[np.int64]]


class VisibleValues(NamedTuple):
    """Slots of a leaf's chunks that are values of a page.

    Parameters
    ----------
    num_values, num_nulls
        Visible values, and those of them that are null.
    runs
        For each chunk ``starts`` and ``stops`` of its visible slots, ``(num_runs,) int64`` each.
    def_
        Definition levels of the page; None if no value is null.
    entry_starts
        ``num_chunks + 1`` offsets into `def_`.
    max_visible
        Largest level of an entry with a value.
    """

    num_values: int
    num_nulls: int
    runs: tuple[_Runs, ...]
    def_: NDArray[np.uint16] | None
    entry_starts: tuple[int, ...]
    max_visible: int

    @classmethod
    def whole(cls, num_values: int, def_: NDArray[np.uint16] | None) -> VisibleValues:
        """Return all slots of one array without a structure above it."""
        runs = ((np.zeros(1, np.int64), np.array([num_values])),) if num_values else ()
        num_nulls = 0 if def_ is None else int(np.count_nonzero(def_))
        return cls(num_values, num_nulls, runs, def_, (0, num_values)[: len(runs) + 1], 1)

    @classmethod
    def of_slots(cls, counts: Sequence[int]) -> VisibleValues:
        """Return all slots of some arrays, without nulls."""
        starts = (0, *accumulate(counts))
        runs = tuple((np.zeros(1, np.int64), np.array([count])) for count in counts)
        return cls(starts[-1], 0, runs, None, starts, 0)

    def levels_of(self, chunk: int) -> NDArray[np.uint16] | None:
        """Levels of one chunk's entries."""
        if self.def_ is None:
            return None
        return self.def_[self.entry_starts[chunk] : self.entry_starts[chunk + 1]]

    def present(self) -> Bitmap:
        """Return a bitmap with a set bit for each value that is not null."""
        bits = np.full((self.num_values + 7) // 8, 0xFF, np.uint8)
        if self.def_ is not None:
            kernels.fill_null_bits(self.def_, self.max_visible, 1, bits, False)
        return Bitmap(bits, 0, self.num_values)


def build_block(
    leaf: LeafNode, shape: BlockShape | None, arrays: Sequence[pa.Array], values: VisibleValues
) -> BlockSlice | None:
    """Gather the visible values of a leaf.

    Parameters
    ----------
    leaf
        The leaf, for its path in errors.
    shape
        Shape from the schema, without item bitmaps; None gives None.
    arrays
        Leaf arrays of storage types, one per chunk.
    values
        Slots of the arrays.

    Returns
    -------
    BlockSlice or None
        Read-only if its memory is that of an array.

    Raises
    ------
    InvalidArgumentError
        An array has another shape, or its buffers are too small for its rows. Also if offsets cannot count the bytes,
        or if text is not UTF-8.
    UnsupportedError
        JSON text; null children of a packed struct.
    """
    if shape is None:
        return None
    if isinstance(shape, PackedStruct):
        return _packed(leaf, shape, arrays, values)
    if isinstance(shape, FixedSizeList):
        return _Lists(shape, arrays, values).block()
    if isinstance(shape, VariableWidth):
        return _strings(shape, arrays, values)
    return _fixed(shape, arrays, values)


def _num_visible(runs: _Runs) -> int:
    return int((runs[1] - runs[0]).sum())


def _wrong(array: pa.Array, shape: BlockShape) -> InvalidArgumentError:
    return InvalidArgumentError(f"an array of type {array.type}, expected one whose values are {shape}")


def _fixed(shape: FixedWidth, arrays: Sequence[pa.Array], values: VisibleValues) -> BlockSlice:
    block = _copy_of_runs(shape, arrays, values.runs, values.num_values, owned=values.def_ is not None)
    if values.def_ is not None and shape.bits == 1:
        kernels.fill_null_bits(values.def_, values.max_visible, 1, block, False)
    elif values.def_ is not None:
        kernels.clear_null_values(values.def_, values.max_visible, shape.bytes_per_value, block)
    return BlockSlice(shape, values.num_values, block)


def _copy_of_runs(
    shape: FixedWidth, arrays: Sequence[pa.Array], runs: Sequence[_Runs], num_values: int, *, owned: bool
) -> Bytes:
    """Return the values of runs of each array; shares the memory of a single array if `owned` is false."""
    sources = [_fixed_source(shape, array) for array in arrays]
    if shape.bits == 1:
        # Bits after the last value are zero, unlike in Arrow buffers.
        out = np.zeros(shape.num_bytes(num_values), np.uint8)
        bit = 0
        for array, source, (starts, stops) in zip(arrays, sources, runs, strict=True):
            kernels.take_bit_runs(source, array.offset, starts, stops, out, bit)
            bit += _num_visible((starts, stops))
        return out
    width = shape.bytes_per_value
    if len(sources) == 1 and len(runs[0][0]) == 1 and not owned:
        return sources[0][int(runs[0][0][0]) * width : int(runs[0][1][0]) * width]
    out = np.empty(num_values * width, np.uint8)
    start = 0
    for source, (starts, stops) in zip(sources, runs, strict=True):
        stop = start + _num_visible((starts, stops)) * width
        if width:
            kernels.take_runs_fixed(source, width, starts, stops, out[start:stop])
        start = stop
    return out


def _fixed_source(shape: FixedWidth, array: pa.Array) -> Bytes:
    """Return the bytes of an array's slots; for bits, all bytes up to the last."""
    type_ = array.type
    if not (pa.types.is_primitive(type_) or pa.types.is_decimal(type_) or pa.types.is_fixed_size_binary(type_)):
        raise _wrong(array, shape)
    if type_.bit_width != shape.bits:
        raise _wrong(array, shape)
    buffers = array.buffers()
    view = buffer_view(buffers[1])
    start = 0 if shape.bits == 1 else array.offset * shape.bytes_per_value
    stop = shape.num_bytes(array.offset + len(array))
    if stop > len(view):
        raise InvalidArgumentError(f"an array of type {type_} has fewer bytes than its {len(array)} rows need")
    return view[start:stop]


def _strings(shape: VariableWidth, arrays: Sequence[pa.Array], values: VisibleValues) -> BlockSlice:
    width = shape.offset_bits // 8
    converted = [_plain_strings(shape, array, runs) for array, runs in zip(arrays, values.runs, strict=True)]
    offsets = np.empty(values.num_values + 1, f"i{width}")
    offsets[0] = 0
    sources = []
    place = num_bytes = 0
    span_start = 0
    for chunk, (array, runs) in enumerate(converted):
        source = (offsets_of(array, width), buffer_view(array.buffers()[2]), *runs)
        levels = values.levels_of(chunk), values.max_visible
        stop = place + _num_visible(runs)
        added, span_start = kernels.shred_offsets(
            source[0], len(source[1]), *runs, *levels, offsets[place : stop + 1], num_bytes
        )
        sources.append((source, levels, added))
        place, num_bytes = stop, num_bytes + added
    if len(sources) == 1 and span_start >= 0:
        data = sources[0][0][1][span_start : span_start + num_bytes]
    else:
        data = np.empty(num_bytes, np.uint8)
        start = 0
        for source, levels, added in sources:
            kernels.shred_bytes(*source, *levels, data[start : start + added])
            start += added
    if any(_is_text(array.type) for array in arrays):
        _check_text(offsets.view(np.uint8), shape.offset_bits, data)
    return BlockSlice(shape, values.num_values, data, offsets=offsets.view(np.uint8))


def _is_text(type_: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(type_) or types.is_large_string(type_) or types.is_string_view(type_))


def _check_text(offsets: Bytes, offset_bits: int, data: Bytes) -> None:
    """Raise for text that readers would reject; bytes under nulls were removed before."""
    try:
        kernels.check_utf8(offsets, offset_bits, data if len(data) else NO_BYTES)
    except CorruptPageError as error:
        raise InvalidArgumentError(
            "a string is not valid UTF-8: make the column binary, or repair it", detail=error.detail
        ) from error


def _plain_strings(shape: VariableWidth, array: pa.Array, runs: _Runs) -> tuple[pa.Array, _Runs]:
    """Return an array with offsets of the required width; of views, only the visible ones are converted."""
    types, type_ = pa.types, array.type
    if types.is_string_view(type_) or types.is_binary_view(type_):
        start, stop = (int(runs[0][0]), int(runs[1][-1])) if len(runs[0]) else (0, 0)
        target = pa.binary() if shape.offset_bits == 32 else pa.large_binary()
        raw = array.slice(start, stop - start).cast(pa.binary_view()).cast(target)
        return raw, (runs[0] - start, runs[1] - start)
    small = types.is_string(type_) or types.is_binary(type_)
    large = types.is_large_string(type_) or types.is_large_binary(type_)
    if not (small if shape.offset_bits == 32 else large):
        raise _wrong(array, shape)
    return array, runs


def _packed(leaf: LeafNode, shape: PackedStruct, arrays: Sequence[pa.Array], values: VisibleValues) -> BlockSlice:
    for array in arrays:
        if not isinstance(array.type, pa.StructType) or array.type.num_fields != len(shape.fields):
            raise _wrong(array, shape)
    blocks = []
    for number, field in enumerate(shape.fields):
        children = [storage_array(array.field(number)) for array in arrays]
        name = leaf.storage.field(number).name
        if any(child.null_count for child in children) and _fields_have_nulls(children, values):
            raise UnsupportedError(
                "nulls among the fields of a packed struct cannot be written; only the struct itself may be null",
                column=f"{leaf.path}.{name}",
            )
        block = build_block(leaf, field, children, values)
        assert block is not None
        blocks.append(block)
    own = PackedStruct(tuple(block.shape for block in blocks))  # type: ignore[misc]
    return BlockSlice(own, values.num_values, NO_BYTES, fields=tuple(blocks))


def _fields_have_nulls(children: Sequence[pa.Array], values: VisibleValues) -> bool:
    bits = _validity_of_runs(children, values.runs, values.num_values)
    if values.def_ is not None:
        kernels.fill_null_bits(values.def_, values.max_visible, 1, bits, True)
    return kernels.count_bits(bits, 0, values.num_values) < values.num_values


def _validity_of_runs(arrays: Sequence[pa.Array], runs: Sequence[_Runs], num_slots: int) -> Bytes:
    """Return one bitmap of the visible slots of all arrays; bits after the last are zero."""
    out = np.zeros((num_slots + 7) // 8, np.uint8)
    bit = 0
    for array, (starts, stops) in zip(arrays, runs, strict=True):
        count = _num_visible((starts, stops))
        if array.null_count:
            kernels.take_bit_runs(buffer_view(array.buffers()[0]), array.offset, starts, stops, out, bit)
        else:
            kernels.fill_bits(out, bit, count, True)
        bit += count
    return out


class _Lists:
    """Fixed-size lists of primitive values, or of such lists, processed from the outside in.

    A layer has a bitmap only if one of its items is null and no list around it is. Lists of nulls have only the bitmap.
    """

    def __init__(self, shape: FixedSizeList, arrays: Sequence[pa.Array], values: VisibleValues) -> None:
        self._values = values
        self._alive: NDArray[np.bool_] | None = None
        self._bitmaps: list[Bitmap] = []
        self._arrays, self._runs, self._count = list(arrays), list(values.runs), values.num_values
        self._shape = self._walk(shape)

    def _walk(self, shape: FixedSizeList) -> FixedSizeList:
        for array in self._arrays:
            if not isinstance(array.type, pa.FixedSizeListType) or array.type.list_size != shape.dimension:
                raise _wrong(array, shape)
        self._runs = [
            tuple((array.offset + ends) * shape.dimension for ends in runs)
            for array, runs in zip(self._arrays, self._runs, strict=True)
        ]
        self._arrays = [storage_array(array.values) for array in self._arrays]
        self._count *= shape.dimension
        for array, (_, stops) in zip(self._arrays, self._runs, strict=True):
            if len(stops) and int(stops[-1]) > len(array):
                raise InvalidArgumentError(f"fixed-size lists need {int(stops[-1])} items, but have {len(array)}")
        has_validity = self._take_validity(shape.dimension)
        items = shape.items
        if isinstance(items, FixedSizeList):
            items = self._walk(items)
        return FixedSizeList(items, shape.dimension, has_validity)

    def _take_validity(self, dimension: int) -> bool:
        """Keep the bitmap of this layer's items if one of them is null."""
        if self._alive is not None:
            self._alive = np.repeat(self._alive, dimension)
        if self._arrays and all(pa.types.is_null(array.type) for array in self._arrays):
            bits = np.zeros((self._count + 7) // 8, np.uint8)
            self._bitmaps.append(Bitmap(bits, 0, self._count))
            return True
        if not any(array.null_count for array in self._arrays):
            return False
        bits = _validity_of_runs(self._arrays, self._runs, self._count)
        values = self._values
        if values.def_ is not None:
            kernels.fill_null_bits(values.def_, values.max_visible, self._count // values.num_values, bits, True)
        if self._alive is not None:
            bits |= np.packbits(~self._alive, bitorder="little")
        if kernels.count_bits(bits, 0, self._count) == self._count:
            return False
        self._bitmaps.append(Bitmap(bits, 0, self._count))
        own = np.unpackbits(bits, count=self._count, bitorder="little").astype(bool)
        self._alive = own if self._alive is None else own & self._alive
        return True

    def block(self) -> BlockSlice:
        values, leaf = self._values, self._shape.leaf
        if not self._arrays or all(pa.types.is_null(array.type) for array in self._arrays):
            data = np.zeros(leaf.num_bytes(self._count), np.uint8)
        else:
            owned = values.def_ is not None or self._alive is not None
            data = _copy_of_runs(leaf, self._arrays, self._runs, self._count, owned=owned)
            self._clear(data, leaf)
        return BlockSlice(self._shape, values.num_values, data, validity=tuple(self._bitmaps))

    def _clear(self, data: Bytes, leaf: FixedWidth) -> None:
        """Set values under null lists and null items to zero."""
        values, per_value = self._values, self._shape.items_per_value
        if values.def_ is not None and leaf.bits == 1:
            kernels.fill_null_bits(values.def_, values.max_visible, per_value, data, False)
        elif values.def_ is not None:
            kernels.clear_null_values(values.def_, values.max_visible, per_value * leaf.bytes_per_value, data)
        if self._alive is None:
            return
        if leaf.bits == 1:
            data &= np.packbits(self._alive, bitorder="little")
        elif leaf.bits:
            data.reshape(-1, leaf.bytes_per_value)[~self._alive] = 0
