"""Random flat arrays built from buffers, so that nulls may hide values; every pattern triggers some codec."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

DAY_SECONDS = 86_400
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
FLOATS = (pa.float16(), pa.float32(), pa.float64())
TEMPORAL = (
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    pa.timestamp("s"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns", "Europe/Oslo"),
    pa.duration("ms"),
)
WIDE = (pa.decimal128(30, 4), pa.decimal256(60, 2), pa.binary(1), pa.binary(3), pa.binary(16), pa.binary(270))
TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
FIXED = (pa.bool_(), *INTEGERS, *FLOATS, *TEMPORAL, *WIDE)

NUMBER_PATTERNS = ("random", "small", "sequential", "runs", "constant", "few", "negative", "outliers", "zero")
TEXT_PATTERNS = ("words", "few", "unique", "runs", "constant", "empties", "long", "accents")
WORDS = (
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "a",
    "bb",
    "the",
    "quick",
    "brown",
    "fox",
    "over",
    "lazy",
    "dogs",
)


def null_mask(rng: np.random.Generator, num_rows: int, share: float) -> np.ndarray:
    """True where a row is null; runs of nulls half of the time."""
    if share > 0 and rng.random() < 0.3:
        return np.repeat(rng.random(num_rows // 50 + 1) < share, 50)[:num_rows]
    return rng.random(num_rows) < share


def validity(is_null: np.ndarray) -> pa.Buffer | None:
    """Bitmap of `is_null`, or none when nothing is null."""
    return pa.py_buffer(np.packbits(~is_null, bitorder="little").tobytes()) if is_null.any() else None


def _numbers(rng: np.random.Generator, pattern: str, num_rows: int, bits: int) -> np.ndarray:
    """Integers of `bits` bits as int64, wrapped later."""
    narrow = int(rng.integers(1, max(2, bits)))
    some = rng.integers(0, 1 << min(narrow, 62), max(num_rows, 1), dtype=np.int64)
    if pattern == "random":
        return np.frombuffer(rng.bytes(num_rows * 8), np.int64)
    if pattern == "sequential":
        return np.arange(num_rows) * int(rng.integers(1, 9)) + int(rng.integers(-5, 1000))
    if pattern == "runs":
        lengths = rng.integers(1, int(rng.integers(2, 700)), num_rows)
        return np.repeat(some[:num_rows], lengths)[:num_rows]
    if pattern == "constant":
        return np.full(num_rows, some[0])
    if pattern == "few":
        return some[rng.integers(0, min(len(some), 7), num_rows)]
    if pattern == "negative":
        return -some[:num_rows]
    if pattern == "outliers":
        return np.where(rng.random(num_rows) < 0.01, -1, some[:num_rows] & 15)
    return some[:num_rows] if pattern == "small" else np.zeros(num_rows, np.int64)


def _in_range(data_type: pa.DataType, values: np.ndarray) -> np.ndarray:
    """Move times into their day and dates to whole days."""
    if pa.types.is_time(data_type):
        return values % (DAY_SECONDS * PER_SECOND[data_type.unit])
    return values % 100_000 * (DAY_SECONDS * 1000) if data_type == pa.date64() else values


def fixed_width(rng: np.random.Generator, data_type: pa.DataType, is_null: np.ndarray, garbage: bool) -> pa.Array:
    """Rows of a type of a fixed number of bits; `garbage` leaves the values below nulls as they come."""
    num_rows = len(is_null)
    pattern = str(rng.choice(NUMBER_PATTERNS))
    bits = data_type.bit_width
    values = _in_range(data_type, _numbers(rng, pattern, num_rows, min(bits, 64)))
    if pa.types.is_floating(data_type) and pattern != "random":
        values = (values.astype(np.float64) / 8).astype(data_type.to_pandas_dtype())
    if not garbage:
        values = np.where(is_null, 0, values).astype(values.dtype)
    if bits == 1:
        data = np.packbits(values & 1 == 1, bitorder="little").tobytes()
    elif pa.types.is_decimal(data_type):
        words = np.repeat(values[:, None] >> 63, bits // 64, axis=1)
        words[:, 0] = values
        data = words.tobytes()
    elif bits in (8, 16, 32, 64):
        data = values.astype(f"i{bits // 8}").tobytes() if values.dtype == np.int64 else values.tobytes()
    else:
        width_bytes = bits // 8
        rows = np.tile(values.view(np.uint8).reshape(num_rows, 8), (1, -(-width_bytes // 8)))
        data = rows[:, :width_bytes].tobytes()
    return pa.Array.from_buffers(data_type, num_rows, [validity(is_null), pa.py_buffer(data)])


def _text(rng: np.random.Generator, pattern: str, num_rows: int) -> list[bytes]:
    picks = rng.integers(0, len(WORDS), (num_rows, 4))
    if pattern == "unique":
        return [b"%d-%d" % (row, pick) for row, pick in enumerate(rng.integers(0, 1 << 40, num_rows))]
    if pattern == "constant":
        return [WORDS[int(rng.integers(0, len(WORDS)))].encode()] * num_rows
    if pattern == "empties":
        return [b"" if pick % 4 else b"x" for pick in picks[:, 0]]
    if pattern == "long":
        longest = int(rng.choice([300, 600, 5000, 40_000 if num_rows < 60 else 300]))
        return [(WORDS[pick].encode() * longest)[: int(rng.integers(0, longest))] for pick in picks[:, 0]]
    if pattern == "accents":
        return ["é".join(WORDS[pick] for pick in row[:2]).encode() + "→😀".encode() for row in picks]
    if pattern in ("few", "runs"):
        rows = np.sort(picks[:, 0]) if pattern == "runs" else picks[:, 0]
        return [WORDS[pick].encode() for pick in rows]
    return [" ".join(WORDS[pick] for pick in row).encode() for row in picks]


def text(rng: np.random.Generator, data_type: pa.DataType, is_null: np.ndarray, garbage: bool) -> pa.Array:
    """Rows of strings or binaries; `garbage` gives null rows bytes of their own."""
    rows = _text(rng, str(rng.choice(TEXT_PATTERNS)), len(is_null))
    if not garbage:
        rows = [b"" if null else row for null, row in zip(is_null, rows, strict=True)]
    large = data_type in (pa.large_string(), pa.large_binary())
    offsets = np.zeros(len(rows) + 1, np.int64 if large else np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    buffers = [validity(is_null), pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(rows))]
    return pa.Array.from_buffers(data_type, len(rows), buffers)
