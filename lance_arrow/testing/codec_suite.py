"""`CodecSuite`: base class for tests of a codec.

The author lists the contexts of the codec, and writes one `encode` from the text of the format. The suite then decodes
every sample in every context, from scattered unaligned bytes into guarded memory, and damages the bytes. `write_suite`,
from which this suite inherits, tests the encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from google.protobuf.message import Message

from lance_arrow.errors import LanceError, UnsupportedError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import (
    BlockShape,
    ChunkBatch,
    DecodeContext,
    EncodingKey,
    FixedSizeList,
    FixedWidth,
    LeafType,
    NumBytes,
    PackedStruct,
    ValueBatch,
)
from lance_arrow.spi.codecs import HasParameters
from lance_arrow.spi.native import marks_side, native_side
from lance_arrow.testing.marks_suite import mark_differences
from lance_arrow.testing.native_suite import native_differences
from lance_arrow.testing.samples import SAMPLE_NAMES, Destination, Sample, make_sample
from lance_arrow.testing.scattered import some
from lance_arrow.testing.write_suite import CodecWriteSuite

_FLIPS_PER_BUFFER = 12


@dataclass(frozen=True, slots=True)
class EncodedSample:
    """Result of `CodecSuite.encode`.

    Parameters
    ----------
    description
        A ``CompressiveEncoding``.
    units
        MINI_BLOCK and BLOCK: the buffers of each chunk (or block). PER_VALUE: a single buffer for each value.
    counts
        Number of values of each unit.
    """

    description: Message
    units: tuple[tuple[bytes, ...], ...]
    counts: tuple[int, ...]

    def with_buffer(self, unit: int, buffer: int, content: bytes) -> EncodedSample:
        """Return a copy with one buffer replaced by `content`."""
        buffers = self.units[unit]
        changed = (*buffers[:buffer], content, *buffers[buffer + 1 :])
        return replace(self, units=(*self.units[:unit], changed, *self.units[unit + 1 :]))

    def buffers(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield unit number, buffer number and bytes of every buffer."""
        for unit, buffers in enumerate(self.units):
            for buffer, content in enumerate(buffers):
                yield unit, buffer, content


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


