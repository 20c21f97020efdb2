"""One command line in this process: its exit code, and what it wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from lance_arrow.cli.app import run


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


@dataclass(frozen=True)
class Outcome:
    """What a command line left."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout, read strictly."""
        return json.loads(self.out, parse_constant=_refuse)


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run `lance-arrow` with arguments."""

    def call(*arguments: object) -> Outcome:
        code = run([str(argument) for argument in arguments])
        written = capfd.readouterr()
        return Outcome(code, written.out, written.err)

    return call
