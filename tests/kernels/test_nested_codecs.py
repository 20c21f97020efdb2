"""Native codecs within each other: every nesting of one thread has memory of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import handmade
import numpy as np
import pyarrow as pa
import pytest
import zstandard
from forge_pages import general, variable
from forged import ZSTD, lz4
from forged_arrays import symbols

import lance_arrow
from lance_arrow import engine
from lance_arrow.kernels import native_codecs
from lance_arrow.spi import Bytes
from lance_arrow_codecs import native
from lance_arrow_codecs.zstd import BoundZstd

COUNT = 300
# Codes of the inner table stand for codes of the outer one, which stand for the values.
INNER = [b"\0\1\0\2\0\1\0\2", b"\2\1", b"\1"]
OUTER = [b"ab", b"c", b"defghijk"]
STORED = [bytes([number % 3] * (number % 5)) for number in range(COUNT)]


def expanded(codes: bytes, table: list[bytes]) -> bytes:
    return b"".join(table[code] for code in codes)


VALUES = [expanded(expanded(codes, INNER), OUTER) for codes in STORED]


def chunk(values: list[bytes]) -> bytes:
    ends = np.cumsum([4 * (len(values) + 1), *map(len, values)])
    return ends.astype("<u4").tobytes() + b"".join(values)


def table(held: list[bytes]) -> np.ndarray:
    return np.frombuffer(symbols(*held), np.uint8)


@pytest.mark.parametrize("is_compressed", [False, True])
@pytest.mark.parametrize("rows", [[0, 3, 5], range(COUNT), range(1, COUNT, 7), [299]])
def test_symbols_of_symbols(rows: list[int], is_compressed: bool) -> None:
    inner = native.symbols_codec(native.variable_codec(32), table(INNER))
    content = chunk(STORED)
    if is_compressed:
        inner, content = native_codecs.compressed(inner, native.lz4_frames(), 1 << 20), lz4(content)
    codec = native.symbols_codec(inner, table(OUTER))
    starts = np.array(rows, np.int64)
    # Memory is left behind by a first call, and used again by the second.
    for _ in range(2):
        values, ends = engine.select_values(
            codec, [np.frombuffer(content, np.uint8)], COUNT, starts, starts + 1, 1 << 20
        )
        assert ends is not None
        assert [values[start:stop] for start, stop in zip([0, *ends], ends, strict=False)] == [VALUES[n] for n in rows]


def test_a_codec_in_python_reads_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer read is between fetching and placing its values when the inner one begins, in the same thread."""
    outer, inner = [
        [b"%s %d " % (word, number) * (number % 40 + 1) for number in range(COUNT)] for word in (b"outer", b"inner")
    ]
    paths = []
    for name, values in (("outer", outer), ("inner", inner)):
        stored = [len(value).to_bytes(8, "little") + zstandard.ZstdCompressor().compress(value) for value in values]
        layout, buffers = handmade.zipped(general(variable(), ZSTD), stored, "2.2")
        paths.append(tmp_path / f"{name}.lance")
        paths[-1].write_bytes(handmade.file_of(pa.field("c", pa.binary()), layout, buffers, COUNT, "2.2"))
    monkeypatch.setattr(BoundZstd, "native", lambda _self: None)
    decompress = BoundZstd.decompress
    found = []

    def and_read(self: BoundZstd, frames: Bytes, *places: Any) -> None:
        monkeypatch.setattr(BoundZstd, "decompress", decompress)
        before = frames.tobytes()
        with lance_arrow.LanceFile(paths[1]) as file:
            found.append(file.take(range(1, COUNT, 2))["c"].to_pylist())
        # Damaged frames would be refused, and the rows read again by another way.
        assert frames.tobytes() == before
        decompress(self, frames, *places)

    for rows in ([0, 3, 5], range(0, COUNT, 3)):
        with lance_arrow.LanceFile(paths[0]) as file:
            assert file.take([1])["c"].to_pylist() == [outer[1]]
            monkeypatch.setattr(BoundZstd, "decompress", and_read)
            assert file.take(rows)["c"].to_pylist() == [outer[row] for row in rows]
    assert found == [inner[1::2]] * 2


def test_only_scratch_has_variables_of_a_thread() -> None:
    """A nested call finds what the outer one holds in a variable of their thread: `scratch.hpp` leases instead."""
    folder = Path(__file__).parents[2] / "lance_arrow"
    sources = [path for kind in ("*.hpp", "*.pyx", "*.pxd", "*.h") for path in sorted(folder.rglob(kind))]
    found = {path.name for path in sources if re.search(r"\bthread_local\b", path.read_text())}
    assert found == {"scratch.hpp"}
