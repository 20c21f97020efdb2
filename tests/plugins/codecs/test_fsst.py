"""FSST."""

import numpy as np
import pytest

from lance_arrow.errors import CorruptFileError, CorruptPageError
from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.spi import (
    COMPRESSIVE,
    BlockSlice,
    DecodeContext,
    EncodeOptions,
    EncodingKey,
    LeafType,
    VariableWidth,
)
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample, decode
from lance_arrow.testing.round_trip import decode as read_back
from lance_arrow.testing.round_trip import encode_scope

SYMBOLS = [b"equal", b"eq", b"u", b"\x00\x01\x02", *(bytes([byte]) for byte in range(100, 250))]


def symbol_table(words, switch=1):
    table = bytearray(2312)
    table[0], table[3], table[4:8] = len(words), switch, b"TSSF"
    for code, word in enumerate(words):
        table[8 + 8 * code : 8 + 8 * code + len(word)] = word
        table[8 + 8 * len(words) + code] = len(word)
    return bytes(table)


def codes(value):
    """Greedy: the first symbol that fits, else an escaped byte."""
    out = bytearray()
    while value:
        code = next((code for code, word in enumerate(SYMBOLS) if value.startswith(word)), None)
        out += bytes([255, value[0]]) if code is None else bytes([code])
        value = value[1 if code is None else len(SYMBOLS[code]) :]
    return bytes(out)


def fsst(bits, table):
    offsets = pb.CompressiveEncoding(flat=pb.Flat(bits_per_value=bits))
    variable = pb.CompressiveEncoding(variable=pb.Variable(offsets=offsets))
    return pb.CompressiveEncoding(fsst=pb.Fsst(symbol_table=table, values=variable))


def chunk(values, bits):
    ends = np.cumsum([(len(values) + 1) * bits // 8, *map(len, values)])
    return ends.astype(f"<u{bits // 8}").tobytes() + b"".join(values)


def block(values, bits):
    ends = np.cumsum([0, *map(len, values)])
    header = [bits, (len(values) + 3) * bits // 8]
    return np.array([*header, *ends], f"<u{bits // 8}").tobytes() + b"".join(values)


class TestFsst(CodecSuite):
    key = EncodingKey(COMPRESSIVE, "fsst")
    contexts = frozenset(DecodeContext)
    shapes = (VariableWidth(32), VariableWidth(64))
    chunk_values = 32
    switch = 1

    def write_options(self, context):
        return EncodeOptions(compression="fsst")

    def encode(self, sample, context):
        bits = sample.shape.offset_bits
        coded = [codes(value) if self.switch else value for value in sample.items]
        size = 1 if context is DecodeContext.PER_VALUE else self.chunk_values
        parts = [coded[start : start + size] for start in range(0, len(coded), size)]
        of = {
            DecodeContext.PER_VALUE: lambda part, _: part[0],
            DecodeContext.MINI_BLOCK: chunk,
            DecodeContext.BLOCK: block,
        }
        units = [(of[context](part, bits),) for part in parts]
        description = fsst(bits, symbol_table(SYMBOLS, self.switch))
        return EncodedSample(description, tuple(units), tuple(map(len, parts)))

    @pytest.mark.parametrize("table", [b"", symbol_table(SYMBOLS)[:-1], bytes(2312), symbol_table([b"", b"x"])])
    def test_bad_tables_are_refused_at_bind(self, table):
        with pytest.raises(CorruptFileError):
            self.bind(EncodedSample(fsst(32, table), (), ()), DecodeContext.MINI_BLOCK, VariableWidth(32))

    def test_child_must_be_byte_strings(self):
        description = fsst(32, symbol_table(SYMBOLS))
        description.fsst.values.flat.bits_per_value = 8
        with pytest.raises(CorruptFileError, match="encoded as flat"):
            self.bind(EncodedSample(description, (), ()), DecodeContext.PER_VALUE, VariableWidth(32))


class TestFsstSwitchedOff(TestFsst):
    switch = 0


@pytest.mark.parametrize("value", [b"\xfe", b"\xff", b"\x00\x00\x00\x00\xff"])
def test_unknown_codes_and_lone_escapes_are_refused(value):
    encoded = EncodedSample(fsst(32, symbol_table(SYMBOLS)), ((value,),), (1,))
    bound = TestFsst().bind(encoded, DecodeContext.PER_VALUE, VariableWidth(32))
    with pytest.raises(CorruptPageError, match="codes"):
        decode(bound, DecodeContext.PER_VALUE, encoded)


def chosen(values, context=DecodeContext.MINI_BLOCK, is_text=True, **options):
    """Encode with what suits best; return bytes and case."""
    data = np.frombuffer(b"".join(values), np.uint8)
    offsets = np.cumsum([0, *map(len, values)]).astype("<i4").view(np.uint8)
    block = BlockSlice(VariableWidth(32), len(values), data, offsets=offsets)
    scope = encode_scope(LeafType(block.shape, is_text=is_text), options=EncodeOptions(**options))
    encoded = scope.encode_child(block, context)
    assert (read_back(encoded, block, scope).values == data).all()
    return encoded.nbytes, encoded.description.WhichOneof("compression")


URLS = [b"https://www.example.com/%d/%s" % (number, b"basket" if number % 3 else b"order") for number in range(2000)]


@pytest.mark.parametrize("context", [DecodeContext.MINI_BLOCK, DecodeContext.PER_VALUE])
def test_text_is_encoded_where_it_gains(context):
    num_bytes, case = chosen(URLS, context)
    assert case == "fsst"
    # Offsets aside, a third is left at most.
    assert num_bytes < sum(map(len, URLS)) / 3 + 5 * len(URLS)
    assert chosen(URLS, context, is_text=False)[1] == "variable"
    assert chosen(URLS[:500], context)[1] == "variable"
    assert chosen(URLS, context, compression="none")[1] == "variable"
    assert chosen([b"ab12"] * 20_000, context)[1] == "variable"
    assert chosen(URLS[:500], context, is_text=False, compression="fsst")[1] == "fsst"


def test_bytes_without_patterns_are_left():
    noise = np.random.default_rng(2).integers(0, 256, (2000, 40), np.uint8)
    assert chosen([row.tobytes() for row in noise])[1] == "variable"
