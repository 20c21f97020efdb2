"""A layout outside the format: named, permitted, read, and missed by its distribution's name once it is gone."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from forked import run, run_command
from outside import ALONE, PROJECTS, install
from witness import Witness, WitnessDied, WitnessRefused

PROJECT = PROJECTS / "aligned"
NAME = "example.Aligned"

WRITE = """
import runpy, sys
runpy.run_path(sys.argv[1])["write_example"](sys.argv[2], file_version=sys.argv[3])
"""

READ = """
import runpy, sys
import pyarrow.dataset as pads
import lance_arrow
expected = runpy.run_path(sys.argv[1])["rows"]()
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read().equals(expected)
    picks = [4999, 0, 97, 2500, 97, 1]
    assert file.take(picks).equals(expected.take(picks))
dataset = pads.dataset(sys.argv[2], format=lance_arrow.LanceFormat())
wanted = pads.field("c") > 100
assert dataset.to_table(filter=wanted).equals(expected.filter(wanted))
assert lance_arrow.verify(sys.argv[2]).ok
"""

READ_WITHOUT = """
import runpy, sys
import lance_arrow
from lance_arrow.errors import UnknownEncodingError
expected = runpy.run_path(sys.argv[1])["rows"]()
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read(["n", "s"]).equals(expected.select(["n", "s"]))
    for read in (lambda: file.read(), lambda: file.take([3], ["c"]), lambda: list(file.to_batches(["c"]))):
        try:
            read()
        except UnknownEncodingError as error:
            assert "example.Aligned" in str(error) and "install 'lance-aligned'" in str(error), str(error)
            assert error.column == "c" and error.page == 0, (error.column, error.page)
        else:
            raise AssertionError("the private column was read")
"""

REFUSED = """
import os, sys
import pyarrow as pa
import lance_arrow
from lance_arrow import errors
table = pa.table({"c": pa.array([1, None, 3] * 100, pa.int64()), "s": ["x"] * 300})
def refused(kind, words, **options):
    try:
        lance_arrow.write_table(table, sys.argv[1], **options)
    except kind as error:
        for word in words:
            assert word in str(error), (word, str(error))
    else:
        raise AssertionError("written")
    assert not os.path.exists(sys.argv[1])
"""


def succeeds(script: str, *arguments: str | Path, target: Path | None = None) -> None:
    done = run(script, *arguments, target=target)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("aligned", tmp_path_factory.mktemp("aligned") / "site")


@pytest.mark.parametrize(
    "version",
    ["2.1", pytest.param("2.2", marks=pytest.mark.whole), pytest.param("2.3", marks=pytest.mark.whole)],
)
def test_named_it_is_written_and_read(site: Path, tmp_path: Path, version: str) -> None:
    path = tmp_path / "private.lance"
    succeeds(WRITE, PROJECT / "example.py", path, version, target=site)
    succeeds(READ, PROJECT / "example.py", path, target=site)
    succeeds(READ_WITHOUT, PROJECT / "example.py", path)


@pytest.mark.whole
def test_inspected_with_and_without_the_plugin(site: Path, tmp_path: Path) -> None:
    path = tmp_path / "private.lance"
    succeeds(WRITE, PROJECT / "example.py", path, "2.2", target=site)
    command = [sys.executable, "-m", "lance_arrow.cli", "inspect", str(path), "--json"]
    nodes = {}
    for name, target in (("with", site), ("without", None)):
        done = run_command(command, target, {})
        assert done.returncode == 0, done.stderr
        columns = json.loads(done.stdout)["columns"]
        (nodes[name],) = [page for column in columns if column["path"] == "c" for page in column["pages"]]
    assert nodes["with"]["problem"] is None
    assert nodes["with"]["encoding"]["key"] == NAME
    assert nodes["with"]["encoding"]["provider"] == "layout.aligned"
    assert [one["role"] for one in nodes["with"]["buffers"]] == ["data", "definition levels"]
    assert nodes["without"]["encoding"]["provider"] is None
    assert "'lance-aligned'" in nodes["without"]["problem"]
    assert nodes["without"]["encoding"]["parameters"]["distribution"] == "lance-aligned"
    assert nodes["without"]["encoding"]["detail"] is not None


def test_listed_as_a_layout(site: Path) -> None:
    done = run_command([sys.executable, "-m", "lance_arrow.cli", "plugins", "--json"], site, {})
    (plugin,) = [one for one in json.loads(done.stdout)["plugins"] if one["name"] == "layout.aligned"]
    assert plugin["distribution"] == "lance-aligned"
    assert [(one["key"], one["kind"], one["is_in_use"]) for one in plugin["encodings"]] == [(NAME, "layout", True)]


def test_it_needs_permission(site: Path, tmp_path: Path) -> None:
    script = f"""{REFUSED}
