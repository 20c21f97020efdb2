"""Suites without an `encode` by hand: samples come from the codec's own writer, and rows from files."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lance_arrow
from lance_arrow.errors import InvalidArgumentError, UnsupportedError
from lance_arrow.spi import BlockShape, DecodeContext, Encoded, EncodedBlock, EncodedChunks, EncodingKey
from lance_arrow.testing.codec_suite import CodecSuite, EncodedSample
from lance_arrow.testing.kit.installed import cases, is_private, runtime, written
from lance_arrow.testing.samples import Sample

CHUNK_VALUES = 128
NUM_ROWS = 3000


def columns() -> dict[str, pa.Array]:
    """Return columns of frequent types: numbers with and without nulls, and strings."""
    random = np.random.default_rng(1)
    steps = np.cumsum(random.integers(-9, 10, NUM_ROWS))
    is_null = random.random(NUM_ROWS) < 0.1
    found: dict[str, pa.Array] = {}
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"):
        found[name] = pa.array(steps.astype(name))
        found[f"nullable_{name}"] = pa.array(steps.astype(name), mask=is_null)
    texts = [f"item {step} of {row}" for row, step in enumerate(steps.tolist())]
    found["string"] = pa.array(texts)
    found["nullable_large_binary"] = pa.array([one.encode() for one in texts], pa.large_binary(), mask=is_null)
    return found


def codec_suite(codec: EncodingKey) -> type[CodecSuite]:
    """Make the suite of an installed codec that writes."""
    found = cases(codec, CHUNK_VALUES)
    factory: Any = runtime().table.codec(codec)

    class InstalledCodec(CodecSuite):
        key = codec
        contexts = factory.contexts
        shapes = tuple(dict.fromkeys(sorted({shape for shape, _ in found}, key=str)))
        chunk_values = CHUNK_VALUES

        def supports(self, shape: BlockShape, context: DecodeContext) -> bool:
            return (shape, context) in found

        def test_binds_in_declared_contexts_only(self, suite_context: DecodeContext) -> None:
            tried = suite_context if suite_context in self.contexts else min(self.contexts, key=lambda one: one.value)
            if not any(context is tried for _, context in found):
                pytest.skip(f"the codec writes no sample in the {tried.value} context")
            super().test_binds_in_declared_contexts_only(suite_context)

        def encode(self, sample: Sample, context: DecodeContext) -> EncodedSample:
            encoded = written(codec, sample, context)
            if encoded is None:
                pytest.skip("the codec does not take this sample")
            return as_sample(encoded, sample)

    InstalledCodec.is_private = is_private(codec)
    return InstalledCodec


def as_sample(encoded: Encoded, sample: Sample) -> EncodedSample:
    """Return what a writer made in the form of `CodecSuite.encode`."""
    description = encoded.description
    if isinstance(encoded, EncodedChunks):
        ends = np.cumsum(encoded.sizes, axis=1)
        units = tuple(
            tuple(
                buffer[end - size : end].tobytes()
                for buffer, end, size in zip(encoded.buffers, ends[:, chunk], encoded.sizes[:, chunk], strict=True)
            )
            for chunk in range(len(encoded.value_counts))
        )
        return EncodedSample(description, units, tuple(encoded.value_counts.tolist()))
    if isinstance(encoded, EncodedBlock):
        unit = () if encoded.buffer is None else (encoded.buffer.tobytes(),)
        return EncodedSample(description, (unit,), (sample.num_values,))
    offsets = encoded.offsets
    if offsets is None:
        offsets = np.arange(sample.num_values + 1) * ((encoded.value_bits or 0) // 8)
    values = tuple((encoded.data[start:stop].tobytes(),) for start, stop in pairwise(offsets.tolist()))
    return EncodedSample(description, values, (1,) * len(values))


def check_files(options: dict[str, Any], folder: Path) -> None:
    """Write and read each column with `options`; at least one column must be written.

    Parameters
    ----------
    options
        Column options, such as ``{"codec": "vendor.name/1"}``.
    folder
        Where the files go.
    """
    names, refusals = [], ["there are no columns"]
    for name, column in columns().items():
        table, path = pa.table({"c": column}), folder / f"{name}.lance"
        try:
            lance_arrow.write_table(table, path, column_options={"c": options}, allow_private_encodings=True)
        except (UnsupportedError, InvalidArgumentError) as error:
            refusals.append(str(error))
            continue
        names.append(name)
        rows = pa.array([NUM_ROWS - 1, 0, 17, 17, NUM_ROWS // 2])
        with lance_arrow.LanceFile(path) as file:
            assert file.read().equals(table), f"{name} reads back differently"
            assert file.take(rows.to_pylist()).equals(table.take(rows)), f"rows of {name} read back differently"
        assert lance_arrow.verify(path).ok
    assert names, f"no column could be written: {refusals[-1]}"