class CodecSuite(CodecWriteSuite):
    """Inherit, set the attributes, write `encode`; pytest collects the tests below once per subclass."""

    key: ClassVar[EncodingKey]
    """Key of the case that the codec reads."""
    contexts: ClassVar[frozenset[DecodeContext]]
    """Contexts in which it must bind; it must raise in others."""
    shapes: ClassVar[Sequence[BlockShape]]
    """Shapes of values to test, each in every context unless `supports` returns False."""
    chunk_values: ClassVar[int] = 1024
    """Number of values of a full chunk."""
    sample_names: ClassVar[Sequence[str]] = SAMPLE_NAMES
    """Names of the samples that the codec can store; all by default."""

    def encode(self, sample: Sample, context: DecodeContext) -> EncodedSample:
        """Encode `sample` by the text of the format, in chunks of `chunk_values` (BLOCK context: one block)."""
        raise NotImplementedError

    def supports(self, shape: BlockShape, context: DecodeContext) -> bool:
        """Return whether values of `shape` can be stored in `context`; True by default."""
        return True

    def leaf(self, shape: BlockShape) -> LeafType:
        """Return the schema of the column."""
        return LeafType(shape)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize tests by context and shape, and by sample if they take one."""
        if "writing_context" in metafunc.fixturenames:
            writing = self.writing_cases()
            ids = [f"{context.value}-{_name(shape)}-{version}" for context, shape, version in writing]
            metafunc.parametrize(("writing_context", "writing_shape", "writing_version"), writing, ids=ids)
        if "suite_shape" in metafunc.fixturenames:
            cases = [(context, shape) for context in DecodeContext for shape in self.shapes if context in self.contexts]
            cases = [(context, shape) for context, shape in cases if self.supports(shape, context)]
            if "suite_difference" in metafunc.fixturenames:
                # A zipped value counts as one value, even if it is a list.
                cases = [(context, shape) for context, shape in cases if context is not DecodeContext.PER_VALUE]
                metafunc.parametrize("suite_difference", (-1, 1, 1024, 100_000))
            metafunc.parametrize(
                ("suite_context", "suite_shape"), cases, ids=[f"{c.value}-{_name(s)}" for c, s in cases]
            )
        elif "suite_context" in metafunc.fixturenames:
            metafunc.parametrize("suite_context", list(DecodeContext), ids=[context.value for context in DecodeContext])
        if "suite_sample" in metafunc.fixturenames:
            metafunc.parametrize("suite_sample", self.sample_names)

    def test_plugin_is_installed_and_declares_its_contexts(self) -> None:
        factory = _runtime().table.codec(self.key)
        assert factory.contexts == self.contexts
        assert set(getattr(factory, "since", ())) <= self.contexts

    def test_binds_in_declared_contexts_only(self, suite_context: DecodeContext) -> None:
        declared = suite_context if suite_context in self.contexts else min(self.contexts, key=lambda c: c.value)
        shape = next(shape for shape in self.shapes if self.supports(shape, declared))
        encoded = self.encode(make_sample(shape, "one value", self.chunk_values), declared)
        if suite_context in self.contexts:
            assert self.bind(encoded, suite_context, shape).shape == shape
        else:
            with pytest.raises(UnsupportedError):
                self.bind(encoded, suite_context, shape)

    def test_every_sample_decodes(
        self, suite_context: DecodeContext, suite_shape: BlockShape, suite_sample: str
    ) -> None:
        sample = make_sample(suite_shape, suite_sample, self.chunk_values)
        encoded = self.encode(sample, suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        if suite_context is not DecodeContext.PER_VALUE:
            assert all(len(buffers) == bound.num_buffers for buffers in encoded.units)
        decode(bound, suite_context, encoded).assert_equals(sample)
        # A bound codec keeps no data of a batch: it decodes a second time, also without a call of `measure`.
        decode(bound, suite_context, encoded, sample.num_bytes).assert_equals(sample)

    def test_parameters_of_another_description_decode_its_bytes(
        self, suite_context: DecodeContext, suite_shape: BlockShape
    ) -> None:
        first, *others = [make_sample(suite_shape, name, self.chunk_values) for name in self.sample_names]
        encoded = self.encode(first, suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        if not isinstance(bound, HasParameters):
            return
        tables = bound.parameters
        assert all(isinstance(table, bytes) for table in tables.values())
        for sample in others:
            other = self.encode(sample, suite_context)
            own = self.bind(other, suite_context, suite_shape).parameters
            description = encoded.description.SerializeToString()
            for name, table in tables.items():
                description = description.replace(table, own[name])
            if description == other.description.SerializeToString():
                decode(bound.with_parameters(own), suite_context, other).assert_equals(sample)

    def test_native_side_agrees(self, suite_context: DecodeContext, suite_shape: BlockShape, suite_sample: str) -> None:
        sample = make_sample(suite_shape, suite_sample, self.chunk_values)
        encoded = self.encode(sample, suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        assert not list(native_differences(bound, suite_context, encoded.units, encoded.counts))

    def test_native_marks_agree(self, suite_context: DecodeContext, suite_shape: BlockShape, suite_sample: str) -> None:
        sample = make_sample(suite_shape, suite_sample, self.chunk_values)
        encoded = self.encode(sample, suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        assert not list(mark_differences(bound, encoded.units, encoded.counts))

    def test_native_side_never_gives_other_values_of_damaged_bytes(
        self, suite_context: DecodeContext, suite_shape: BlockShape
    ) -> None:
        encoded = self.encode(self.hostile_sample(suite_shape), suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        if native_side(bound) is None and marks_side(bound) is None:
            return
        for unit, buffer, content in some(list(encoded.buffers()), 6):
            damages = [content[:size] for size in {0, len(content) // 2, max(len(content) - 1, 0)}]
            for position in some(list(range(len(content))), _FLIPS_PER_BUFFER):
                for mask in (0x01, 0x80, 0xFF):
                    damaged = bytearray(content)
                    damaged[position] ^= mask
                    damages.append(bytes(damaged))
            for changed in damages:
                one = encoded.with_buffer(unit, buffer, changed)
                # A single unit is enough: units are independent.
                units, counts = one.units[unit : unit + 1], one.counts[unit : unit + 1]
                found = native_differences(bound, suite_context, units, counts, may_refuse=True)
                assert not list(found), f"unit {unit}, buffer {buffer}"
                marked = mark_differences(bound, units, counts, may_refuse=True)
                assert not list(marked), f"unit {unit}, buffer {buffer}"

    def test_bytes_outside_the_data_are_refused(self, suite_context: DecodeContext, suite_shape: BlockShape) -> None:
        encoded = self.encode(self.hostile_sample(suite_shape), suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        for outside in (1, -(2**62), 2**62):
            batch = make_batch(bound, suite_context, encoded)
            occupied = np.argwhere(batch.sizes > 0)
            if len(occupied):
                place = tuple(occupied[-1])
                batch.starts[place] = outside if outside != 1 else len(batch.data)
                with pytest.raises(LanceError):
                    decode_batch(bound, suite_context, batch, sum(encoded.counts))

    def test_short_buffers_are_refused(self, suite_context: DecodeContext, suite_shape: BlockShape) -> None:
        sample = self.hostile_sample(suite_shape)
        encoded = self.encode(sample, suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        self_delimiting = suite_context is DecodeContext.PER_VALUE and bound.value_bits is None
        for unit, buffer, content in some(list(encoded.buffers()), 40):
            for size in {0, len(content) // 2, len(content) - 1} - {-1, len(content)}:
                try:
                    result = decode(bound, suite_context, encoded.with_buffer(unit, buffer, content[:size]))
                except LanceError:
                    continue
                # Only padding may be missing, or the end of a zipped value, whose length is stored elsewhere.
                if not self_delimiting:
                    result.assert_equals(sample)

    def test_damaged_bytes_are_refused_or_decoded(self, suite_context: DecodeContext, suite_shape: BlockShape) -> None:
        encoded = self.encode(self.hostile_sample(suite_shape), suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        for unit, buffer, content in some(list(encoded.buffers()), 12):
            for position in some(list(range(len(content))), _FLIPS_PER_BUFFER):
                for mask in (0x01, 0x80, 0xFF):
                    damaged = bytearray(content)
                    damaged[position] ^= mask
                    decode_or_refuse(bound, suite_context, encoded.with_buffer(unit, buffer, bytes(damaged)))

    def test_wrong_counts_are_refused_or_decoded(
        self, suite_context: DecodeContext, suite_shape: BlockShape, suite_difference: int
    ) -> None:
        encoded = self.encode(self.hostile_sample(suite_shape), suite_context)
        bound = self.bind(encoded, suite_context, suite_shape)
        counts = (*encoded.counts[:-1], encoded.counts[-1] + suite_difference)
        decode_or_refuse(bound, suite_context, replace(encoded, counts=counts))

    def hostile_sample(self, shape: BlockShape) -> Sample:
        """Return the values whose encoded bytes the tests damage."""
        name = "last short chunk" if "last short chunk" in self.sample_names else self.sample_names[-1]
        return make_sample(shape, name, self.chunk_values)

    def bind(self, encoded: EncodedSample, context: DecodeContext, shape: BlockShape) -> Any:
        """Bind the description through the installed plugins."""
        scope = _runtime().binder.scope(self.leaf(shape))
        if context is DecodeContext.PER_VALUE:
            return scope.value_codec(encoded.description)
        return scope.chunk_codec(encoded.description, context)


def make_batch(bound: Any, context: DecodeContext, encoded: EncodedSample) -> ChunkBatch | ValueBatch:
    """Scatter all buffers in one array, unaligned, with garbage between them."""
    parts, starts, position = [], [], 0
    for number, (_, _, content) in enumerate(encoded.buffers()):
        gap = b"\xee" * (number % 3 + 1)
        parts += [gap, content]
        starts.append(position + len(gap))
        position += len(gap) + len(content)
    data = np.frombuffer(b"".join(parts), np.uint8)
    num_buffers = 1 if context is DecodeContext.PER_VALUE else bound.num_buffers
    order = (len(encoded.units), num_buffers)
    sizes = np.array([len(content) for _, _, content in encoded.buffers()], np.int64).reshape(order).T.copy()
    places = np.array(starts, np.int64).reshape(order).T.copy()
    if context is DecodeContext.PER_VALUE:
        return ValueBatch(data, places.reshape(-1), sizes.reshape(-1))
    return ChunkBatch(data, places, sizes, np.cumsum([0, *encoded.counts]))


def decode(
    bound: Any, context: DecodeContext, encoded: EncodedSample, num_bytes: NumBytes | None = None
) -> Destination:
    """Decode into new guarded memory; `num_bytes` replaces the measured size."""
    return decode_batch(bound, context, make_batch(bound, context, encoded), sum(encoded.counts), num_bytes)


def decode_batch(
    bound: Any,
    context: DecodeContext,
    batch: ChunkBatch | ValueBatch,
    num_values: int,
    num_bytes: NumBytes | None = None,
) -> Destination:
    """Decode a batch into new guarded memory and check that no other byte was written."""
    measured = bound.measure(batch) if num_bytes is None else num_bytes
    destination = Destination(bound.shape, num_values, measured)
    try:
        bound.decode(batch, destination.block)
    finally:
        destination.assert_untouched_outside()
    return destination


def decode_or_refuse(bound: Any, context: DecodeContext, encoded: EncodedSample) -> bool:
    """Return whether damaged bytes decoded; exceptions other than `LanceError` fail the test."""
    try:
        decode(bound, context, encoded)
    except LanceError:
        return False
    return True


def _name(shape: BlockShape) -> str:
    """Short test id of a shape."""
    if isinstance(shape, PackedStruct):
        return f"struct-{'-'.join(map(_name, shape.fields))}"
    if isinstance(shape, FixedSizeList):
        return f"{_name(shape.items)}[{shape.dimension}]{'?' if shape.has_validity else ''}"
    return f"u{shape.bits}" if isinstance(shape, FixedWidth) else f"bytes{shape.offset_bits}"
