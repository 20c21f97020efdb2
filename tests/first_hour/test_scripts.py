"""Runs each script of `scripts/` as a new user would: in a process of its own, from the checkout and from elsewhere.

A script takes one argument, an empty folder to work in, and ends with exit code 0 when what it says holds. It ends with
code 77, and a reason on standard output, when a package that it needs is not installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from shells import CHECKOUT, environment

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
NOT_INSTALLED = 77
SECONDS = 240


@pytest.mark.cover(1)
@pytest.mark.parametrize("place", ["checkout", "elsewhere"])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_script_ends_well(script: Path, place: str, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    if place == "checkout":
        # Typed into Python in the checkout: `sys.path[0]` is the current folder, which holds the source tree.
        command, folder, text = [sys.executable, "-", str(work)], CHECKOUT, script.read_text()
    else:
        command, folder, text = [sys.executable, str(script), str(work)], tmp_path, None
    done = subprocess.run(
        command, cwd=folder, input=text, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode == NOT_INSTALLED and not os.environ.get("LANCE_ARROW_REQUIRE_REFERENCE"):
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_there_are_scripts() -> None:
    assert SCRIPTS
