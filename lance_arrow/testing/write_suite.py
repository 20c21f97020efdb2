"""`CodecWriteSuite`: contract of every codec that can write; `CodecSuite` inherits it.

Each sample is encoded for each file version and checked against the rules of the contexts. A reader then binds the
description and decodes it. A codec may return no score for a sample that it would make larger, but not for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from lance_arrow.errors import UnsupportedError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import (
    BlockShape,
    BlockSlice,
    ChunkRules,
    DecodeContext,
    Encoded,
    EncodedBlock,
    EncodedChunks,
    EncodedValues,
    EncodeOptions,
    EncodingKey,
    LeafType,
)
from lance_arrow.spi.encoders import BlocksEncoder, CodecEncoder
from lance_arrow.spi.table import version_number
from lance_arrow.structure.page_scope import PageScope
from lance_arrow.testing.native_write_suite import NativeWriteSuite
from lance_arrow.testing.round_trip import decode, decode_blocks, encode_scope
from lance_arrow.testing.samples import (
    Sample,
    assert_block_equals,
    filled,
    filled_with_nulls,
    make_sample,
    values_of,
)

FILE_VERSIONS = ("2.1", "2.2", "2.3")
NULLABLE_SAMPLES = ("last short chunk", "all equal")
_ANSWERS = {
    DecodeContext.MINI_BLOCK: EncodedChunks,
    DecodeContext.BLOCK: EncodedBlock,
    DecodeContext.PER_VALUE: EncodedValues,
}


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


class CodecWriteSuite(NativeWriteSuite):
    """The writing half of `CodecSuite`; for a codec without an encoder, pytest skips these tests."""

    key: ClassVar[EncodingKey]
    shapes: ClassVar[Sequence[BlockShape]]
    chunk_values: ClassVar[int]
    sample_names: ClassVar[Sequence[str]]
    is_private: ClassVar[bool] = False
    """Whether the writer needs permission for the codec, as for private codecs."""

    def supports(self, shape: BlockShape, context: DecodeContext) -> bool:
        """Return whether values of `shape` can be stored in `context`."""
        raise NotImplementedError

    def leaf(self, shape: BlockShape) -> LeafType:
        """Return the schema of the column."""
        raise NotImplementedError

    def can_write(self, shape: BlockShape, context: DecodeContext) -> bool:
        """Return whether values of `shape` are written in `context`; by default all that are supported."""
        return self.supports(shape, context)

    def write_options(self, context: DecodeContext) -> EncodeOptions:
        """Return the options for the tests, such as a compression."""
        return EncodeOptions()

    def written_samples(self, shape: BlockShape) -> list[Sample]:
        """Return the written samples: those of the suite, also with more values than fit a chunk."""
        samples = [make_sample(shape, name, self.chunk_values) for name in self.sample_names]
        return samples + [make_sample(shape, name, 5 * self.chunk_values) for name in self.sample_names[-2:]]

    def writing_cases(self) -> list[tuple[DecodeContext, BlockShape, str]]:
        """Return context, shape and file version of every test."""
        return [
            (context, shape, version)
            for context, since in writes(self.key).items()
            for shape in self.shapes
            for version in FILE_VERSIONS
            if self.can_write(shape, context) and version_number(since) <= version_number(version)
        ]

    def scope(
        self,
        context: DecodeContext,
        shape: BlockShape,
        version: str,
        *,
        rules: ChunkRules | None = None,
        is_named: bool = False,
    ) -> PageScope:
        """Return the scope for encoding a sample; `is_named` if the caller names the codec."""
        options = self.write_options(context)
        if is_named:
            options = replace(options, codec=self.key.case)
        scope = encode_scope(self.leaf(shape), file_version=version, options=options, allow_private=self.is_private)
        return scope if rules is None else scope.with_rules(rules)

    def write(self, block: BlockSlice, context: DecodeContext, scope: PageScope) -> Encoded | None:
        """Encode `block` by the codec of the suite; None if it returns no score."""
        score = _runtime().table.codec(self.key).score(block, context, scope)
        assert score is None or score >= 0, "a score is a number of bytes"
        return None if score is None else scope.encode_with(self.key, block, context)

    @pytest.mark.parametrize("is_named", [False, True], ids=["chosen", "named"])
    def test_every_sample_is_written_and_read(
        self, writing_context: DecodeContext, writing_shape: BlockShape, writing_version: str, is_named: bool
    ) -> None:
        cell = writing_context, writing_shape, writing_version
        written = 0
        for sample in self.written_samples(writing_shape):
            block, scope = filled(sample), self.scope(*cell, is_named=is_named)
            encoded = self.write(block, writing_context, scope)
            if encoded is None:
                continue
            written += 1
            assert isinstance(encoded, _ANSWERS[writing_context])
            assert_legal(encoded, block, scope)
            assert_block_equals(decode(encoded, block, scope), sample)
            assert_block_equals(block, sample)
            again = self.write(filled(sample), writing_context, self.scope(*cell, is_named=is_named))
            assert again is not None
            assert same_bytes(encoded, again), "equal values with equal options were encoded to other bytes"
        assert written, "the codec returned no score for every sample"

    @pytest.mark.parametrize("is_named", [False, True], ids=["chosen", "named"])
    def test_nulls_may_hold_any_value_and_change_no_other(
        self, writing_context: DecodeContext, writing_shape: BlockShape, writing_version: str, is_named: bool
    ) -> None:
        for name in NULLABLE_SAMPLES:
            sample = make_sample(writing_shape, name, self.chunk_values)
            for is_null in _null_masks(sample.num_values):
                # Its memory is read-only.
                block = filled_with_nulls(sample, is_null)
                scope = self.scope(writing_context, writing_shape, writing_version, is_named=is_named)
                encoded = self.write(block, writing_context, scope)
                if encoded is None:
                    continue
                assert_legal(encoded, block, scope)
                given, decoded = values_of(block), values_of(decode(encoded, block, scope))
                assert len(decoded) == len(given)
                wrong = [n for n, null in enumerate(is_null.tolist()) if not null and decoded[n] != given[n]]
                assert not wrong, f"values {wrong[:5]} beside nulls were changed"

    def test_chunks_keep_to_tight_rules(
        self, writing_context: DecodeContext, writing_shape: BlockShape, writing_version: str
    ) -> None:
        if writing_context is not DecodeContext.MINI_BLOCK:
            return
        for rules in (ChunkRules(1 << 15, 1024, 4096), ChunkRules(1 << 15, 64, 4096), ChunkRules(300, 4096, 128)):
            for sample in self.written_samples(writing_shape):
                block = filled(sample)
                scope = self.scope(writing_context, writing_shape, writing_version, rules=rules, is_named=True)
                encoded = self.write(block, writing_context, scope)
                if encoded is not None:
                    assert_legal(encoded, block, scope)
                    assert_block_equals(decode(encoded, block, scope), sample)

    def test_many_blocks_share_a_description(
        self, writing_context: DecodeContext, writing_shape: BlockShape, writing_version: str
    ) -> None:
        factory = _runtime().table.codec(self.key)
        if writing_context is not DecodeContext.BLOCK or not isinstance(factory, BlocksEncoder):
            return
        scope = self.scope(writing_context, writing_shape, writing_version, is_named=True)
        for sample in self.written_samples(writing_shape):
            block, num_values = filled(sample), sample.num_values
            for borders in ([], [1, num_values // 3, num_values // 3], range(500, num_values, 500)):
                value_starts = np.array(sorted([0, *(min(one, num_values) for one in borders), num_values]), np.int64)
                if factory.score_blocks(block, value_starts, scope) is None:
                    continue
                encoded = factory.encode_blocks(block, value_starts, scope)
                assert (encoded.value_counts == np.diff(value_starts)).all()
                assert encoded.sizes.shape == (len(encoded.buffers), len(value_starts) - 1)
                assert encoded.sizes.sum() == encoded.nbytes
                assert_block_equals(decode_blocks(encoded, block, scope), sample)

    def test_kinds_hold_every_shape_that_is_written(self) -> None:
        kinds = getattr(_runtime().table.codec(self.key), "kinds", None)
        written = {type(shape) for _, shape, _ in self.writing_cases()}
        assert kinds is None or written <= set(kinds), "`kinds` lacks shapes that the codec writes"

    def test_contexts_that_are_not_written_are_not_chosen(self) -> None:
        for context in DecodeContext:
            for version in FILE_VERSIONS:
                since = writes(self.key).get(context)
                if since is not None and version_number(since) <= version_number(version):
                    continue
                shapes = [shape for shape in self.shapes if self.supports(shape, context)]
                scope = encode_scope(
                    self.leaf(self.shapes[0]),
                    file_version=version,
                    options=EncodeOptions(codec=self.key.case),
                    allow_private=self.is_private,
                )
                scope = scope.altered(forced=self.key.case)
                for shape in shapes:
                    block = filled(make_sample(shape, self.sample_names[-1], self.chunk_values))
                    with pytest.raises(UnsupportedError):
                        scope.encode_child(block, context)


def _null_masks(num_values: int) -> list[NDArray[np.bool_]]:
    """Return null flags: at both ends and sometimes, in long runs, and everywhere except one place."""
    places = np.arange(num_values)
    most = places != num_values // 2
    return [(places % 3 == 0) | (places == num_values - 1), places // 40 % 2 == 0, most]


def writes(key: EncodingKey) -> Mapping[DecodeContext, str]:
    """Return the contexts that the installed codec of `key` can write, with the first file version of each."""
    factory = _runtime().table.codec(key)
    found: Mapping[DecodeContext, str] = getattr(factory, "writes", {})
    return found if isinstance(factory, CodecEncoder) else {}


def assert_legal(encoded: Encoded, block: BlockSlice, scope: PageScope) -> None:
    """Check the requirements of layouts: sums of sizes, counts that fit chunk words, chunks within the rules."""
    if isinstance(encoded, EncodedChunks):
        _assert_legal_chunks(encoded, block, scope)
    elif isinstance(encoded, EncodedValues):
        if encoded.value_bits is not None:
            assert encoded.value_bits % 8 == 0
            assert encoded.offsets is None
            assert encoded.length_bits == 0
            assert len(encoded.data) == block.num_values * encoded.value_bits // 8
        else:
            assert encoded.length_bits in (32, 64)
            assert encoded.offsets is not None
            assert encoded.offsets.shape == (block.num_values + 1,)
            assert (np.diff(encoded.offsets) >= 0).all()
            assert (encoded.offsets[0], encoded.offsets[-1]) == (0, len(encoded.data))


def _assert_legal_chunks(encoded: EncodedChunks, block: BlockSlice, scope: PageScope) -> None:
    rules, counts = scope.chunk_rules, encoded.value_counts
    assert encoded.sizes.shape == (len(encoded.buffers), len(counts))
    assert len(counts) >= 1, "a block without values must be one chunk without values"
    assert counts.sum() == block.num_values
    assert ((counts[:-1] >= 2) & (counts[:-1] & (counts[:-1] - 1) == 0)).all(), "not a power of two"
    assert (counts[-1] >= 1) == (block.num_values > 0)
    assert counts.max() <= rules.max_values
    for buffer, sizes in zip(encoded.buffers, encoded.sizes, strict=True):
        assert sizes.min() >= 0
        assert sizes.sum() == len(buffer)
    assert (((encoded.sizes + 7) & ~7).sum(axis=0) <= rules.max_bytes).all()


def same_bytes(one: Encoded, other: Encoded) -> bool:
    """Return whether two results would give the same file."""
    return _parts(one) == _parts(other)


def _parts(encoded: Encoded) -> list[Any]:
    described = encoded.description.SerializeToString(deterministic=True)
    if isinstance(encoded, EncodedChunks):
        buffers = [one.tobytes() for one in encoded.buffers]
        return [described, buffers, encoded.sizes.tolist(), encoded.value_counts.tolist()]
    if isinstance(encoded, EncodedBlock):
        return [described, None if encoded.buffer is None else encoded.buffer.tobytes()]
    offsets = None if encoded.offsets is None else encoded.offsets.tolist()
    return [described, encoded.data.tobytes(), encoded.value_bits, offsets, encoded.length_bits]
