"""Fixtures of all rooms: the witness, and folders that live as long as a module."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from witness import Witness


@pytest.fixture(scope="session")
def witness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Witness]:
    """The reference package in a subprocess of this pytest worker."""
    if Witness.version() is None:
        reason = "the reference package (pylance) is not installed: nothing here was compared with it"
        if os.environ.get("LANCE_ARROW_REQUIRE_REFERENCE"):
            pytest.fail(reason)
        pytest.skip(reason)
    found = Witness(tmp_path_factory.mktemp("witness"))
    yield found
    found.close()
