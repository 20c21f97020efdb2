"""A slice of `nox -s soak`, in a process of its own: the number of Arrow's threads is set for all of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_some_scans_end_and_leave_nothing(whole_run: bool) -> None:
    count = "240" if whole_run else "120"
    script = Path(__file__).with_name("run.py")
    done = subprocess.run(
        [sys.executable, str(script), "--scans", count], capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{count} scans")
