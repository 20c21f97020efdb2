"""Servers are started by `nox -s servers`, which says where their programs are; nothing here runs without it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

TOOLS = os.environ.get("LANCE_ARROW_SERVERS")
collect_ignore_glob = [] if TOOLS else ["test_*.py"]

if TOOLS:
    from running import SERVERS, Place

    @pytest.fixture(scope="session")
    def place_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Place]]:
        """Start a server when it is first asked for; all are stopped at the end."""
        with ExitStack() as stack:
            places: dict[str, Place] = {}

            def start(name: str) -> Place:
                if name not in places:
                    places[name] = stack.enter_context(SERVERS[name](tmp_path_factory.mktemp(name)))
                return places[name]

            yield start
