"""The progress bar: on a terminal alone, with rate and time left."""

from __future__ import annotations

import io

import pytest

from lance_arrow.cli.progress import progress


class Screen(io.StringIO):
    """A terminal, or none."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(("unit", "rate"), [("rows", "rows/s"), ("bytes", "B/s")])
def test_rate_and_time(monkeypatch: pytest.MonkeyPatch, unit: str, rate: str) -> None:
    screen = Screen(is_terminal=True)
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with progress("Salvaging", unit) as report:
        report(0, 4000)
        for done in (1000, 4000):
            report(done, 4000)
    shown = screen.getvalue()
    assert "Salvaging" in shown
    assert rate in shown
    assert "00:00" in shown or "0:00" in shown


def test_nothing_into_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen(is_terminal=False)
    monkeypatch.setattr("sys.stderr", screen)
    with progress("Salvaging", "rows") as report:
        report(5, None)
    assert screen.getvalue().strip() == ""
