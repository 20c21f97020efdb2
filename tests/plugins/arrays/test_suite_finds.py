"""The suite finds what is wrong: arrays that break one promise each, and the test that must fail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from forged_arrays import flat, no_nulls, some_nulls

from lance_arrow.spi import BlockSlice, EncodingKey, FixedWidth, LeafType
from lance_arrow.spi.arrays import ARRAY
from lance_arrow.spi.layouts import BufferRole, BufferSlices, PageFacts, PageReadPlan, RowRanges
from lance_arrow.testing.array_samples import ArraySample, EncodedArraySample
from lance_arrow.testing.array_suite import ArraySuite

WIDE = FixedWidth(64)


class Passed:
    """Passes everything on to a bound array."""

    def __init__(self, bound: Any) -> None:
        self.bound = bound

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bound, name)


class SaysOtherShape(Passed):
    shape = FixedWidth(32)


class DeniesNulls(Passed):
    has_nulls = False


class NamesOtherBuffers(Passed):
    buffers = ((0, BufferRole.DATA), (7, BufferRole.DATA))


class ReadsEverything(Passed):
    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        plan = self.bound.plan(page, index, rows)
        whole = tuple(BufferSlices.whole(page, one.buffer) for one in plan.slices)
        return PageReadPlan((*whole, *plan.slices), plan)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[Any, ...]) -> Any:
        return self.bound.load(page, index, plan.notes, fetched[len(fetched) // 2 :])


class ReadsBeyond(Passed):
    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        plan = self.bound.plan(PageFacts(page.num_rows, (1 << 40,) * len(page.buffer_sizes)), index, rows)
        return PageReadPlan(plan.slices, plan.notes)


class SaysPlain(Passed):
    plain_buffer = 0


class RemembersPages(Passed):
    """Keeps the last number of rows, where another page finds it."""

    def load_index(self, page: PageFacts, buffers: Mapping[int, Any]) -> Any:
        self.num_rows = page.num_rows
        return self.bound.load_index(page, buffers)

    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[Any, ...]) -> Any:
        return Shifted(self.bound.load(page, index, plan, fetched), self.num_rows != page.num_rows)


class TakesOneMore(Passed):
    """Counts from the second row where there are several runs."""

    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        late = RowRanges(rows.starts + 1, rows.stops + 1) if len(rows) > 1 and rows.stops[-1] < page.num_rows else rows
        return self.bound.plan(page, index, late)


class Stumbles(Passed):
    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[Any, ...]) -> Any:
        if any(0xFF in part.data for part in fetched):
            raise ValueError("a byte I do not like")
        return self.bound.load(page, index, plan, fetched)


class TrustsSizes(Passed):
    def plan(self, page: PageFacts, index: Any, rows: RowRanges) -> PageReadPlan:
        np.empty(page.num_rows, np.uint64)
        return self.bound.plan(page, index, rows)


class WritesOutside(Passed):
    def load(self, page: PageFacts, index: Any, plan: PageReadPlan, fetched: tuple[Any, ...]) -> Any:
        return Spills(self.bound.load(page, index, plan, fetched))


class Shifted(Passed):
    def __init__(self, bound: Any, is_wrong: bool) -> None:
        super().__init__(bound)
        self.is_wrong = is_wrong

    def decode(self, out: BlockSlice) -> None:
        self.bound.decode(out)
        if self.is_wrong:
            out.values[:] = 0


class Spills(Passed):
    def decode(self, out: BlockSlice) -> None:
        self.bound.decode(out)
        assert out.values.base is not None
        out.values.base[-1] = 0


class Numbers(ArraySuite):
    """64-bit values, with a bitmap where some are null; `broken` wraps what is bound."""

    key = EncodingKey(ARRAY, "nullable")
    shapes = (WIDE,)
    broken: Any = Passed

    def encode(self, sample: ArraySample) -> EncodedArraySample:
        assert sample.values is not None
        plain = sample.values.plain()
        if sample.nulls is None:
            return EncodedArraySample(no_nulls(flat(64)), (plain,))
        return EncodedArraySample(some_nulls(flat(1), flat(64, 1)), (sample.validity, plain))

    def bind(self, encoded: EncodedArraySample, leaf: LeafType, runtime: Any = None) -> Any:
        return self.broken(super().bind(encoded, leaf, runtime))


def run(broken: type[Passed], test: str, nulls: str) -> None:
    suite = Numbers()
    suite.broken = broken
    given = (
        (WIDE, "last short chunk", nulls)
        if test in ("every_sample_is_read", "plain_values_are_plain")
        else (WIDE, nulls)
    )
    getattr(suite, f"test_{test}")(*given)


@pytest.mark.parametrize(
    ("broken", "test", "nulls"),
    [
        (SaysOtherShape, "binds_and_tells_the_truth", "no nulls"),
        (DeniesNulls, "binds_and_tells_the_truth", "some nulls"),
        (DeniesNulls, "every_sample_is_read", "some nulls"),
        (NamesOtherBuffers, "binds_and_tells_the_truth", "no nulls"),
        (ReadsEverything, "plans_ask_for_what_they_need", "no nulls"),
        (ReadsBeyond, "buffers_of_other_sizes_are_refused_or_change_nothing", "no nulls"),
        (SaysPlain, "plain_values_are_plain", "some nulls"),
        (TakesOneMore, "every_sample_is_read", "no nulls"),
        (WritesOutside, "every_sample_is_read", "no nulls"),
    ],
    ids=lambda one: one.__name__ if isinstance(one, type) else None,
)
def test_broken_promises_fail(broken: type[Passed], test: str, nulls: str) -> None:
    run(Passed, test, nulls)
    with pytest.raises(AssertionError):
        run(broken, test, nulls)


def test_memory_of_other_pages_fails() -> None:
    run(Passed, "pages_do_not_know_of_each_other", "no nulls")
    with pytest.raises(AssertionError):
        run(RemembersPages, "pages_do_not_know_of_each_other", "no nulls")


def test_other_exceptions_fail() -> None:
    run(Passed, "damaged_bytes_are_refused_or_read", "no nulls")
    with pytest.raises(ValueError, match="do not like"):
        run(Stumbles, "damaged_bytes_are_refused_or_read", "no nulls")


def test_memory_for_what_is_not_there_fails() -> None:
    run(Passed, "other_numbers_of_rows_are_refused_or_read", "no nulls")
    with pytest.raises(MemoryError):
        run(TrustsSizes, "other_numbers_of_rows_are_refused_or_read", "no nulls")
