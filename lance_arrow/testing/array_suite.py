"""`ArraySuite`: base class for tests of an array encoding.

The author lists the columns that the encoding can hold, and writes one `encode` from the text of the format. The suite
then reads every sample by many selections of rows, from scattered unaligned bytes into guarded memory. It reads
with the whole index, and by the engine if that is supported. `array_damage_suite` damages
the bytes and the description. `array_write_suite` tests the encoder. This suite inherits from both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import ClassVar

import pytest

from lance_arrow.proto.reading import set_case
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import BlockShape, EncodingKey, FixedSizeList, FixedWidth, LeafType, PackedStruct
from lance_arrow.spi.arrays import BoundArray, PlainValues
from lance_arrow.spi.layouts import BufferRole, NodeKind, RowRanges
from lance_arrow.testing.array_damage_suite import ArrayDamageSuite
from lance_arrow.testing.array_pages import ArrayPage, read_or_refuse, selections
from lance_arrow.testing.array_samples import NULL_NAMES, ArraySample, EncodedArraySample, make_array_sample
from lance_arrow.testing.array_write_suite import ArrayWriteSuite
from lance_arrow.testing.samples import SAMPLE_NAMES
from lance_arrow.testing.scattered import some


class ArraySuite(ArrayDamageSuite, ArrayWriteSuite):
    """Inherit, set the attributes, write `encode`; pytest collects the tests below once per subclass."""

    key: ClassVar[EncodingKey]
    """Key of the case that the encoding reads."""
    shapes: ClassVar[Sequence[BlockShape | None]]
    """Shapes of decoded values, with item validity of fixed-size lists; None for columns without values."""
    null_names: ClassVar[Sequence[str]] = NULL_NAMES[:1]
    """The `NULL_NAMES` that it can hold."""
    sample_names: ClassVar[Sequence[str]] = SAMPLE_NAMES
    """Names of the samples that it can hold; all by default."""
    num_values: ClassVar[int] = 100
    """Rows of the sample "exactly full chunk"; longer samples have twice as many and 7 more."""
    read_together: ClassVar[int | None] = 1
    """Number of neighbours that a plan may read together with a value; None if every plan reads the whole page."""
    is_native: ClassVar[bool] = False
    """Whether the engine must be able to read the samples."""

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        """Encode `sample` according to the text of the format."""
        raise NotImplementedError

    def leaf(self, shape: BlockShape | None) -> LeafType:
        """Return the schema of the column."""
        return LeafType(shape.without_validity() if isinstance(shape, FixedSizeList) else shape)

    def sample(self, shape: BlockShape | None, name: str, nulls: str) -> ArraySample:
        """Make a sample; override it for encodings that can hold only special values."""
        return make_array_sample(self.leaf(shape), shape, name, nulls, self.num_values)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrize tests by shape, and by sample and kind of nulls if they take these."""
        for name, values in (
            ("suite_shape", self.shapes),
            ("suite_name", self.sample_names),
            ("suite_nulls", self.null_names),
        ):
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values, ids=lambda one: one if isinstance(one, str) else _name(one))

    def test_plugin_is_installed(self) -> None:
        assert _runtime().table.array(self.key).key == self.key

    def test_binds_and_tells_the_truth(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        encoded = self.encode(sample)
        assert (encoded.description.DESCRIPTOR.full_name, set_case(encoded.description)) == (
            self.key.message,
            self.key.case,
        )
        bound = self.bind(encoded, sample.leaf)
        assert bound.shape == suite_shape
        assert bound.has_nulls or sample.nulls is None
        named = [number for number, _ in bound.buffers]
        assert sorted(set(named)) == list(range(len(encoded.buffers))), "the named buffers are not those of the page"
        assert all(isinstance(role, BufferRole) for _, role in bound.buffers)
        assert set(bound.index_buffers) <= set(named)
        again = self.bind(encoded, sample.leaf)
        assert (again.buffers, again.index_buffers, again.shape) == (bound.buffers, bound.index_buffers, bound.shape)

    def test_every_sample_is_read(self, suite_shape: BlockShape | None, suite_name: str, suite_nulls: str) -> None:
        sample = self.sample(suite_shape, suite_name, suite_nulls)
        page, rows = self.page(sample), sample.rows()
        index = page.load_index()
        for selected in selections(sample.num_values):
            expected = [one for run in _runs(selected) for one in rows[slice(*run)]]
            assert page.read(selected, index, is_loaded=True) == expected
            natively = page.read_natively(selected)
            assert natively in (None, expected)
            assert natively is not None or not self.is_native or not selected.num_rows

    def test_plain_values_are_plain(self, suite_shape: BlockShape | None, suite_name: str, suite_nulls: str) -> None:
        sample = self.sample(suite_shape, suite_name, suite_nulls)
        page = self.page(sample)
        if not isinstance(page.bound, PlainValues) or page.bound.plain_buffer is None:
            return
        assert not page.bound.has_nulls
        assert page.bound.plain_buffer in dict(page.bound.buffers)
        assert sample.values is not None
        plain = sample.values.plain()
        assert page.buffers[page.bound.plain_buffer][: len(plain)] == plain

    def test_plans_ask_for_what_they_need(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        page = self.page(sample)
        index = page.load_index()
        whole = page.planned_bytes(RowRanges.one(0, sample.num_values), index)
        assert whole <= sum(map(len, page.buffers))
        assert page.planned_bytes(RowRanges.one(0, 0), index) in (0, whole if self.read_together is None else 0)
        singles = [
            page.planned_bytes(RowRanges.one(row, row + 1), index) for row in some(range(sample.num_values), 200)
        ]
        assert max(singles) <= whole
        if self.read_together is not None:
            # A bit takes one byte.
            assert sum(singles) <= self.read_together * whole + sample.num_values * len(page.buffers)

    def test_pages_do_not_know_of_each_other(self, suite_shape: BlockShape | None, suite_nulls: str) -> None:
        sample = self.hostile_sample(suite_shape, suite_nulls)
        page, rows = self.page(sample), sample.rows()
        everything = RowRanges.one(0, sample.num_values)
        index = page.load_index()
        half = replace(page, num_rows=sample.num_values // 2)
        damaged = replace(page, buffers=tuple(bytes(len(buffer)) for buffer in page.buffers))
        for other in (half, damaged):
            read_or_refuse(other, [RowRanges.one(0, other.num_rows)])
            assert page.read(everything, index, is_loaded=True) == rows
        assert page.read(everything) == rows

    def hostile_sample(self, shape: BlockShape | None, nulls: str) -> ArraySample:
        """Return the rows whose bytes the tests damage."""
        name = "last short chunk" if "last short chunk" in self.sample_names else self.sample_names[-1]
        return self.sample(shape, name, nulls)

    def page(self, sample: ArraySample, runtime: Runtime | None = None) -> ArrayPage:
        """Encode a sample by hand and bind it."""
        encoded = self.encode(sample)
        return ArrayPage(
            self.bind(encoded, sample.leaf, runtime), sample.num_values, encoded.buffers, sample.leaf.items
        )

    def bind(self, encoded: EncodedArraySample, leaf: LeafType, runtime: Runtime | None = None) -> BoundArray:
        """Bind the description through the installed plugins."""
        found = _runtime() if runtime is None else runtime
        return found.binder.scope(leaf).array(encoded.description)


@cache
def _runtime() -> Runtime:
    return Runtime(Settings())


def _runs(rows: RowRanges) -> Iterator[tuple[int, int]]:
    return zip(rows.starts.tolist(), rows.stops.tolist(), strict=True)


def _name(one: BlockShape | LeafType | None) -> str:
    """Short test id."""
    if isinstance(one, LeafType):
        kind = "list-of-" if one.nodes == (NodeKind.LIST,) else "keys-" if one.items is not None else ""
        return kind + _name(one.shape)
    if isinstance(one, PackedStruct):
        return f"struct-{'-'.join(map(_name, one.fields))}"
    if isinstance(one, FixedSizeList):
        return f"{_name(one.items)}[{one.dimension}]{'?' if one.has_validity else ''}"
    if one is None:
        return "nothing"
    return f"u{one.bits}" if isinstance(one, FixedWidth) else f"bytes{one.offset_bits}"
