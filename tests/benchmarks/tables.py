"""The tables of the benchmark: scalars, strings, embeddings, nested columns, blobs; the same bytes at every run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

SEED = 20
BLOB_BYTES = 50_000


def scalars(num_rows: int = 1_000_000) -> pa.Table:
    """Ten columns: random, small-range, sequential and constant-step numbers, floats, bools, times, some with nulls."""
    random = np.random.default_rng(SEED)
    return pa.table(
        {
            "wide": random.integers(0, 1 << 40, num_rows),
            "narrow": random.integers(0, 100_000, num_rows, dtype=np.int32),
            "double": random.random(num_rows),
            "single": random.random(num_rows).astype(np.float32),
            "flag": random.random(num_rows) < 0.5,
            "nullable": pa.array(random.integers(0, 1000, num_rows), mask=random.random(num_rows) < 0.1),
            "time": pa.array(np.arange(num_rows) * 1000, pa.timestamp("us")),
            "tiny": random.integers(-100, 100, num_rows, dtype=np.int8),
            "sequence": np.arange(num_rows),
            "nullable_double": pa.array(random.random(num_rows), mask=random.random(num_rows) < 0.1),
        }
    )


def strings(num_rows: int = 200_000) -> pa.Table:
    """Five columns: keys of one length, names, texts of 50 to 300 letters, 500 categories, short ones with nulls."""
    random = np.random.default_rng(SEED)
    categories = _words(random, 500, 5, 20).take(pa.array(random.integers(0, 500, num_rows)))
    nullable = np.array(_words(random, num_rows, 3, 12).to_pylist(), object)
    return pa.table(
        {
            "id": _words(random, num_rows, 16, 17),
            "name": _words(random, num_rows, 5, 40),
            "text": _words(random, num_rows, 50, 300),
            "category": categories,
            "nullable": pa.array(nullable, pa.string(), mask=random.random(num_rows) < 0.1),
        }
    )


def embeddings(num_rows: int = 10_000, dimension: int = 768) -> pa.Table:
    """A key and a vector of float32."""
    items = pa.array(np.random.default_rng(SEED).random(num_rows * dimension, dtype=np.float32))
    return pa.table({"id": np.arange(num_rows), "vector": pa.FixedSizeListArray.from_arrays(items, dimension)})


def nested(num_rows: int = 100_000) -> pa.Table:
    """A key, lists of strings, lists of structs with nulls among the fields, structs of which a tenth is null."""
    random = np.random.default_rng(SEED)
    offsets = np.concatenate([[0], np.cumsum(random.integers(0, 8, num_rows))]).astype(np.int32)
    num_items = int(offsets[-1])
    item = pa.StructArray.from_arrays(
        [
            pa.array(random.integers(0, 1000, num_items)),
            pa.array(random.random(num_items), mask=random.random(num_items) < 0.1),
        ],
        ["a", "b"],
    )
    struct = pa.StructArray.from_arrays(
        [pa.array(random.integers(0, 1 << 40, num_rows)), _words(random, num_rows, 3, 20)],
        ["x", "s"],
        mask=pa.array(random.random(num_rows) < 0.1),
    )
    return pa.table(
        {
            "id": np.arange(num_rows),
            "tags": pa.ListArray.from_arrays(pa.array(offsets), _words(random, num_items, 3, 10)),
            "items": pa.ListArray.from_arrays(pa.array(offsets), item),
            "struct": struct,
        }
    )


def blobs(num_rows: int = 1000) -> pa.Table:
    """A key and 50 kB of random bytes in a plain binary column."""
    return _blobs(num_rows, None)


def blob_column(num_rows: int = 1000) -> pa.Table:
    """The same in a column that is marked as blobs: its bytes lie outside the pages."""
    return _blobs(num_rows, {"lance-encoding:blob": "true"})


def _blobs(num_rows: int, metadata: dict[str, str] | None) -> pa.Table:
    random = np.random.default_rng(SEED)
    offsets = np.arange(num_rows + 1, dtype=np.int64) * BLOB_BYTES
    data = random.bytes(num_rows * BLOB_BYTES)
    values = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), num_rows, [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("blob", pa.large_binary(), metadata=metadata)])
    return pa.table([pa.array(np.arange(num_rows)), values], schema=schema)


def _words(random: np.random.Generator, count: int, shortest: int, longest: int) -> pa.StringArray:
    """Words of random letters; lengths are below `longest`."""
    offsets = np.concatenate([[0], np.cumsum(random.integers(shortest, longest, count))]).astype(np.int32)
    letters = random.integers(97, 123, int(offsets[-1]), dtype=np.uint8)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters))


TABLES: dict[str, Callable[[], pa.Table]] = {
    "scalars": scalars,
    "strings": strings,
    "embeddings": embeddings,
    "nested": nested,
    "blobs": blobs,
    "blob-column": blob_column,
}
