"""Sinks over streams that are open already: all bytes arrive, the stream stays open, its errors keep their names."""

from __future__ import annotations

import io
import os
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lance_arrow.io import StreamSink, open_sink
from lance_arrow.io.sink import BUFFER_BYTES

PARTS = [b"", b"x", bytes(range(256)) * 20, b"y" * (BUFFER_BYTES - 1), b"z" * (3 * BUFFER_BYTES + 7), b"end"]


@given(
    st.lists(st.binary(max_size=40), max_size=30),
    st.sampled_from([bytes, bytearray, memoryview, lambda part: np.frombuffer(part, np.uint8)]),
)
@settings(max_examples=50, deadline=None)
def test_a_stream_gets_all_bytes_and_stays_open(parts, kind):
    out = io.BytesIO()
    with open_sink(out) as sink:
        sink.write_many([kind(part) for part in parts])
    assert not out.closed
    assert out.getvalue() == b"".join(parts)


def test_streams_of_others(tmp_path: Path) -> None:
    arrow = pa.BufferOutputStream()
    with open_sink(arrow) as sink:
        sink.write_many(PARTS)
    assert arrow.getvalue().to_pybytes() == b"".join(PARTS)
    for opened in (open(tmp_path / "a", "wb"), open(tmp_path / "b", "wb", buffering=0)):  # noqa: SIM115
        with opened, open_sink(opened) as sink:
            sink.write_many(PARTS)
    with fsspec.open(str(tmp_path / "c"), "wb") as opened, open_sink(opened) as sink:
        sink.write_many(PARTS)
    assert {(tmp_path / name).read_bytes() for name in "abc"} == {b"".join(PARTS)}
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]


class _Nameless(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, _: object) -> int:
        raise self.error

    error: OSError


@pytest.mark.parametrize("error", [OSError("no number"), FileNotFoundError(2, "gone", "another name")])
def test_errors_that_cannot_be_named_or_are_stay(error: OSError) -> None:
    stream = _Nameless()
    stream.error = error
    said, name = str(error), error.filename
    with pytest.raises(OSError) as raised, StreamSink(stream, name="a name") as sink:
        sink.write(b"x" * 3000)
    assert raised.value is error
    assert (str(error), error.filename) == (said, name)
