"""The bounds of the fuzzers hold: too much memory, or too much time, is found, and what is right is not."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import bounded
import pytest
from fuzz_runs import Mutant, Run

ROOT = Path(__file__).parent.parent.parent
HEAD = """
import sys
sys.path[:0] = [sys.argv[1]]
import bounded
bounds = bounded.Bounds()
def held(mebibytes):
    with bounds.keep(1 << 20):
        bytes(b"x" * (mebibytes << 20))
"""


def said(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HEAD + code, bounded.__file__.rpartition("/")[0]]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.skipif(not bounded.MEASURED, reason="resident memory is read of Linux, and without sanitizers")
def test_memory_is_bounded_each_time() -> None:
    """A mebibyte of damaged bytes may take 68; what one read gave back does not hide what the next one takes."""
    code = """
held(20)
for mebibytes in (90, 60, 80):
    try:
        held(mebibytes)
        print("kept")
    except bounded.OutOfBounds as error:
        print(error)
"""
    lines = said(code).stdout.splitlines()
    assert [line == "kept" for line in lines] == [False, True, False]
    assert "for 1,048,576 damaged ones, at most 71,303,168 are right" in lines[0]


def test_processor_time_is_bounded() -> None:
    code = """
bounded.PROCESSOR_SECONDS = 0.2
with bounds.keep(1):
    pass
print("kept", flush=True)
with bounds.keep(1):
    while True:
        pass
"""
    done = said(code)
    assert done.stdout.strip() == "kept"
    assert done.returncode == -signal.SIGPROF


@pytest.mark.parametrize(("times", "failures"), [(1, []), (2, ["hung"])])
def test_a_worker_that_was_stopped_is_no_hang(times: int, failures: list[str], tmp_path: Path) -> None:
    """The first signal of the clock may come of a pause of the process; the second one does not."""
    script = tmp_path / "worker.py"
    script.write_text(
        f"""
import json, os, pathlib, signal, sys
first, count = int(sys.argv[4]), int(sys.argv[5])
for number in range(first, first + count):
    print("trying", number, flush=True)
    mark = pathlib.Path({str(tmp_path)!r}, f"{{number}}")
    mark.write_text(mark.read_text() + "x" if mark.exists() else "x")
    if number == 3 and len(mark.read_text()) <= {times}:
        os.kill(os.getpid(), signal.SIGALRM)
print(json.dumps({{"outcomes": {{"read": count}}, "most_bytes": 0}}))
"""
    )
    mutant = Mutant("file", "damage", 1, lambda: "read")
    found = Run(script, tmp_path, lambda number: mutant, 0, 6, 60).all()
    assert [one["error"] for one in found.failures] == failures
    assert found.tried == 6


def test_settings_are_those_that_are_documented() -> None:
    text = (ROOT / "docs" / "safety.md").read_text()
    said: dict[str, object] = {}
    exec(text.partition("```python\n")[2].partition("```")[0], said)
    assert said["settings"] == bounded.SETTINGS
