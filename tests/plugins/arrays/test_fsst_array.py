"""FSST of pages of 2.0: strings as codes of symbols."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from forged_arrays import binary, flat, symbols

from lance_arrow.errors import CorruptFileError, LanceError
from lance_arrow.proto import encodings_v20_pb2 as pb
from lance_arrow.spi import BlockShape, EncodeOptions, EncodingKey, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite

HELD = (b"eq", b"ual", b"\0", b"\xff\xfe")


def coded(value: bytes) -> bytes:
    """The longest symbol that fits, else an escape."""
    out, at = bytearray(), 0
    while at < len(value):
        found = [code for code, symbol in enumerate(HELD) if value.startswith(symbol, at)]
        out += bytes([found[0]]) if found else bytes([255, value[at]])
        at += len(HELD[found[0]]) if found else 1
    return bytes(out)


class TestFsst(ArraySuite):
    key = EncodingKey(ARRAY, "fsst")
    shapes = (VariableWidth(32),)
    null_names = NULL_NAMES
    is_written = True
    # Of nothing, there are no symbols.
    written_null_names = ("no nulls", "some nulls")

    def write_options(self) -> EncodeOptions:
        return EncodeOptions(compression="fsst")

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        codes = [coded(value) for value in sample.values.items]
        data = b"".join(codes)
        ends = np.cumsum([len(code) for code in codes], dtype=np.int64)
        if sample.nulls is not None:
            ends += sample.nulls * (len(data) + 1)
        message = pb.Fsst(binary=binary(len(data) + 1), symbol_table=symbols(*HELD))
        return EncodedArraySample(pb.ArrayEncoding(fsst=message), (ends.astype("<u8").tobytes(), data))

    @pytest.mark.parametrize("table", [b"", symbols(b"a")[:100], bytes(2312)])
    def test_other_tables_are_refused(self, table: bytes) -> None:
        encoded = self.encode(self.sample(VariableWidth(32), "one value", "no nulls"))
        encoded.description.fsst.symbol_table = table
        with pytest.raises(LanceError):
            self.bind(encoded, LeafType(VariableWidth(32)))

    def test_codes_are_byte_strings(self) -> None:
        message = pb.ArrayEncoding(fsst=pb.Fsst(binary=flat(8), symbol_table=symbols(b"a")))
        with pytest.raises(CorruptFileError, match="byte strings"):
            self.bind(EncodedArraySample(message), LeafType(VariableWidth(32)))
        with pytest.raises(CorruptFileError, match="where the schema has"):
            self.bind(replace(EncodedArraySample(message)), LeafType(FixedWidth(8)))


class TestWideFsst(TestFsst):
    """Offsets of 64 bits, which only readers know."""

    shapes = (VariableWidth(64),)

    def can_write(self, shape: BlockShape | None) -> bool:
        return False
