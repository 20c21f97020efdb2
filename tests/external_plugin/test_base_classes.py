"""Example projects on the base classes of codecs: the conformance suite, unchanged, and a file."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from forked import run, run_command
from outside import ALONE, PROJECTS, install

WRITE_AND_READ = """
import os, runpy, sys
import pyarrow as pa
import lance_arrow
example = runpy.run_path(sys.argv[1])
expected = example["rows"]()
example["write_example"](sys.argv[2])
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read().equals(expected)
    assert file.take([4999, 0, 97, 97]).equals(expected.take(pa.array([4999, 0, 97, 97])))
assert lance_arrow.verify(sys.argv[2]).ok
lance_arrow.write_table(expected, sys.argv[2] + ".plain")
assert os.path.getsize(sys.argv[2]) < 0.8 * os.path.getsize(sys.argv[2] + ".plain")
"""


@pytest.fixture(scope="module", params=["shuffled", "front_coded", "pco"])
def project(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    if request.param == "pco":
        pytest.importorskip("pcodec", reason="needs pcodec")
    return request.param, install(request.param, tmp_path_factory.mktemp(request.param) / "site")


def test_a_file_is_written_and_read(project: tuple[str, Path], tmp_path: Path) -> None:
    name, site = project
    done = run(WRITE_AND_READ, PROJECTS / name / "example.py", tmp_path / "file.lance", target=site)
    assert done.returncode == 0, done.stderr


def test_it_passes_the_conformance_suite(project: tuple[str, Path], tmp_path: Path) -> None:
    name, site = project
    suite = shutil.copy(PROJECTS / name / f"check_{name}.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    done = run_command([*map(str, command), str(suite)], site, ALONE, 300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
