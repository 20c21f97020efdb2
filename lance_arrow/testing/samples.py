"""Values to encode and decode: a few samples of every block shape, and checks that a decoded block equals one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lance_arrow.spi import (
    Bitmap,
    BlockShape,
    BlockSlice,
    Bytes,
    FixedSizeList,
    FixedWidth,
    NumBytes,
    PackedStruct,
    VariableWidth,
)
from lance_arrow.spi.scratch import field_bytes

SAMPLE_NAMES = (
    "empty",
    "one value",
    "exactly full chunk",
    "last short chunk",
    "all equal",
    "extremes",
    "maximum width",
)
_BASE = 11
_BIT_OFFSET = 3
_GUARD_BYTES = 32
# More than any sample has.
_FILLED_BYTES = 1 << 20
_GUARD = 0xA5


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Values of one shape.

    Parameters
    ----------
    shape
        Shape of one value.
    num_values
        Number of values; `chunks` cuts them into chunks.
    items
        VariableWidth: a list of ``bytes``. FixedWidth of 1 bit: ``(n,) bool``; of 8 to 64 bits: ``(n,)`` unsigned; of
        more: ``(n, bytes) uint8``. FixedSizeList: the innermost items in the same form, ``n * items_per_value`` of
        them.
    validity
        FixedSizeList: ``bool`` per item of each layer that has validity, outer first.
    fields
        PackedStruct, which has no `items`: one sample per field.
    """

    shape: BlockShape
    num_values: int
    items: Any
    validity: tuple[NDArray[np.bool_], ...] = ()
    fields: tuple[Sample, ...] = ()

    @property
    def num_bytes(self) -> NumBytes:
        """Result that `measure` of a codec must return."""
        if isinstance(self.shape, PackedStruct):
            return tuple(_num_bytes(field) for field in self.fields)
        return _num_bytes(self)

    def part(self, start: int, stop: int) -> Sample:
        """Return values ``start .. stop``."""
        if isinstance(self.shape, PackedStruct):
            return Sample(self.shape, stop - start, None, (), tuple(field.part(start, stop) for field in self.fields))
        scale = 1
        dimensions: tuple[int, ...] = ()
        if isinstance(self.shape, FixedSizeList):
            scale, dimensions = self.shape.items_per_value, self.shape.validity_dimensions
        return Sample(
            self.shape,
            stop - start,
            self.items[start * scale : stop * scale],
            tuple(bits[start * d : stop * d] for bits, d in zip(self.validity, dimensions, strict=True)),
        )

    def chunks(self, chunk_values: int) -> list[Sample]:
        """Cut into parts of `chunk_values`; the last one may be shorter."""
        starts = range(0, self.num_values, chunk_values)
        return [self.part(start, min(start + chunk_values, self.num_values)) for start in starts]

    def plain(self) -> bytes:
        """Return fixed-width items in Arrow's memory layout: little-endian, bits least significant first.

        The fields of packed structs lie side by side, row by row.
        """
        if not self.num_values:
            return b""
        if self.fields:
            rows = [np.frombuffer(field.plain(), np.uint8).reshape(self.num_values, -1) for field in self.fields]
            return np.concatenate(rows, axis=1).tobytes()
        if isinstance(self.items, list):
            return b"".join(self.items)
        if self.items.dtype == np.bool_:
            return np.packbits(self.items, bitorder="little").tobytes()
        return bytes(self.items.tobytes())


def make_sample(shape: BlockShape, name: str, chunk_values: int) -> Sample:
    """Make the sample called `name` (one of `SAMPLE_NAMES`) for a codec whose chunks hold `chunk_values`."""
    num_values = {"empty": 0, "one value": 1, "exactly full chunk": chunk_values}.get(name, 2 * chunk_values + 7)
    generator = np.random.default_rng(len(name))
    if isinstance(shape, PackedStruct):
        fields = tuple(make_sample(field, name, chunk_values) for field in shape.fields)
        return Sample(shape, num_values, None, (), fields)
    if isinstance(shape, VariableWidth):
        return Sample(shape, num_values, _strings(name, num_values, generator))
    if isinstance(shape, FixedSizeList):
        items = _fixed(shape.leaf, name, num_values * shape.items_per_value, generator)
        validity = tuple(generator.integers(0, 2, num_values * d) == 1 for d in shape.validity_dimensions)
        return Sample(shape, num_values, items, validity)
    return Sample(shape, num_values, _fixed(shape, name, num_values, generator))


def _num_bytes(sample: Sample) -> int:
    return sum(map(len, sample.items)) if isinstance(sample.shape, VariableWidth) else 0


def _strings(name: str, count: int, generator: np.random.Generator) -> list[bytes]:
    if name == "all equal":
        return [b"equal"] * count
    long = 300 if name in ("extremes", "maximum width") else 12
    sizes = generator.integers(0, long + 1, count)
    if name == "extremes":
        sizes = np.where(np.arange(count) % 2, 0, long)
    return [generator.integers(0, 256, size, np.uint8).tobytes() for size in sizes]


