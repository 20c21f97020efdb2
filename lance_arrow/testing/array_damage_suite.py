"""`ArrayDamageSuite`: tests an array encoding with damaged bytes and descriptions; `ArraySuite` inherits it.

After any change, a read must return the requested number of rows, or raise a `LanceError`. It must not raise another
exception, access bytes outside the page or the destination, or allocate more memory than the limits allow.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar

import pytest
from google.protobuf.message import DecodeError

from lance_arrow.errors import LanceError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Limits, Settings
from lance_arrow.spi import BlockShape, LeafType
from lance_arrow.spi.arrays import BoundArray
from lance_arrow.spi.layouts import RowRanges
from lance_arrow.testing.array_pages import MOST_BYTES, ArrayPage, read_or_refuse, selections
from lance_arrow.testing.array_samples import STRANGE_LEAVES, ArraySample, EncodedArraySample
from lance_arrow.testing.scattered import damages, some

_FLIPS_PER_BUFFER = 7
_DESCRIPTION_FLIPS = 60
_MASKS = (0x01, 0x80, 0xFF)
_HEAD_BYTES = 9
"""Positions at which buffers may store sizes."""
_HOSTILE = Limits(max_batch_bytes=MOST_BYTES, max_dictionary_bytes=MOST_BYTES, max_value_bytes=MOST_BYTES)


class ArrayDamageSuite:
    """The part of `ArraySuite` with damaged input; the attributes and methods are documented there."""

    shapes: ClassVar[Sequence[BlockShape | None]]
    null_names: ClassVar[Sequence[str]]
    sample_names: ClassVar[Sequence[str]]
    is_bounded: ClassVar[bool] = True
    """Whether the bytes determine the number of values, at least approximately."""

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        """Encode `sample`."""
        raise NotImplementedError

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        """Make a sample."""
        raise NotImplementedError

    def hostile_sample(self, shape: BlockShape | None, nulls: str) -> ArraySample:
        """Return the rows whose bytes the tests damage."""
        raise NotImplementedError

    def page(self, sample: ArraySample, runtime: Runtime | None = None) -> ArrayPage:
        """Encode a sample by hand and bind it."""
        raise NotImplementedError

    def bind(self, encoded: EncodedArraySample, leaf: LeafType, runtime: Runtime | None = None) -> BoundArray:
        """Bind the description."""
        raise NotImplementedError

    def test_other_numbers_of_rows_are_refused_or_read(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        page, rows = self.page(sample, _hostile()), sample.rows()
        for num_rows in (0, 1, sample.num_values - 1, sample.num_values + 1):
            other = replace(page, num_rows=num_rows)
            read_or_refuse(other, selections(num_rows)[:3])
            if num_rows < sample.num_values:
                assert _rows_or_none(other) in (None, rows[:num_rows])
        for num_rows in (3 * sample.num_values + 4096, 1 << 40, 1 << 62):
            other = replace(page, num_rows=num_rows)
            if self.is_bounded:
                with pytest.raises(LanceError):
                    other.read(RowRanges.one(0, num_rows))
                assert not isinstance(other.read_natively(RowRanges.one(num_rows - 1, num_rows)), list)
            read_or_refuse(other, [RowRanges.one(0, 1), RowRanges.one(num_rows - 1, num_rows)])

    def test_buffers_of_other_sizes_are_refused_or_change_nothing(
        self, suite_shape: BlockShape | None, suite_nulls: str
    ) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        page, rows = self.page(sample, _hostile()), sample.rows()
        for number, content in enumerate(page.buffers):
            sizes = {0, 1, len(content) // 2, len(content) - 1} - {-1, len(content)}
            changed = [content[:size] for size in sorted(sizes)] + [content + b"\xff", content + bytes(4096)]
            for one in changed:
                other = replace(page, buffers=_with(page.buffers, number, one))
                # Only padding may be missing or additional.
                assert _rows_or_none(other) in (None, rows), f"buffer {number} with {len(one)} bytes"
                read_or_refuse(other, selections(sample.num_values)[:4])

    def test_missing_buffers_are_refused(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        page = self.page(self.hostile_sample(suite_shape, suite_nulls))
        if page.buffers:
            with pytest.raises(LanceError):
                replace(page, buffers=page.buffers[:-1]).read(RowRanges.one(0, 1))

    def test_damaged_bytes_are_refused_or_read(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        page = self.page(sample, _hostile())
        chosen = [RowRanges.one(0, sample.num_values), selections(sample.num_values)[-1]]
        for number, content in enumerate(page.buffers):
            for damaged in damages(content, _FLIPS_PER_BUFFER, _MASKS):
                read_or_refuse(replace(page, buffers=_with(page.buffers, number, damaged)), chosen)

    def test_damaged_descriptions_are_refused_or_read(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        told = self.encode(sample).description.SerializeToString(deterministic=True)
        chosen = [RowRanges.one(0, sample.num_values), selections(sample.num_values)[-1]]
        for damaged in [told[:size] for size in some(range(len(told)), 20)] + damages(told, _DESCRIPTION_FLIPS, _MASKS):
            self._read_as_told(sample, damaged, chosen)

    def test_damage_allocates_no_more_than_the_limits(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.sample(suite_shape, self.sample_names[1 % len(self.sample_names)], suite_nulls)
        page = self.page(sample, _hostile())
        told = self.encode(sample).description.SerializeToString(deterministic=True)
        chosen = [RowRanges.one(0, sample.num_values)]
        tracemalloc.start()
        try:
            for number, content in enumerate(page.buffers):
                for damaged in damages(content[:_HEAD_BYTES], _HEAD_BYTES, (0xFF,)):
                    changed = _with(page.buffers, number, damaged + content[_HEAD_BYTES:])
                    read_or_refuse(replace(page, buffers=changed), chosen)
            for damaged in damages(told, _HEAD_BYTES, (0x7F,)):
                self._read_as_told(sample, damaged, chosen)
            assert tracemalloc.get_traced_memory()[1] <= 4 * MOST_BYTES, "damaged bytes made the array allocate"
        finally:
            tracemalloc.stop()

    def test_columns_of_other_types_are_refused_or_read(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        encoded = self.encode(sample)
        for leaf in STRANGE_LEAVES:
            try:
                bound = self.bind(encoded, leaf, _hostile())
            except LanceError:
                continue
            page = ArrayPage(bound, sample.num_values, encoded.buffers, leaf.items)
            read_or_refuse(page, selections(sample.num_values)[:4])

    def _read_as_told(self, sample: ArraySample, told: bytes, chosen: list[RowRanges]) -> None:
        """Read the sample's page with another description, if it can be parsed and bound."""
        encoded = self.encode(sample)
        try:
            message = type(encoded.description).FromString(told)
            bound = self.bind(replace(encoded, description=message), sample.leaf, _hostile())
        except (DecodeError, LanceError):
            return
        read_or_refuse(ArrayPage(bound, sample.num_values, encoded.buffers, sample.leaf.items), chosen)


@cache
def _hostile() -> Runtime:
    return Runtime(Settings(limits=_HOSTILE))


def _with(buffers: tuple[bytes, ...], number: int, content: bytes) -> tuple[bytes, ...]:
    return (*buffers[:number], content, *buffers[number + 1 :])


def _rows_or_none(page: ArrayPage) -> list[object] | None:
    try:
        return page.read(RowRanges.one(0, page.num_rows))
    except LanceError:
        return None
