"""`lance-arrow plugins new`: names and folders; the projects build, install, pass their tests and the kit unchanged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from outside import run_command

CHECK_NATIVE = """
import sys
import numpy as np
from lance_arrow.spi import DecodeContext, private_description
from lance_arrow.spi.native import native_side
from lance_arrow.runtime import default_runtime
(module,) = sys.argv[1:]
codec = __import__(module).Offsets()
description = private_description(codec.key, codec.distribution, b"<i4").private_codec
bound = codec.bind(description, DecodeContext.MINI_BLOCK, None)
print(native_side(bound) is not None)
"""


def succeeds(command: list[str | Path], site: Path | None = None, cwd: Path | None = None) -> str:
    environment = {**os.environ, **({} if site is None else {"PYTHONPATH": str(site)})}
    done = subprocess.run(
        [*map(str, command)], env=environment, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize(
    ("words", "is_native"), [([], "False"), pytest.param(["--native"], "True", marks=pytest.mark.whole)]
)
def test_a_project_builds_installs_and_passes(tmp_path: Path, words: list[str], is_native: str) -> None:
    """As its author would: the conftest of these tests is not theirs."""
    succeeds([sys.executable, "-m", "lance_arrow.cli", "plugins", "new", "lance-mine", *words], cwd=tmp_path)
    project, site = tmp_path / "lance-mine", tmp_path / "site"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps"]
    succeeds([*install, "--target", site, project])
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    assert " passed" in succeeds(tests, site, project)
    kit = succeeds([*tests, "--lance-arrow-plugin", "lance-mine"], site, project)
    assert " passed" in kit
    assert succeeds([sys.executable, "-c", CHECK_NATIVE, "lance_mine"], site).strip() == is_native


def test_the_report_says_what_to_do_next(command: Callable[..., Any], tmp_path: Path) -> None:
    outcome = command("plugins", "new", "lance-mine", "--folder", str(tmp_path / "here"), "--json")
    assert outcome.code == 0
    assert outcome.document["codec"] == "lance_mine.offsets/1"
    assert "src/lance_mine/__init__.py" in outcome.document["files"]
    written = [str(path.relative_to(tmp_path / "here")) for path in (tmp_path / "here").rglob("*") if path.is_file()]
    assert sorted(written) == outcome.document["files"]
    assert not [path for path in (tmp_path / "here").rglob("*") if path.is_file() and "{{" in path.read_text()]
    assert outcome.document["next_steps"][1] == "python -m pip install ."


def test_an_existing_folder_is_left_alone(command: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    outcome = command("plugins", "new", "lance-mine", "--folder", str(tmp_path))
    assert outcome.code == 1
    assert "exists; name a new folder by --folder" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize(
    "name", ["Lance", "lance_mine", "-mine", "mine-", "a--b", "1st", "", "../up", "lance-arrow", "json", "class"]
)
def test_names_that_no_project_can_have(command: Callable[..., Any], tmp_path: Path, name: str) -> None:
    outcome = command("plugins", "new", "--folder", str(tmp_path / "new"), "--", name)
    assert outcome.code == 1
    assert repr(name) in outcome.err
    assert not (tmp_path / "new").exists()


def test_matrix_takes_no_command(command: Callable[..., Any]) -> None:
    outcome = command("plugins", "--matrix", "new", "lance-mine")
    assert outcome.code == 2
    assert "--matrix takes no command" in outcome.err


def test_the_kit_names_the_distributions_there_are(tmp_path: Path) -> None:
    kit = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", str(tmp_path)]
    done = run_command([*kit, "-p", "lance_arrow.testing.kit", "--lance-arrow-plugin", "lance-arow"], tmp_path, {})
    assert done.returncode == 4
    assert "no installed distribution 'lance-arow' has plugins of lance-arrow" in done.stderr
    assert "did you mean 'lance-arrow'?" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_kit_is_asleep_without_its_option(tmp_path: Path) -> None:
    script = """
import sys
import pytest
kit = ["-p", "lance_arrow.testing.kit"]
code = pytest.main(["-q", "-p", "no:cacheprovider", *kit, "--co", "-c", "/dev/null", sys.argv[1]])
assert code == pytest.ExitCode.NO_TESTS_COLLECTED, code
assert not {"numpy", "pyarrow", "lance_arrow.spi"} & set(sys.modules), sorted(sys.modules)
"""
    done = run_command([sys.executable, "-c", script, str(tmp_path)], None, {})
    assert done.returncode == 0, done.stdout + done.stderr
