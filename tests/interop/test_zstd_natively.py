"""Files of the reference with Zstandard: the engine reads all of their pages, and gives the reference's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lance.file import LanceFileReader, LanceFileWriter

import lance_arrow
from lance_arrow_codecs.zstd import BoundZstd

pytestmark = pytest.mark.interop

ROWS = 20_000


def column(kind: str) -> pa.Array:
    random = np.random.default_rng(6)
    if kind == "strings":
        return pa.array([None if row % 9 == 4 else f"text {row % 700} of {row * row % 1013}" for row in range(ROWS)])
    if kind == "integers":
        return pa.array(random.integers(0, 1 << 40, ROWS) // 1000 * 1000, mask=random.random(ROWS) < 0.1)
    if kind == "doubles":
        return pa.array(np.round(random.random(ROWS), 4))
    if kind == "lists":
        return pa.array([[f"item {row % 50}"] * (row % 4) for row in range(ROWS)])
    return pa.array([b"%d, " % row * 9_000 + random.bytes(3_000) for row in range(120)], pa.binary())


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("kind", ["strings", "integers", "doubles", "lists", "large"])
def test_rows_are_those_of_the_reference(
    tmp_path: Path, kind: str, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, path = column(kind), tmp_path / "file.lance"
    field = pa.field("c", values.type, metadata={"lance-encoding:compression": "zstd"})
    with LanceFileWriter(str(path), pa.schema([field]), version=version) as writer:
        writer.write_batch(pa.table([values], schema=pa.schema([field])))

    def decompress(*_given: Any) -> None:
        raise AssertionError("frames were decompressed in Python")

    monkeypatch.setattr(BoundZstd, "decompress", decompress)
    expected = LanceFileReader(str(path)).read_all().to_table()
    random = np.random.default_rng(2)
    with lance_arrow.LanceFile(path) as file:
        for size in (1, 3, 100, 1):
            rows = np.sort(random.choice(len(values), size, replace=False))
            assert file.take(rows)["c"].to_pylist() == expected["c"].take(pa.array(rows)).to_pylist()
        assert file.read()["c"].to_pylist() == expected["c"].to_pylist() == values.to_pylist()
