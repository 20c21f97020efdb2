"""The conformance suite for this project's layout; run by name where the project is installed."""

from __future__ import annotations

from example_aligned import Aligned, AlignedLayout

from lance_arrow.spi import FixedWidth, LeafType
from lance_arrow.testing.layout_suite import Entry, LayoutCase, LayoutSuite


def number(value: int) -> bytes:
    return value.to_bytes(4, "little")


class TestAligned(LayoutSuite):
    key = AlignedLayout.key
    cases = (
        LayoutCase(
            "no nulls",
            Aligned(bits=32),
            LeafType(FixedWidth(32)),
            (b"".join(number(value) for value in range(40)),),
            tuple((Entry(value=number(value)),) for value in range(40)),
        ),
        LayoutCase(
            "every third is null",
            Aligned(bits=32, has_nulls=True),
            LeafType(FixedWidth(32)),
            (b"".join(number(value) for value in range(12)), bytes([0b01001001, 0b0010])),
            tuple((Entry(def_=1) if value % 3 == 0 else Entry(value=number(value)),) for value in range(12)),
        ),
    )
