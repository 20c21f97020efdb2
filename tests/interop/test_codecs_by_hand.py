"""Forms no writer emits, in files made by hand: we read them, and what the reference makes of them is written down."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import handmade
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from forged_arrays import symbols
from witness import Witness, WitnessDied, WitnessRefused

import lance_arrow
from lance_arrow.errors import CorruptFileError
from lance_arrow.proto import encodings_v21_pb2 as pb

pytestmark = pytest.mark.interop

COUNT = 1024
NUMBERS = [7 * n % 300 for n in range(COUNT)]
WORDS = [b"word %d" % (n % 50) for n in range(COUNT)]
ZSTD = pb.BufferCompression(scheme=pb.ZSTD)
U32, U64 = pa.uint32(), pa.uint64()


def encoding(**case: Any) -> pb.CompressiveEncoding:
    return pb.CompressiveEncoding(**case)


def flat(bits: int, data: pb.BufferCompression | None = None) -> pb.CompressiveEncoding:
    return encoding(flat=pb.Flat(bits_per_value=bits, data=data))


def variable(offsets: pb.CompressiveEncoding, values: pb.BufferCompression | None = None) -> pb.CompressiveEncoding:
    return encoding(variable=pb.Variable(offsets=offsets, values=values))


def general(values: pb.CompressiveEncoding) -> pb.CompressiveEncoding:
    return encoding(general=pb.General(compression=ZSTD, values=values))


def zstd(content: bytes) -> bytes:
    return struct.pack("<Q", len(content)) + zstandard.ZstdCompressor().compress(content)


def u32(*numbers: int) -> bytes:
    return np.array(numbers, "<u4").tobytes()


def inline(bits: int, values: pb.BufferCompression | None = None) -> pb.CompressiveEncoding:
    return encoding(inline_bitpacking=pb.InlineBitpacking(uncompressed_bits_per_value=bits, values=values))


def plain_transposed(values: np.ndarray) -> bytes:
    """FastLanes at full width: spec 5.3 with W = T."""
    bits = 8 * values.itemsize
    row, lane = np.arange(bits)[:, None], np.arange(1024 // bits)[None, :]
    return values[np.array([0, 4, 2, 6, 1, 5, 3, 7])[row // 8] * 16 + row % 8 * 128 + lane].tobytes()


PLAIN = u32(*NUMBERS)
OFFSETS = np.cumsum([0, *map(len, WORDS)])
SIZES = u32(*map(len, WORDS))
DELTA = encoding(delta=pb.Delta(uncompressed_bits_per_value=32, deltas=flat(32)))
TRANSPOSED = struct.pack("<I", 32) + plain_transposed(np.array(NUMBERS, "<u4"))
WIDE = [(n << 70) + n for n in NUMBERS]
WIDE_32 = (32).to_bytes(16, "little") + plain_transposed(np.array(NUMBERS, "<u4"))
WIDE_64 = (64).to_bytes(16, "little") + plain_transposed(np.array(NUMBERS, "<u8"))
WIDE_80 = (80).to_bytes(16, "little") + sum(n << (80 * k) for k, n in enumerate(WIDE)).to_bytes(128 * 80, "little")
WIDE_128 = (128).to_bytes(16, "little") + b"".join(n.to_bytes(16, "little") for n in WIDE)
PACKED = pa.struct([pa.field("a", pa.uint32(), False), pa.field("b", pa.uint64(), False)])
ROWS = encoding(packed_struct=pb.PackedStruct(bits_per_value=[32, 64], values=flat(96)))


def wide(values: list[int]) -> pa.Array:
    raw = b"".join(n.to_bytes(16, "little") for n in values)
    return pa.Array.from_buffers(pa.decimal128(38, 0), len(values), [None, pa.py_buffer(raw)])


@dataclass(frozen=True)
class Case:
    name: str
    codec: pb.CompressiveEncoding
    stored: tuple[bytes, ...]
    values: pa.Array
    reference: str
    """What 14.0.2 makes of it: equal, other (wrong values, no error), refused, or died."""
    versions: tuple[str, ...] = ("2.1", "2.2", "2.3")
    zipped_bits: int | None = None
    is_zipped: bool = False


INTEGERS = pa.array(NUMBERS, U32)
STRINGS = pa.array(WORDS, pa.binary())
STRUCTS = pa.array([{"a": n, "b": n * n} for n in NUMBERS], PACKED)
SPLIT = np.array(NUMBERS, "<u4").view(np.uint8).reshape(-1, 4).T.tobytes()
CASES = [
    Case("flat data", flat(32, ZSTD), (zstd(PLAIN),), INTEGERS, "refused"),
    Case("inline values", inline(32, ZSTD), (zstd(TRANSPOSED),), INTEGERS, "refused"),
    Case("inline plain", inline(32), (TRANSPOSED,), INTEGERS, "equal"),
    Case(
        "variable values",
        variable(flat(32), ZSTD),
        (u32(*(OFFSETS + 4 * (COUNT + 1))) + zstd(b"".join(WORDS)),),
        STRINGS,
        "refused",
    ),
    Case("variable of deltas", variable(DELTA), (SIZES, b"".join(WORDS)), STRINGS, "equal", ("2.3",)),
    Case("general twice", general(general(flat(32))), (zstd(zstd(PLAIN)),), INTEGERS, "equal"),
    Case("constant", encoding(constant=pb.Constant(value=u32(7))), (), pa.array([7] * COUNT, U32), "refused"),
    Case(
        "range",
        encoding(range=pb.Range(uncompressed_bits_per_value=32, start=3, step=2)),
        (),
        pa.array(range(3, 3 + 2 * COUNT, 2), U32),
        "refused",
        ("2.3",),
    ),
    Case("delta", DELTA, (u32(*[5] * (COUNT - 1)),), pa.array(range(0, 5 * COUNT, 5), U32), "refused", ("2.3",)),
    Case(
        "out of line",
        encoding(out_of_line_bitpacking=pb.OutOfLineBitpacking(uncompressed_bits_per_value=32, values=flat(32))),
        (TRANSPOSED[4:],),
        INTEGERS,
        "refused",
    ),
    Case("byte streams", encoding(byte_stream_split=pb.ByteStreamSplit(values=flat(32))), (SPLIT,), INTEGERS, "equal"),
    Case("wide 32", inline(128), (WIDE_32,), wide(NUMBERS), "refused"),
    Case("wide 64", inline(128), (WIDE_64,), wide(NUMBERS), "refused"),
    Case("wide 80", inline(128), (WIDE_80,), wide(WIDE), "refused"),
    Case("wide 128", inline(128), (WIDE_128,), wide(WIDE), "refused"),
    Case(
        "zipped packed",
        ROWS,
        tuple(struct.pack("<IQ", n, n * n) for n in NUMBERS),
        STRUCTS,
        "equal",
        zipped_bits=96,
        is_zipped=True,
    ),
    Case(
        "zipped general of flat",
        general(flat(32)),
        tuple(zstd(u32(n)) for n in NUMBERS),
        INTEGERS,
        "refused",
        is_zipped=True,
    ),
    Case("zipped with odd offsets", variable(DELTA), tuple(WORDS), STRINGS, "refused", is_zipped=True),
]


def made(case: Case, version: str) -> tuple[pa.Table, bytes]:
    metadata = {"lance-encoding:packed": "true"} if pa.types.is_struct(case.values.type) else None
    column = pa.field("c", case.values.type, nullable=False, metadata=metadata)
    if case.is_zipped:
        layout, buffers = handmade.zipped(case.codec, case.stored, version, case.zipped_bits)
    else:
        layout, buffers = handmade.chunked(case.codec, case.stored, COUNT, version)
    content = handmade.file_of(column, layout, buffers, COUNT, version)
    return pa.table([case.values], schema=pa.schema([column])), content


def outcome(witness: Witness, path: Path, expected: pa.Table) -> str:
    try:
        found = witness.read(path)
    except WitnessRefused:
        return "refused"
    except WitnessDied:
        return "died"
    return "equal" if found["c"].to_pylist() == expected["c"].to_pylist() else "other"


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("is_compressed", [False, True])
def test_symbols_of_symbols_are_refused_by_both(
    is_compressed: bool, version: str, witness: Witness, tmp_path: Path
) -> None:
    inner = encoding(fsst=pb.Fsst(symbol_table=symbols(b"ab", b"c"), values=variable(flat(32))))
    codes = [bytes([number % 2]) for number in range(COUNT)]
    stored = u32(*np.cumsum([4 * (COUNT + 1), *map(len, codes)])) + b"".join(codes)
    nested = general(inner) if is_compressed else inner
    codec = encoding(fsst=pb.Fsst(symbol_table=symbols(b"x", b"y"), values=nested))
    case = Case("nested", codec, (zstd(stored) if is_compressed else stored,), STRINGS, "refused")
    expected, content = made(case, version)
    path = tmp_path / "made.lance"
    path.write_bytes(content)
    with lance_arrow.LanceFile(path) as file, pytest.raises(CorruptFileError, match="expected variable") as caught:
        file.take([0, 3, 5])
    assert caught.value.column == "c"
    assert outcome(witness, path, expected) == "refused"


@pytest.mark.parametrize(
    ("case", "version"),
    [(case, version) for case in CASES for version in case.versions],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_read_here_and_by_the_reference(case: Case, version: str, witness: Witness, tmp_path: Path) -> None:
    expected, content = made(case, version)
    path = tmp_path / "made.lance"
    path.write_bytes(content)
    with lance_arrow.LanceFile(path) as file:
        assert file.read()["c"].to_pylist() == expected["c"].to_pylist()
        rows = [5, 1023, 5, 0]
        assert file.take(rows)["c"].to_pylist() == expected["c"].take(rows).to_pylist()
    assert outcome(witness, path, expected) == case.reference
