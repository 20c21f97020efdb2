"""What each generation cannot hold: every line of docs/format/generations.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from blobs import first_kind
from witness import Witness

import lance_arrow
from lance_arrow.errors import UnsupportedError

pytestmark = pytest.mark.interop

DOCS = Path(__file__).parents[2] / "docs" / "format" / "generations.md"
STRUCT = pa.struct([("x", pa.int32()), ("s", pa.string())])
PACKED = {"packed": "true"}

# "zz" lies below the null.
BELOW = [pa.py_buffer(one) for one in (b"\x05", np.array([0, 1, 3, 4], np.int32).tobytes(), b"azzb")]

# Given to the writer of 0.1, and what comes back.
LOST: dict[str, tuple[pa.Array, list[Any]]] = {
    "0.1-null-numbers": (pa.array([7, None, 9], pa.int32()), [7, 0, 9]),
    "0.1-null-tuples": (pa.array([[1, 2], None], pa.list_(pa.int8(), 2)), [[1, 2], [0, 0]]),
    "0.1-null-keys": (pa.array(["b", None, "a"]).dictionary_encode(), ["b", "b", "a"]),
    "0.1-empty-text": (pa.array(["a", "", None]), ["a", None, None]),
    "0.1-null-text": (pa.Array.from_buffers(pa.string(), 3, BELOW), ["a", "zz", "b"]),
    "0.1-null-lists": (pa.array([[1], None, []], pa.list_(pa.int8())), [[1], [], []]),
    "0.1-null-structs": (pa.array([{"x": 1, "s": "a"}, None], STRUCT), [{"x": 1, "s": "a"}, {"x": 0, "s": None}]),
}


def one(column: pa.Array, metadata: dict[str, str] | None = None) -> pa.Table:
    return pa.table([column], schema=pa.schema([pa.field("c", column.type, metadata=metadata)]))


MAPS = one(pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int32())))
TUPLES = one(pa.array([[{"x": 1, "s": "a"}]], pa.list_(STRUCT, 1)))
TEXTS = one(pa.array([{"x": 1, "s": "a"}], STRUCT), PACKED)
TENSORS = one(
    pa.array([{"x": 1, "v": [1.0, 2.0]}], pa.struct({"x": pa.int64(), "v": pa.list_(pa.float32(), 2)})), PACKED
)
FULL = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int8()), pa.array(range(128)))

REFUSED: dict[str, Callable[[], pa.Table]] = {
    "2.0-null-structs": lambda: one(pa.array([None], STRUCT)),
    "2.0-maps": lambda: MAPS,
    "2.0-tuples-of-structs": lambda: TUPLES,
    "2.0-packed-texts": lambda: TEXTS,
    "2.0-full-dictionaries": lambda: one(FULL),
    "2.1-maps": lambda: MAPS,
    "2.1-tuples-of-structs": lambda: TUPLES,
    "2.1-packed-texts": lambda: TEXTS,
    "2.1-packed-tensors": lambda: TENSORS,
    "2.3-blobs": lambda: first_kind([b"a"]),
}


@pytest.mark.parametrize("name", LOST)
def test_lost(witness: Witness, tmp_path: Path, name: str) -> None:
    given, expected = LOST[name]
    table = witness.write_directory(one(given), tmp_path / "table.lance", "legacy")
    (path,) = (table / "data").glob("*.lance")
    with lance_arrow.LanceFile(path) as file:
        assert file.read().column("c").to_pylist() == expected
    assert lance_arrow.LanceTable.open(table).to_table().column("c").to_pylist() == expected
    assert witness.read_directory(table).column("c").to_pylist() == expected


@pytest.mark.parametrize("name", REFUSED)
def test_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file.lance"
    with pytest.raises(UnsupportedError) as caught:
        lance_arrow.write_table(REFUSED[name](), path, file_version=name[:3])
    assert caught.value.column is not None
    assert not path.exists()
    held_by = "2.1" if name == "2.0-full-dictionaries" else "2.2"
    lance_arrow.write_table(REFUSED[name](), path, file_version=held_by)


def test_the_docs_list_them_all() -> None:
    listed = re.findall(r"`(\d\.\d-[a-z-]+)` \|$", DOCS.read_text(), re.MULTILINE)
    assert sorted(listed) == sorted([*LOST, *REFUSED])
