"""Deterministic Arrow arrays: numpy bytes first, so that every type and 100,000 rows cost milliseconds."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Make = Callable[[np.random.Generator, int], pa.Array]

WORDS = [
    "amber",
    "birch",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heath",
    "inlet",
    "jetty",
    "kelp",
    "lagoon",
    "marsh",
    "night",
    "ocean",
    "plain",
    "quarry",
    "river",
    "stone",
    "tundra",
    "under",
    "valley",
    "willow",
    "xenon",
    "yonder",
    "zephyr",
    "ångström",
    "çedilla",
    "ñandú",
    "東京",
    "κόσμος",
    "мир",
    "🌊",
]


def seeded(name: str) -> np.random.Generator:
    """Random numbers that depend on `name` alone."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def is_null_at(rng: np.random.Generator, num_rows: int, nulls: str) -> np.ndarray:
    """``(num_rows,) bool``, for nulls ``none``, ``some`` (alone, in runs, or both: three habits) or ``all``."""
    if nulls == "all":
        return np.ones(num_rows, bool)
    if nulls == "none":
        return np.zeros(num_rows, bool)
    alone = rng.random(num_rows) < 0.15
    runs = np.repeat(rng.random(num_rows // 170 + 1) < 0.2, 170)[:num_rows]
    return (alone, runs if runs.any() else alone, alone | runs)[int(rng.integers(0, 3))]


def with_nulls(array: pa.Array, is_null: np.ndarray) -> pa.Array:
    """Return `array` with nulls put over its values, which stay in the buffers as garbage."""
    if not is_null.any() or pa.types.is_null(array.type):
        return array
    mask = pa.array(is_null)
    if pa.types.is_struct(array.type):
        return pa.StructArray.from_arrays(array.flatten(), fields=list(array.type), mask=mask)
    if pa.types.is_fixed_size_list(array.type):
        return pa.FixedSizeListArray.from_arrays(array.values, type=array.type, mask=mask)
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(with_nulls(array.indices, is_null), array.dictionary)
    validity = pa.py_buffer(np.packbits(~is_null, bitorder="little"))
    return pa.Array.from_buffers(array.type, len(array), [validity, *array.buffers()[1:]])


def fixed(data_type: pa.DataType, values: np.ndarray) -> pa.Array:
    """Take the bytes of `values` as they are for a fixed-width type."""
    data = np.ascontiguousarray(values)
    num_rows = data.nbytes * 8 // data_type.bit_width
    return pa.Array.from_buffers(data_type, num_rows, [None, pa.py_buffer(data)])


def strings(data_type: pa.DataType, values: list[bytes], picks: np.ndarray) -> pa.Array:
    """Build a string or binary array ``values[picks]``."""
    return pa.array(values, pa.binary()).take(pa.array(picks)).cast(data_type)


def integers(bits: int, kind: str) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Unsigned patterns of `bits` bits as ``(num_rows,)``: random, small, sequential, runs, constant, few, negative."""
    dtype = np.dtype(f"u{bits // 8}")
    top = np.iinfo(dtype).max

    def make(rng: np.random.Generator, num_rows: int) -> np.ndarray:
        if kind == "random":
            return rng.integers(0, top, num_rows, dtype, endpoint=True)
        if kind == "small":
            return rng.integers(0, min(100, top), num_rows, dtype)
        if kind == "sequential":
            return (np.arange(num_rows, dtype=np.uint64) + 7).astype(dtype)
        if kind == "runs":
            picks = rng.integers(0, top, num_rows // 60 + 1, dtype, endpoint=True)
            return np.repeat(picks, rng.integers(1, 300, len(picks)))[:num_rows].copy() if num_rows else picks[:0]
        if kind == "few_small":
            return rng.choice(np.arange(3, 3 + 1_000_000 * 40, 1_000_000).astype(dtype), num_rows)
        if kind == "few":
            return rng.choice(rng.integers(0, top, 9, dtype, endpoint=True), num_rows)
        if kind == "negative":
            return (rng.integers(0, min(50, top), num_rows, np.int64) - 25).astype(dtype)
        if kind == "constant":
            return np.full(num_rows, rng.integers(1, top, dtype=dtype), dtype)
        raise ValueError(kind)

    def padded(rng: np.random.Generator, num_rows: int) -> np.ndarray:
        made = make(rng, num_rows)
        return made if len(made) == num_rows else np.resize(made, num_rows)

    return padded


def floats(data_type: pa.DataType, kind: str) -> Make:
    """Float columns; ``special`` holds NaNs with payloads, infinities, both zeros and subnormals."""
    bits = data_type.bit_width
    dtype = np.dtype(f"f{bits // 8}")

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        if kind == "rounded":
            return fixed(data_type, (rng.integers(0, 500, num_rows) / 8).astype(dtype))
        if kind == "normal":
            return fixed(data_type, rng.standard_normal(num_rows).astype(dtype))
        if kind == "special":
            top = np.iinfo(f"u{bits // 8}").max
            odd = np.array([0, 1, top // 2 + 1, top // 2, top, top - 3], f"u{bits // 8}")
            odd = np.concatenate([odd, np.array([np.inf, -np.inf, 1.5, np.nan], dtype).view(odd.dtype)])
            return fixed(data_type, rng.choice(odd, num_rows))
        return fixed(data_type, integers(bits, kind)(rng, num_rows))

    return make


def of_pattern(data_type: pa.DataType, kind: str) -> Make:
    """A type whose values are `data_type.bit_width` bits (8 to 64), made by `integers`."""
    return lambda rng, num_rows: fixed(data_type, integers(data_type.bit_width, kind)(rng, num_rows))


def booleans(kind: str) -> Make:
    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        values = np.ones(num_rows, bool) if kind == "constant" else rng.random(num_rows) < 0.4
        return pa.array(values)

    return make


def times_of_day(data_type: pa.DataType, kind: str) -> Make:
    """Times below 24 hours, in the unit of `data_type`."""
    per_day = 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[data_type.unit]

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        patterns = integers(data_type.bit_width, kind)(rng, num_rows)
        return fixed(data_type, patterns % patterns.dtype.type(per_day))

    return make


def date64s(rng: np.random.Generator, num_rows: int) -> pa.Array:
    """Whole days, as Arrow demands of date64."""
    return fixed(pa.date64(), rng.integers(-20_000, 20_000, num_rows) * 86_400_000)


def decimals(data_type: pa.DataType, kind: str) -> Make:
    """Decimals over the whole precision, from few values, or one value."""
    width_bytes = data_type.bit_width // 8
    top = 10**data_type.precision

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        num_distinct = {"random": 997, "few": 6, "constant": 1}[kind]
        words = rng.integers(0, 2**63, (num_distinct, 5))
        picked = [sum(int(w) << (63 * i) for i, w in enumerate(row)) % (2 * top - 1) - top + 1 for row in words]
        table = np.frombuffer(b"".join(v.to_bytes(width_bytes, "little", signed=True) for v in picked), np.uint8)
        rows = table.reshape(num_distinct, width_bytes)
        picks = rng.integers(0, num_distinct, num_rows)
        return fixed(data_type, rows[picks])

    return make


def binaries_of(width_bytes: int, kind: str) -> Make:
    """Fixed-size binary: random, from few values, or one value."""

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        if kind == "random":
            values = rng.integers(0, 256, (num_rows, width_bytes), np.uint8)
        else:
            few = rng.integers(0, 256, (7 if kind == "few" else 1, width_bytes), np.uint8)
            values = few[rng.integers(0, len(few), num_rows)]
        return fixed(pa.binary(width_bytes), values)

    return make


def texts(data_type: pa.DataType, kind: str) -> Make:
    """Strings and binaries by kind; see the branches."""

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        words = [word.encode() for word in WORDS]
        if kind == "words":
            parts = [strings(pa.binary(), words, rng.integers(0, len(words), num_rows)) for _ in range(4)]
            return pc.binary_join_element_wise(*parts, b" ").cast(data_type)
        if kind == "unique":
            numbers = pa.array(np.arange(num_rows) * 7919 % 1_000_003).cast(pa.string()).cast(pa.binary())
            return pc.binary_join_element_wise(pa.scalar(b"row"), numbers, b"-").cast(data_type)
        if kind == "empties":
            return strings(data_type, [b"", b"", b"x", b"\xc3\xa9"], rng.integers(0, 4, num_rows))
        if kind == "few":
            return strings(data_type, words[:12], rng.integers(0, 12, num_rows))
        if kind == "runs":
            return strings(data_type, words, np.resize(np.repeat(rng.integers(0, len(words), 200), 40), num_rows))
        if kind == "constant":
            return strings(data_type, [b"always the same"], np.zeros(num_rows, np.int64))
        if kind == "empty":
            return strings(data_type, [b""], np.zeros(num_rows, np.int64))
        if kind == "long":
            letters = rng.integers(97, 123, 70_000, np.uint8).tobytes()
            values = [letters[:40_000], letters[:33_000], *(letters[i * 9 : i * 9 + 5] for i in range(400))]
            picks = rng.integers(2, len(values), num_rows)
            picks[:3] = [0, 2, 1][:num_rows]
            picks[-2:] = [1, 0][: min(2, num_rows)]
            return strings(data_type, values, picks)
        if kind == "wide":
            letters = rng.integers(97, 123, 3_000, np.uint8).tobytes()
            starts, sizes = rng.integers(0, 2_000, 300), rng.integers(0, 600, 300)
            values = [letters[start : start + size] for start, size in zip(starts, sizes, strict=True)]
            return strings(data_type, values, rng.integers(0, 300, min(num_rows, 20_000)))
        raise ValueError(kind)

    def padded(rng: np.random.Generator, num_rows: int) -> pa.Array:
        made = make(rng, num_rows)
        return made if len(made) == num_rows else made.take(pa.array(np.arange(num_rows) % len(made)))

    return padded


def lists_of(items: Make, dimension: int, item_nulls: str = "none") -> Make:
    """Fixed-size lists of `items`, whose own nulls are ``none``, ``some`` or ``all``."""

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        values = items(rng, num_rows * dimension)
        values = with_nulls(values, is_null_at(rng, len(values), item_nulls))
        return pa.FixedSizeListArray.from_arrays(values, dimension)

    return make


def structs_of(children: dict[str, Make], child_nulls: str = "none") -> Make:
    """Structs of `children`; with `child_nulls` each child has nulls of its own."""

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        if not children:
            return pa.array([{}] * num_rows, pa.struct([]))
        arrays = []
        for child in children.values():
            values = child(rng, num_rows)
            arrays.append(with_nulls(values, is_null_at(rng, num_rows, child_nulls)))
        fields = [pa.field(name, array.type) for name, array in zip(children, arrays, strict=True)]
        return pa.StructArray.from_arrays(arrays, fields=fields)

    return make


def nothing(rng: np.random.Generator, num_rows: int) -> pa.Array:
    """The null type."""
    return pa.nulls(num_rows)


def dictionaries(index_type: pa.DataType, value_type: pa.DataType, num_items: int) -> Make:
    """Dictionary arrays: indices of `index_type` into `num_items` distinct items."""

    def make(rng: np.random.Generator, num_rows: int) -> pa.Array:
        items = pa.array([f"item {i}" for i in range(num_items)])
        if pa.types.is_primitive(value_type):
            items = pa.array(np.arange(num_items) * 37 - 5)
        indices = pa.array(rng.integers(0, num_items, num_rows)).cast(index_type)
        return pa.DictionaryArray.from_arrays(indices, items.cast(value_type))

    return make
