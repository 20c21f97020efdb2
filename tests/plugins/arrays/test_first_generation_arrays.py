"""Pages of 0.1 in the words of the container: plain, byte strings, lists, dictionaries, nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import legacy_pb2 as pb
from lance_arrow.spi import BlockShape, EncodingKey, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import LEGACY
from lance_arrow.spi.layouts import NodeKind
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite

FILE_OFFSET = 4096
"""Borders of byte strings are positions in the file."""


def plain(buffer: int = 0) -> pb.LegacyPage:
    return pb.LegacyPage(plain=pb.Plain(buffer=buffer))


def strings(values: list[bytes]) -> tuple[bytes, bytes]:
    """Borders, none where there is no value, and bytes."""
    borders = np.cumsum([FILE_OFFSET, *map(len, values)])
    return (borders.astype("<i8").tobytes() if values else b""), b"".join(values)


class TestPlain(ArraySuite):
    key = EncodingKey(LEGACY, "plain")
    shapes = (
        FixedWidth(1),
        FixedWidth(32),
        FixedWidth(128),
        FixedSizeList(FixedWidth(16), 3),
        FixedSizeList(FixedWidth(1), 3),
        FixedSizeList(FixedSizeList(FixedWidth(8), 2), 2),
    )

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        return EncodedArraySample(plain(), (sample.values.plain(),))

    def test_values_of_many_lengths_are_refused(self) -> None:
        with pytest.raises(CorruptFileError, match="expected one width"):
            self.bind(EncodedArraySample(plain()), LeafType(VariableWidth(32)))


class TestVarBinary(ArraySuite):
    key = EncodingKey(LEGACY, "var_binary")
    shapes = (VariableWidth(32), VariableWidth(64))
    empty_is_null = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        page = pb.LegacyPage(var_binary=pb.VarBinary(empty_is_null=self.empty_is_null))
        return EncodedArraySample(page, strings(sample.values.items))

    def test_other_columns_are_refused(self) -> None:
        page = pb.LegacyPage(var_binary=pb.VarBinary())
        with pytest.raises(CorruptFileError, match="where the schema has"):
            self.bind(EncodedArraySample(page), LeafType(FixedWidth(8)))


class TestEmptyIsNull(TestVarBinary):
    empty_is_null = True
    null_names = ("some nulls",)

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        made = super().sample(shape, name, nulls)
        assert made.values is not None
        return replace(made, nulls=np.array([not one for one in made.values.items], np.bool_))


class TestListOffsets(ArraySuite):
    key = EncodingKey(LEGACY, "list_offsets")
    shapes = (None,)
    offset_bits = 32

    def leaf(self, shape: BlockShape | None) -> LeafType:
        return LeafType(None, (NodeKind.LIST,))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.ends is not None
        # Offsets of a batch count from wherever the first one says.
        offsets = np.append(0, sample.ends) + 11
        page = pb.LegacyPage(list_offsets=pb.ListOffsets(offset_bits=self.offset_bits, num_items=sample.num_items))
        held = offsets.astype(f"<i{self.offset_bits // 8}").tobytes() if sample.num_values else b""
        return EncodedArraySample(page, (held,))

    def test_other_columns_and_widths_are_refused(self) -> None:
        for bits, leaf in ((32, LeafType(FixedWidth(8))), (16, self.leaf(None))):
            page = pb.LegacyPage(list_offsets=pb.ListOffsets(offset_bits=bits))
            with pytest.raises(CorruptFileError):
                self.bind(EncodedArraySample(page), leaf)


class TestWideListOffsets(TestListOffsets):
    offset_bits = 64


class TestDictionary(ArraySuite):
    key = EncodingKey(LEGACY, "dictionary")
    shapes = (FixedWidth(8), FixedWidth(32))

    def leaf(self, shape: BlockShape | None) -> LeafType:
        assert isinstance(shape, FixedWidth)
        return LeafType(shape, items=VariableWidth(32))

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        assert sample.items is not None
        items = pb.LegacyPage(var_binary=pb.VarBinary(buffer=1))
        page = pb.LegacyPage(dictionary=pb.Dictionary(keys=plain(), items=items, num_items=sample.items.num_values))
        return EncodedArraySample(page, (sample.values.plain(), *strings(sample.items.items)))

    def test_columns_without_a_dictionary_are_refused(self) -> None:
        encoded = self.encode(self.sample(FixedWidth(8), "one value", "no nulls"))
        with pytest.raises(CorruptFileError, match="the schema has no dictionary"):
            self.bind(encoded, LeafType(FixedWidth(8)))


class TestNothing(ArraySuite):
    """Structs."""

    key = EncodingKey(LEGACY, "nothing")
    shapes = (None,)
    is_bounded = False
    is_null = False

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        return EncodedArraySample(pb.LegacyPage(nothing=pb.Nothing(is_null=self.is_null)))


class TestNulls(TestNothing):
    null_names = NULL_NAMES[2:]
    is_null = True
