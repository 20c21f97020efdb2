"""A compression that the format has no number for: a private codec around the format's own."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from forked import run, run_command
from outside import ALONE, PROJECTS, install

PROJECT = PROJECTS / "brotli"

WRITE_AND_READ = """
import os, runpy, sys
import pyarrow as pa
import lance_arrow
example = runpy.run_path(sys.argv[1])
expected = example["rows"]()
example["write_example"](sys.argv[2], file_version=sys.argv[3])
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read().equals(expected)
    assert file.take([2999, 0, 97, 97]).equals(expected.take(pa.array([2999, 0, 97, 97])))
assert lance_arrow.verify(sys.argv[2]).ok
lance_arrow.write_table(expected, sys.argv[2] + ".plain", file_version=sys.argv[3])
assert os.path.getsize(sys.argv[2]) < 0.6 * os.path.getsize(sys.argv[2] + ".plain")
"""

READ_WITHOUT = """
import runpy, sys
import lance_arrow
from lance_arrow.errors import UnknownEncodingError
expected = runpy.run_path(sys.argv[1])["rows"]()
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read(["n"]).equals(expected.select(["n"]))
    for name in ("c", "letter"):
        try:
            file.read([name])
        except UnknownEncodingError as error:
            assert "example.brotli/1" in str(error) and "install 'lance-brotli'" in str(error), str(error)
            assert error.column == name
        else:
            raise AssertionError("the private column was read")
"""

REFUSED = """
import sys
import pyarrow as pa
import lance_arrow
from lance_arrow.errors import InvalidArgumentError
table = pa.table({"s": [f"text {number}" for number in range(1000)]})
for options, allowed, words in (
    ({"codec": "example.brotli/1"}, False, "allow_private_encodings=True"),
    ({"codec": "example.brotli/1", "level": 12}, True, "0 to 11"),
    ({"compression": "brotli"}, True, "lz4, zstd"),
):
    try:
        lance_arrow.write_table(table, sys.argv[1], column_options={"s": options}, allow_private_encodings=allowed)
    except InvalidArgumentError as error:
        assert words in str(error), str(error)
    else:
        raise AssertionError(f"{options} were taken")
"""


def succeeds(script: str, *arguments: str | Path, target: Path | None = None) -> None:
    done = run(script, *arguments, target=target)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("brotli", tmp_path_factory.mktemp("brotli") / "site")


@pytest.mark.whole
@pytest.mark.parametrize("version", [pytest.param("2.1", marks=pytest.mark.whole), "2.3"])
def test_written_read_and_missed(site: Path, tmp_path: Path, version: str) -> None:
    path = tmp_path / "file.lance"
    succeeds(WRITE_AND_READ, PROJECT / "example.py", path, version, target=site)
    shown = run_command([sys.executable, "-m", "lance_arrow.cli", "inspect", str(path), "--json"], site, {})
    columns = {one["path"]: one["pages"][0]["codecs"] for one in json.loads(shown.stdout)["columns"]}
    assert columns["c"][0] == columns["letter"][0] == "example.brotli/1"
    succeeds(READ_WITHOUT, PROJECT / "example.py", path)


def test_permission_and_options(site: Path, tmp_path: Path) -> None:
    succeeds(REFUSED, tmp_path / "file.lance", target=site)


@pytest.mark.whole
def test_it_passes_the_conformance_suite(site: Path, tmp_path: Path) -> None:
    suite = shutil.copy(PROJECT / "check_brotli.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    done = run_command([*map(str, command), str(suite)], site, ALONE, 300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
