"""The page of promises is the one that its list and results give, and names what exists."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "promises"))

import measure  # noqa: E402 - a script's folder is no package


def test_the_page_is_up_to_date() -> None:
    assert measure.PAGE.read_text() == measure.page(measure.read_results()), "python tests/promises/measure.py --page"


@pytest.mark.parametrize("promise", measure.promises(), ids=lambda promise: promise.get("key", promise["tests"]))
def test_a_promise_names_what_exists(promise: dict[str, object]) -> None:
    tests = ROOT / str(promise["tests"])
    assert list(tests.glob("test_*.py")), tests
    assert ("run" in promise) == ("key" in promise) == ("counts" in promise)
    if "run" in promise:
        python, script, *_ = shlex.split(str(promise["run"]))
        assert python == "python"
        assert (ROOT / script).is_file()


def test_results_are_of_promises() -> None:
    assert set(measure.read_results()) <= {promise.get("key") for promise in measure.promises()}


def test_counts_are_added_up() -> None:
    output = "a: 1,200 mutants, 0 failures\nb: 3 mutants, 2 failures\n"
    assert measure.counted(output, {"mutants": r"([\d,]+) mutants", "failures": r"(\d+) failures"}) == {
        "mutants": 1203,
        "failures": 2,
    }
    assert measure.counted("x: found\ny: found", {"found": "(found)"}) == {"found": 2}
    with pytest.raises(ValueError, match="no count of mutants"):
        measure.counted("nothing", {"mutants": r"(\d+) mutants"})


def test_a_broken_promise_is_said() -> None:
    result = {"found": {"mutants": 9}, "is_kept": False, "seconds": 1, "date": "2026-01-01", "source": "abc"}
    assert "**broken**: 9 mutants" in measure.page({"damaged_files": result})