named = {{"c": {{"layout": "example.Aligned"}}}}
refused(errors.InvalidArgumentError, ["allow_private_encodings=True", "example.Aligned"], column_options=named)
"""
    succeeds(script, tmp_path / "t.lance", target=site)


def test_a_hook_needs_permission_too(site: Path, tmp_path: Path) -> None:
    chooser = """
from lance_arrow.spi import EncodingKey, hookimpl

@hookimpl
def lance_choose_layout(page):
    return EncodingKey("example.Aligned") if page.num_nulls else None
"""
    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    (folder / "chooser.py").write_text(chooser)
    meta = folder / "chooser-1.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: chooser\nVersion: 1\n")
    (meta / "entry_points.txt").write_text("[lance_arrow]\nchooser = chooser\n")
    script = f"""{REFUSED}
refused(errors.InvalidArgumentError, ["allow_private_encodings=True", "example.Aligned"])
lance_arrow.write_table(table, sys.argv[1], allow_private_encodings=True)
assert lance_arrow.read_table(sys.argv[1]).equals(table)
"""
    path = tmp_path / "t.lance"
    succeeds(script, path, target=folder)
    done = run("import sys, lance_arrow; lance_arrow.read_table(sys.argv[1])", path)
    assert "UnknownEncodingError" in done.stderr
    assert "'lance-aligned'" in done.stderr


def test_what_it_cannot_hold_or_who_is_not_there_is_refused(site: Path, tmp_path: Path) -> None:
    script = f"""{REFUSED}
strings = {{"s": {{"layout": "example.Aligned"}}}}
words = ["example.Aligned", "cannot hold"]
refused(errors.UnsupportedError, words, column_options=strings, allow_private_encodings=True)
other = {{"c": {{"layout": "example.Other"}}}}
refused(errors.UnknownEncodingError, ["example.Other"], column_options=other, allow_private_encodings=True)
old = {{"c": {{"layout": "example.Aligned"}}}}
refused(errors.UnsupportedError, ["2.0"], column_options=old, allow_private_encodings=True, file_version="2.0")
misspelt = {{"c": {{"layout": "minblock"}}}}
refused(errors.InvalidArgumentError, ["mini_block"], column_options=misspelt)
"""
    succeeds(script, tmp_path / "t.lance", target=site)


def test_it_is_never_a_guess(site: Path, witness: Witness, tmp_path: Path) -> None:
    """Its score is the smallest for these rows; the file is the format's all the same."""
    script = """
import sys, pyarrow as pa, lance_arrow
table = pa.table({"c": [row * row * 7919 % 65521 / 3 for row in range(3000)]})
lance_arrow.write_table(table, sys.argv[1], allow_private_encodings=True)
"""
    succeeds(script, tmp_path / "t.lance", target=site)
    assert witness.read(tmp_path / "t.lance").num_rows == 3000


def test_the_reference_refuses_the_whole_file(site: Path, witness: Witness, tmp_path: Path) -> None:
    path = tmp_path / "private.lance"
    succeeds(WRITE, PROJECT / "example.py", path, "2.2", target=site)
    with pytest.raises((WitnessRefused, WitnessDied)):
        witness.read(path, ["n"])


def test_in_a_table(site: Path, tmp_path: Path) -> None:
    script = """
import sys
import pyarrow as pa
import lance_arrow
from lance_arrow.errors import InvalidArgumentError
rows = pa.table({"c": pa.array([1, None, 3] * 100, pa.int64()), "s": ["x"] * 300})
options = {"c": {"layout": "example.Aligned"}}
try:
    lance_arrow.LanceTable.create(f"{sys.argv[1]}/refused", rows, column_options=options)
except InvalidArgumentError as error:
    assert "allow_private_encodings=True" in str(error), str(error)
else:
    raise AssertionError("written")
made = lance_arrow.LanceTable.create(
    f"{sys.argv[1]}/made", rows, column_options=options, allow_private_encodings=True
)
made.append(rows)
assert made.to_table().equals(pa.concat_tables([rows, rows]))
assert made.to_table(filter="c = 3").num_rows == 200
"""
    succeeds(script, tmp_path, target=site)


def test_it_passes_the_conformance_suite(site: Path, tmp_path: Path) -> None:
    suite = shutil.copy(PROJECT / "check_aligned.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    done = run_command([*map(str, command), str(suite)], site, ALONE, 300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout
