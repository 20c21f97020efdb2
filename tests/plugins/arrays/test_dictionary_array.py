"""Dictionaries of pages of 2.0: keys that a column keeps, and text by number."""

from __future__ import annotations

import numpy as np
import pytest
from forged_arrays import flat, no_nulls, some_nulls

from lance_arrow.errors import CorruptFileError, UnsupportedError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample, make_array_sample
from lance_arrow.testing.array_suite import ArraySuite
from lance_arrow.testing.samples import Sample


def strings(held: list[bytes], first: int) -> tuple[pb.ArrayEncoding, tuple[bytes, bytes]]:
    """Byte strings, the last of which is null where it is None."""
    data = b"".join(one or b"" for one in held)
    ends = np.cumsum([len(one or b"") for one in held], dtype=np.int64)
    ends += np.array([one is None for one in held], np.int64) * (len(data) + 1)
    described = pb.Binary(indices=flat(64, first), bytes=flat(8, first + 1), null_adjustment=len(data) + 1)
    return pb.ArrayEncoding(binary=described), (ends.astype("<u8").tobytes(), data)


class TestKeys(ArraySuite):
    """The column keeps its dictionary; nulls are an item more, which is null."""

    key = EncodingKey(ARRAY, "dictionary")
    shapes = (FixedWidth(8), FixedWidth(32))
    null_names = NULL_NAMES
    is_written = True

    def leaf(self, shape: BlockShape | None) -> LeafType:
        assert isinstance(shape, FixedWidth)
        return LeafType(shape, items=VariableWidth(32))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        assert sample.items is not None
        keys, items = sample.values.items, list(sample.items.items)
        if sample.nulls is not None:
            keys, items = np.where(sample.nulls, len(items), keys).astype(keys.dtype), [*items, None]
        described, buffers = strings(items, 1)
        message = pb.Dictionary(
            indices=no_nulls(flat(sample.values.shape.bits)), items=described, num_dictionary_items=len(items)
        )
        return EncodedArraySample(pb.ArrayEncoding(dictionary=message), (keys.tobytes(), *buffers))

    def test_keys_of_other_widths_are_refused(self) -> None:
        encoded = self.encode(self.sample(self.shapes[0], "one value", "no nulls"))
        with pytest.raises(CorruptFileError, match="the schema has"):
            self.bind(encoded, self.leaf(FixedWidth(64)))


class TestNumberKeys(TestKeys):
    """Items are numbers, and keys have nulls of their own."""

    shapes = (FixedWidth(16),)

    def leaf(self, shape: BlockShape | None) -> LeafType:
        assert isinstance(shape, FixedWidth)
        return LeafType(shape, items=FixedWidth(64))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        assert sample.items is not None
        keys = some_nulls(flat(1), flat(16, 1))
        message = pb.Dictionary(indices=keys, items=flat(64, 2), num_dictionary_items=sample.items.num_values)
        held = sample.values.items
        if sample.nulls is not None:
            # What lies under a null is no key.
            held = np.where(sample.nulls, 0xFFFF, held).astype("<u2")
        buffers = sample.validity, held.tobytes(), sample.items.plain()
        return EncodedArraySample(pb.ArrayEncoding(dictionary=message), buffers)


class TestText(ArraySuite):
    """Text that repeats: number 0 is null, and k is item k - 1."""

    key = EncodingKey(ARRAY, "dictionary")
    shapes = (VariableWidth(32),)
    null_names = NULL_NAMES
    is_written = True

    def leaf(self, shape: BlockShape | None) -> LeafType:
        return LeafType(shape, is_text=True)

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        keys = make_array_sample(LeafType(FixedWidth(8), items=shape), FixedWidth(8), name, nulls, self.num_values)
        assert keys.values is not None
        assert keys.items is not None
        assert isinstance(shape, VariableWidth)
        texts = [keys.items.items[key] for key in keys.values.items.tolist()]
        return ArraySample(self.leaf(shape), keys.num_values, Sample(shape, len(texts), texts), keys.nulls)

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        items = sorted(set(sample.values.items))
        numbers = np.array([items.index(one) + 1 for one in sample.values.items], np.uint8)
        if sample.nulls is not None:
            numbers[sample.nulls] = 0
        described, buffers = strings(items or [None], 1)
        message = pb.Dictionary(indices=flat(8), items=described, num_dictionary_items=max(len(items), 1))
        return EncodedArraySample(pb.ArrayEncoding(dictionary=message), (numbers.tobytes(), *buffers))

    def test_numbers_by_index_are_refused(self) -> None:
        encoded = self.encode(self.sample(VariableWidth(32), "one value", "no nulls"))
        with pytest.raises(UnsupportedError, match="only strings"):
            self.bind(encoded, LeafType(FixedWidth(32)))
