"""Uploads to a store of obstore end within their deadline, appear as a whole, and not at all when they are given up."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bucket_server import bucket
from obstore.store import MemoryStore

import lance_arrow
from lance_arrow.errors import StoreTimeoutError
from lance_arrow.io.obstore_filesystem import as_filesystem

# More than three parts.
_ROWS = pa.table({"x": np.random.default_rng(0).integers(0, 1 << 62, 4_000_000)})


def test_parts_appear_as_one_object() -> None:
    store = MemoryStore()
    lance_arrow.write_table(_ROWS, "f.lance", filesystem=store)
    assert lance_arrow.read_table("f.lance", filesystem=store).equals(_ROWS)


def test_an_upload_that_is_discarded_does_not_appear() -> None:
    store = MemoryStore()
    filesystem = as_filesystem(store)
    file = filesystem.open("f", "wb")
    file.write(bytes(30 << 20))
    file.discard()
    file.closed = True
    assert not filesystem.exists("f")


def test_an_upload_in_parts_has_a_deadline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", "0.5")
    monkeypatch.setattr("lance_arrow.io.patience.MEBIBYTE", 1 << 40)
    with bucket(tmp_path, seconds=4.0) as server:
        begun = time.monotonic()
        with pytest.raises(StoreTimeoutError, match="within"):
            lance_arrow.write_table(_ROWS, "f.lance", filesystem=server.store())
        assert time.monotonic() - begun < 3.5
    assert not (tmp_path / "f.lance").exists()