def _fixed(shape: FixedWidth, name: str, count: int, generator: np.random.Generator) -> Any:
    if shape.bits == 1:
        values = generator.integers(0, 2, count) == 1
        return np.ones(count, np.bool_) if name == "all equal" else values
    if shape.bits not in (8, 16, 32, 64):
        rows = generator.integers(0, 256, (count, shape.bytes_per_value), np.uint8)
        return np.repeat(rows[:1], count, axis=0) if name == "all equal" else rows
    dtype = np.dtype(f"<u{shape.bytes_per_value}")
    largest = np.iinfo(dtype).max
    if name == "all equal":
        return np.full(count, 5, dtype)
    if name == "extremes":
        return np.where(np.arange(count) % 2, 0, largest).astype(dtype)
    limit = largest if name == "maximum width" else largest >> (shape.bits // 3)
    return generator.integers(0, limit, count, dtype, endpoint=True)


class Destination:
    """Guarded memory for a block, with a first offset above 0 and bits that start within a byte."""

    def __init__(self, shape: BlockShape, num_values: int, num_bytes: NumBytes) -> None:
        self._guarded: list[Bytes] = []
        self._fields: list[Destination] = []
        self._kept_bits: list[tuple[Bytes, int, int]] = []
        validity: list[Bitmap] = []
        offsets = self._memory(0)
        if isinstance(shape, PackedStruct):
            sizes = zip(shape.fields, field_bytes(shape, num_bytes), strict=True)
            self._fields = [Destination(field, num_values, size) for field, size in sizes]
            values, bit_offset = offsets, 0
        elif isinstance(shape, VariableWidth):
            offsets = self._memory((num_values + 1) * shape.offset_bits // 8)
            offsets.view(f"<i{shape.offset_bits // 8}")[0] = _BASE
            assert isinstance(num_bytes, int)
            values, bit_offset = self._memory(num_bytes), 0
        else:
            leaf = shape.leaf if isinstance(shape, FixedSizeList) else shape
            items = num_values
            if isinstance(shape, FixedSizeList):
                items *= shape.items_per_value
                validity = [self._bits(num_values * bits) for bits in shape.validity_dimensions]
            bitmap = self._bits(items) if leaf.bits == 1 else Bitmap(self._memory(leaf.num_bytes(items)), 0, items)
            values, bit_offset = bitmap.values, bitmap.bit_offset
        fields = tuple(field.block for field in self._fields)
        self.block = BlockSlice(shape, num_values, values, bit_offset, offsets, tuple(validity), fields)

    def assert_untouched_outside(self) -> None:
        """Check that no byte or bit outside the block was written."""
        for field in self._fields:
            field.assert_untouched_outside()
        for memory in self._guarded:
            edges = np.concatenate([memory[:_GUARD_BYTES], memory[len(memory) - _GUARD_BYTES :]])
            assert (edges == _GUARD).all(), "bytes outside the destination were written"
        for values, start, stop in self._kept_bits:
            bits = np.unpackbits(values, bitorder="little")
            before = np.unpackbits(np.full(len(values), _GUARD, np.uint8), bitorder="little")
            bits[start:stop] = before[start:stop]
            assert (bits == before).all(), "bits outside the destination were written"

    def assert_equals(self, sample: Sample) -> None:
        """Check that the values equal `sample`; null items of lists may have any value."""
        for field, expected in zip(self._fields, sample.fields, strict=True):
            field.assert_equals(expected)
        if isinstance(self.block.shape, VariableWidth):
            base = self.block.offsets.view(f"<i{self.block.shape.offset_bits // 8}")[0]
            assert base == _BASE, "the decoder changed the first offset, which the caller sets"
        assert_block_equals(self.block, sample)

    def fill(self, sample: Sample) -> None:
        """Write the values of `sample`, as a decoder would."""
        block = self.block
        for field, values in zip(self._fields, sample.fields, strict=True):
            field.fill(values)
        if isinstance(block.shape, PackedStruct):
            return
        if isinstance(block.shape, VariableWidth):
            offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}")
            offsets[:] = _BASE + np.cumsum([0, *map(len, sample.items)])
        if not isinstance(sample.items, list) and sample.items.dtype == np.bool_:
            _fill_bits(Bitmap(block.values, block.bit_offset, len(sample.items)), sample.items)
        else:
            block.values[:] = np.frombuffer(sample.plain(), np.uint8)
        for bitmap, bits in zip(block.validity, sample.validity, strict=True):
            _fill_bits(bitmap, bits)

    def _memory(self, size: int) -> Bytes:
        # Damage declares megabytes that no decoder writes: memory that is not touched costs nothing.
        memory = np.zeros(size + 2 * _GUARD_BYTES, np.uint8)
        memory[: len(memory) if size <= _FILLED_BYTES else _GUARD_BYTES] = _GUARD
        memory[len(memory) - _GUARD_BYTES :] = _GUARD
        self._guarded.append(memory)
        return memory[_GUARD_BYTES : _GUARD_BYTES + size]

    def _bits(self, num_bits: int) -> Bitmap:
        values = self._memory((_BIT_OFFSET + num_bits + 7) // 8)
        self._kept_bits.append((values, _BIT_OFFSET, _BIT_OFFSET + num_bits))
        return Bitmap(values, _BIT_OFFSET, num_bits)


def _fill_bits(bitmap: Bitmap, bits: NDArray[np.bool_]) -> None:
    every = np.unpackbits(bitmap.values, bitorder="little")
    every[bitmap.bit_offset : bitmap.bit_offset + bitmap.num_bits] = bits
    bitmap.values[:] = np.packbits(every, bitorder="little")


def filled(sample: Sample) -> BlockSlice:
    """Return the values of `sample` as an encoder gets them: read-only, from other first bits and offsets too."""
    destination = Destination(sample.shape, sample.num_values, sample.num_bytes)
    destination.fill(sample)
    return _read_only(destination.block)


def filled_with_nulls(sample: Sample, is_null: NDArray[np.bool_]) -> BlockSlice:
    """Return the values of `sample` as an encoder gets them with nulls: zero or empty, and not in `present`."""
    block = filled(_without(sample, is_null))
    present = np.packbits(np.concatenate([np.zeros(_BIT_OFFSET, np.bool_), ~is_null]), bitorder="little")
    return replace(block, present=Bitmap(_frozen(present), _BIT_OFFSET, len(is_null)))


def _without(sample: Sample, is_null: NDArray[np.bool_]) -> Sample:
    if isinstance(sample.shape, PackedStruct):
        return replace(sample, fields=tuple(_without(field, is_null) for field in sample.fields))
    if isinstance(sample.items, list):
        return replace(sample, items=[b"" if null else item for item, null in zip(sample.items, is_null, strict=True)])
    scale, dimensions = 1, ()
    if isinstance(sample.shape, FixedSizeList):
        scale, dimensions = sample.shape.items_per_value, sample.shape.validity_dimensions
    items = sample.items.copy()
    items[np.repeat(is_null, scale)] = 0
    validity = zip(sample.validity, dimensions, strict=True)
    return replace(sample, items=items, validity=tuple(bits | np.repeat(is_null, times) for bits, times in validity))


def _read_only(block: BlockSlice) -> BlockSlice:
    validity = tuple(Bitmap(_frozen(one.values), one.bit_offset, one.num_bits) for one in block.validity)
    fields = tuple(map(_read_only, block.fields))
    offsets = _frozen(block.offsets)
    return BlockSlice(block.shape, block.num_values, _frozen(block.values), block.bit_offset, offsets, validity, fields)


def _frozen(memory: Bytes) -> Bytes:
    view = memory[:]
    view.flags.writeable = False
    return view


def assert_block_equals(block: BlockSlice, sample: Sample) -> None:
    """Check that the values of a decoded block equal `sample`; null items of lists may have any value."""
    assert block.num_values == sample.num_values
    if isinstance(block.shape, PackedStruct):
        for field, of_field in zip(block.fields, sample.fields, strict=True):
            assert_block_equals(field, of_field)
    elif isinstance(block.shape, VariableWidth):
        offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}")
        np.testing.assert_array_equal(offsets - offsets[0], np.cumsum([0, *map(len, sample.items)]))
        assert block.values.tobytes() == sample.plain()
    elif sample.items.dtype == np.bool_:
        bits = np.unpackbits(block.values, bitorder="little")[block.bit_offset :][: len(sample.items)]
        np.testing.assert_array_equal(bits, sample.items)
    else:
        np.testing.assert_array_equal(block.values, np.frombuffer(sample.plain(), np.uint8))
    for bitmap, expected in zip(block.validity, sample.validity, strict=True):
        bits = np.unpackbits(bitmap.values, bitorder="little")[bitmap.bit_offset :][: bitmap.num_bits]
        np.testing.assert_array_equal(bits, expected)


def values_of(block: BlockSlice) -> list[bytes]:
    """Return the bytes of every value; those of a struct are its fields, one after the other."""
    if isinstance(block.shape, PackedStruct):
        return [b"".join(fields) for fields in zip(*map(values_of, block.fields), strict=True)]
    if isinstance(block.shape, VariableWidth):
        offsets = block.offsets.view(f"<i{block.shape.offset_bits // 8}").tolist()
        base = offsets[0]
        return [block.values[start - base : stop - base].tobytes() for start, stop in pairwise(offsets)]
    if isinstance(block.shape, FixedSizeList):
        leaf, scale = block.shape.leaf, block.shape.items_per_value
    else:
        leaf, scale = block.shape, 1
    if leaf.bits == 1:
        bits = np.unpackbits(block.values, bitorder="little")[block.bit_offset :]
        return [bits[n * scale : (n + 1) * scale].tobytes() for n in range(block.num_values)]
    width = leaf.bytes_per_value * scale
    return [block.values[n * width : (n + 1) * width].tobytes() for n in range(block.num_values)]
