"""`ArrayWriteSuite`: contract of every array encoding that can write; `ArraySuite` inherits it.

The plugin encodes each sample, and a reader binds the description and reads it. An encoding may return no score for
unsuitable samples, but not for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from lance_arrow.errors import UnsupportedError
from lance_arrow.proto.reading import set_case
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import BlockShape, EncodeOptions, EncodingKey, LeafType
from lance_arrow.spi.arrays import ArrayContent, EncodedArray
from lance_arrow.spi.encoders import ArrayEncoder
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.structure.page_scope import PageScope
from lance_arrow.testing.array_pages import ArrayPage
from lance_arrow.testing.array_samples import NULL_NAMES, STRANGE_LEAVES, ArraySample, make_array_sample
from lance_arrow.testing.round_trip import encode_scope
from lance_arrow.testing.samples import filled

_FILE_VERSION = "2.0"
_BUFFERS_BEFORE = 3


class ArrayWriteSuite:
    """The writing half of `ArraySuite`; an encoding without an encoder passes."""

    key: ClassVar[EncodingKey]
    shapes: ClassVar[Sequence[BlockShape | None]]
    sample_names: ClassVar[Sequence[str]]
    null_names: ClassVar[Sequence[str]]
    is_written: ClassVar[bool] = False
    """Whether the plugin also writes the encoding."""
    knows_nulls: ClassVar[bool] = False
    """Whether the surrounding column already stores the nulls when the encoding writes."""
    written_null_names: ClassVar[Sequence[str] | None] = None
    """The names of `null_names` that are written; all of them by default."""

    def leaf(self, shape: BlockShape | None) -> LeafType:
        """Return the schema of the column."""
        raise NotImplementedError

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        """Make a sample."""
        raise NotImplementedError

    def can_write(self, shape: BlockShape | None) -> bool:
        """Return whether values of `shape` are written; by default all shapes that are read."""
        return True

    def write_options(self) -> EncodeOptions:
        """Return the options for the tests, such as a compression."""
        return EncodeOptions()

    def written_samples(self, shape: BlockShape | None) -> list[ArraySample]:
        """Return the written samples, by default those of the suite."""
        kinds = self.null_names if self.written_null_names is None else self.written_null_names
        return [self.sample(shape, name, nulls) for name in self.sample_names for nulls in kinds]

    def test_says_whether_it_writes(self) -> None:
        assert isinstance(_factory(self.key), ArrayEncoder) == self.is_written

    def test_every_sample_is_written_and_read(self, suite_shape: BlockShape | None) -> None:
        factory, written = _factory(self.key), 0
        if not (self.is_written and self.can_write(suite_shape)):
            return
        for sample in self.written_samples(suite_shape):
            content, scope = self.content(sample), encode_scope_of(sample.leaf, self.write_options())
            score = factory.score(content, scope)
            if score is None:
                continue
            assert math.isfinite(score), "a score is a number of bytes"
            assert score >= 0, "a score is a number of bytes"
            written += 1
            encoded = self.assert_written(factory, content, scope, sample, 0)
            shifted = self.assert_written(factory, content, scope, sample, _BUFFERS_BEFORE)
            assert [one.tobytes() for one in shifted.buffers] == [one.tobytes() for one in encoded.buffers]
            again = factory.encode(self.content(sample), 0, encode_scope_of(sample.leaf, self.write_options()))
            assert _bytes_of(again) == _bytes_of(encoded), "equal values were encoded to other bytes"
        assert written, "the encoding returned no score for every sample"

    def test_strangers_are_written_or_refused_by_name(self) -> None:
        factory = _factory(self.key)
        if not self.is_written:
            return
        for leaf in STRANGE_LEAVES:
            for nulls in NULL_NAMES:
                sample = make_array_sample(leaf, leaf.shape, "last short chunk", nulls, 5)
                content, scope = self.content(sample), encode_scope_of(leaf, self.write_options())
                if factory.score(content, scope) is not None:
                    self.assert_written(factory, content, scope, sample, 0)
                    continue
                with suppress(UnsupportedError):
                    factory.encode(content, 0, scope)

    def content(self, sample: ArraySample) -> ArrayContent:
        """Return the rows in the form of the page writer: read-only."""
        clear = sample.cleared()
        values = None if clear.values is None else filled(clear.values)
        items = None if clear.items is None else filled(clear.items)
        return ArrayContent(
            clear.leaf,
            clear.num_values,
            values,
            clear.nulls,
            knows_nulls=self.knows_nulls,
            items=items,
            ends=clear.ends,
        )

    def assert_written(
        self, factory: Any, content: ArrayContent, scope: PageScope, sample: ArraySample, first_buffer: int
    ) -> EncodedArray:
        """Encode, and check what a page writer requires and that a reader gets the rows."""
        encoded = factory.encode(content, first_buffer, scope)
        assert isinstance(encoded, EncodedArray)
        told = encoded.description
        assert (told.DESCRIPTOR.full_name, set_case(told)) == (self.key.message, self.key.case)
        assert all(one.dtype == np.uint8 and one.ndim == 1 for one in encoded.buffers)
        bound = _runtime().binder.scope(sample.leaf).array(told)
        numbers = {number for number, _ in bound.buffers}
        assert numbers == set(range(first_buffer, first_buffer + len(encoded.buffers))), "wrong buffer numbers"
        buffers = (b"\xee",) * first_buffer + tuple(one.tobytes() for one in encoded.buffers)
        page, rows = ArrayPage(bound, content.num_values, buffers, content.leaf.items), sample.cleared().rows()
        if self.knows_nulls and sample.nulls is not None:
            # The surrounding column stores the nulls.
            rows = replace(sample.cleared(), nulls=None).rows()
        assert page.read(RowRanges.one(0, content.num_values)) == rows
        if rows:
            assert page.read(RowRanges.one(len(rows) - 1, len(rows))) == rows[-1:]
        return encoded


def encode_scope_of(leaf: LeafType, options: EncodeOptions) -> PageScope:
    """Return the scope of an array encoding for a leaf."""
    return encode_scope(leaf, file_version=_FILE_VERSION, options=options)


def _factory(key: EncodingKey) -> Any:
    return _runtime().table.array(key)


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


def _bytes_of(encoded: EncodedArray) -> list[bytes]:
    return [encoded.description.SerializeToString(deterministic=True), *(one.tobytes() for one in encoded.buffers)]
