"""Some histories of each kind of store, and what a history needs to be of use; `nox -s simulate` plays many."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from breaks import BREAKS
from history import play, shrink
from plans import Plan, Script, plan_of
from store import FAULTS, KINDS
from world import Fault, Violation

_EVERY_DAY = 8
_WHOLE = 200
_PRINT = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from history import play
from plans import plan_of
from store import KINDS
for kind in KINDS:
    print(hashlib.sha256("\\n".join(play(plan_of(3, kind), keeps_trace=True).trace).encode()).hexdigest())
"""


@pytest.mark.parametrize("kind", KINDS)
def test_histories(kind: str, whole_run: bool) -> None:
    num_commits = 0
    for seed in range(_WHOLE if whole_run else _EVERY_DAY):
        plan = plan_of(seed, kind)
        result = play(plan)
        if result.violation is not None:
            pytest.fail(f"--kind {kind} --seed {seed}: {result.violation!r}\n{plan.to_line()}")
        num_commits += result.num_commits
    assert num_commits > _EVERY_DAY


def test_a_seed_repeats_byte_by_byte() -> None:
    here = []
    for kind in KINDS:
        first, second = (play(plan_of(3, kind), keeps_trace=True).trace for _ in range(2))
        assert first == second
        assert any("_versions" in line and (" put " in line or " link " in line) for line in first)
        here.append(hashlib.sha256("\n".join(first).encode()).hexdigest())
    assert len(set(here)) == len(KINDS)
    command = [sys.executable, "-c", _PRINT, str(Path(__file__).parent)]
    elsewhere = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert elsewhere == here


def test_a_plan_is_a_line() -> None:
    plans = [plan_of(seed, kind) for kind in KINDS for seed in range(40)]
    assert all(Plan.from_line(plan.to_line()) == plan for plan in plans)
    kinds = {fault.kind for plan in plans for one in plan.scripts for fault in one.faults}
    assert kinds == {*FAULTS["put-if-absent"], "jump", "stale", "stall"}


def test_an_append_never_fails_for_an_append() -> None:
    steps = tuple(("append", number) for number in range(1, 5))
    scripts = tuple(Script(f"writer{at}", tuple((do, 10 * at + n) for do, n in steps)) for at in range(4))
    for order in range(2):
        result = play(Plan(f"appends {order}", "put-if-absent", False, scripts))
        assert result.violation is None
        # One more that the referee makes at the end.
        assert result.num_commits == 16 + 1


@pytest.mark.parametrize("kind", ["lost", "again", "late", "twice", "racing"])
def test_each_fault_of_a_publication_is_met(kind: str) -> None:
    script = Script("writer0", (("append", 1), ("append", 2)), (Fault(2, kind, is_publish=True, amount=3),))
    result = play(Plan("fault", "put-if-absent", False, (script,)), keeps_trace=True)
    assert result.violation is None
    assert any(line.endswith(f"fault {kind}") for line in result.trace)


@pytest.mark.whole
def test_a_break_shrinks() -> None:
    one = BREAKS["no conditional write"]
    scripts = (
        Script("writer0", (("append", 1), ("update", 2))),
        Script("writer1", (("config", 3), ("append", 4)), (Fault(30, "jump", amount=9),)),
    )
    plans = (Plan(f"shrink {order}", one.kind, True, scripts) for order in range(20))
    plan = next(plan for plan in plans if play(plan, broken=one.make).violation)
    less = shrink(plan, broken=one.make, most_runs=150)
    assert isinstance(play(less, broken=one.make).violation, Violation)
    # Two writers race, each with the operation that matters, and perhaps one more that makes them meet.
    assert len(less.scripts) == 2
    assert sum(len(script.steps) for script in less.scripts) <= 3
    assert not any(script.faults for script in less.scripts)
    assert play(less).violation is None


def test_a_run_goes_on_behind_its_results(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    command = [sys.executable, str(Path(__file__).parent / "run.py"), "--kind", "none", "--results", str(results)]

    def run(histories: int) -> str:
        done = subprocess.run([*command, "--histories", str(histories)], capture_output=True, text=True, check=True)
        return done.stdout

    few, more = run(3), run(5)
    assert [json.loads(line)["seeds"] for line in results.read_text().splitlines()] == [[0, 1, 2], [3, 4]]
    assert few.startswith("none: 3 histories, ")
    assert more.startswith("none: 5 histories, ")
