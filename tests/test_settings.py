"""Settings: what the environment may say, what is refused, and how a budget becomes windows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow import Limits, Settings
from lance_arrow.errors import InvalidArgumentError


def test_the_environment_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_ARROW_THREADS", "3")
    monkeypatch.setenv("LANCE_ARROW_MEMORY_BYTES", "1000000")
    monkeypatch.setenv("LANCE_ARROW_PREFER", "a/b=one, c/d = two")
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", "2.5")
    monkeypatch.setenv("LANCE_ARROW_READ_ATTEMPTS", "7")
    found = Settings.from_environment()
    assert found == Settings(
        num_threads=3,
        memory_budget_bytes=1_000_000,
        prefer={"a/b": "one", "c/d": "two"},
        read_seconds=2.5,
        read_attempts=7,
    )


def test_an_empty_environment_gives_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANCE_ARROW_THREADS", "LANCE_ARROW_MEMORY_BYTES", "LANCE_ARROW_PREFER"):
        monkeypatch.delenv(name, raising=False)
    assert Settings.from_environment() == Settings()


@pytest.mark.parametrize("name", ["LANCE_ARROW_THREADS", "LANCE_ARROW_MEMORY_BYTES", "LANCE_ARROW_READ_ATTEMPTS"])
@pytest.mark.parametrize("wrong", ["0", "-1", "many", "", "1.5"])
def test_an_environment_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch, name: str, wrong: str) -> None:
    monkeypatch.setenv(name, wrong)
    with pytest.raises(InvalidArgumentError, match=name):
        Settings.from_environment()


@pytest.mark.parametrize("wrong", ["0", "-1", "soon", "", "nan", "inf"])
def test_a_deadline_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("LANCE_ARROW_READ_SECONDS", wrong)
    with pytest.raises(InvalidArgumentError, match="LANCE_ARROW_READ_SECONDS"):
        Settings.from_environment()
    with pytest.raises(InvalidArgumentError, match="read_seconds"):
        Settings(read_seconds=-1)


@pytest.mark.parametrize("name", ["num_threads", "memory_budget_bytes", "read_attempts"])
@pytest.mark.parametrize("wrong", [0, -1, 1.5, None, True])
def test_settings_that_make_no_sense_are_named(name: str, wrong: object) -> None:
    with pytest.raises(InvalidArgumentError, match=name):
        Settings(**{name: wrong})


@given(st.integers(1, 64), st.integers(1, 1 << 40), st.integers(1, 1 << 36))
def test_windows_in_flight_fit_the_budget(num_threads: int, budget_bytes: int, window_bytes: int) -> None:
    settings = Settings(num_threads=num_threads, memory_budget_bytes=budget_bytes)
    in_flight = settings.windows_within_budget(window_bytes)
    assert 1 <= in_flight <= num_threads + 1
    assert in_flight * window_bytes <= budget_bytes or in_flight == 1
    chosen = settings.window_bytes(num_threads + 1)
    assert chosen * (num_threads + 1) <= budget_bytes or chosen == 1
    assert settings.windows_within_budget(chosen) == num_threads + 1 or chosen == 1


@given(st.integers(1, 1 << 40), st.integers(0, 1 << 30))
def test_columns_leave_a_quarter_of_the_budget_for_rows(budget_bytes: int, num_columns: int) -> None:
    settings = Settings(memory_budget_bytes=budget_bytes)
    left = settings.row_bytes(num_columns)
    assert max(1, budget_bytes // 4) <= left <= budget_bytes
    assert settings.row_bytes(num_columns + 1) <= left
    assert settings.row_bytes(0) == budget_bytes
    assert settings.window_bytes(3, num_columns) <= settings.window_bytes(3)


def test_limits_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_ARROW_LIMITS", "max_expanded_bytes=5, max_batch_bytes=7")
    limits = Settings.from_environment().limits
    assert (limits.max_expanded_bytes, limits.max_batch_bytes) == (5, 7)
    assert limits.max_chunk_bytes == Limits().max_chunk_bytes
    for wrong in ("max_expanded_bytes", "max_expanded_bytes=-1", "nothing=5", "max_batch_bytes=x"):
        monkeypatch.setenv("LANCE_ARROW_LIMITS", wrong)
        with pytest.raises(InvalidArgumentError, match="LANCE_ARROW_LIMITS"):
            Settings.from_environment()
