"""Conformance suites are matrices of contexts, shapes, samples and versions.

Every day, each pair of values meets in the tests of `IN_PAIRS`, and other tests have each value once. Fewer places are
damaged.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lance_arrow.testing import array_damage_suite, codec_suite, layout_suite

HERE = Path(__file__).parent
# What the suites of `lance_arrow.testing` parametrize their tests by.
OF_SUITES = ("suite_", "writing_")
# The engine decodes what production reads.
IN_PAIRS = ("test_native_side_agrees",)
# How many places of a buffer or description are damaged every day, spread over all of it.
PLACES_EVERY_DAY = (
    (codec_suite, "_FLIPS_PER_BUFFER", 5),
    (layout_suite, "_FLIPS_PER_BUFFER", 12),
    (array_damage_suite, "_FLIPS_PER_BUFFER", 3),
    (array_damage_suite, "_DESCRIPTION_FLIPS", 20),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = getattr(getattr(item, "callspec", None), "params", ())
        if item.path.is_relative_to(HERE) and any(name.startswith(OF_SUITES) for name in names):
            item.add_marker(pytest.mark.cover(2 if item.originalname in IN_PAIRS else 1))


@pytest.fixture(autouse=True, scope="module")
def _damaged_places(whole_run: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for suite, name, count in PLACES_EVERY_DAY:
            assert getattr(suite, name) > count
            if not whole_run:
                patch.setattr(suite, name, count)
        yield
