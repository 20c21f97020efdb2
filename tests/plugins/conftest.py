"""Conformance suites are matrices of contexts, shapes, samples and versions: every day, each pair of values meets."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
# What the suites of `lance_arrow.testing` parametrize their tests by.
OF_SUITES = ("suite_", "writing_")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = getattr(getattr(item, "callspec", None), "params", ())
        if item.path.is_relative_to(HERE) and any(name.startswith(OF_SUITES) for name in names):
            item.add_marker(pytest.mark.cover(2))
