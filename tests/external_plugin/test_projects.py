"""Small outside projects: found, listed, preferred, in conflict, broken, removed; each step in a fresh process."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import columns
import pytest
from forked import run, run_command
from outside import ALONE, PROJECTS, install
from witness import Witness, WitnessDied, WitnessRefused

KEY = "lance.encodings21.CompressiveEncoding/flat"
PREFERENCE = f"{KEY}=codec.loud.flat"

SCAN = """
import hashlib, json, sys
import pyarrow as pa, pyarrow.dataset as pads
import lance_arrow
table = pads.dataset(sys.argv[1], format=lance_arrow.LanceFormat()).to_table()
with lance_arrow.LanceFile(sys.argv[1]) as file:
    assert file.read().equals(table)
sink = pa.BufferOutputStream()
with pa.ipc.new_stream(sink, table.schema) as stream:
    stream.write_table(table.combine_chunks())
digest = hashlib.sha256(sink.getvalue()).hexdigest()
loud = sys.modules.get("loud_flat")
print(json.dumps({"rows": table.num_rows, "digest": digest, "calls": None if loud is None else loud.calls}))
"""


@pytest.fixture(scope="module")
def path(witness: Witness, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file without NaN whose columns are flat in mini-blocks, blocks and full-zip pages."""
    fixed = columns.table("fixed", "2.1", 1024, "some").select(["int32_random", "bool_random", "int64_small"])
    options = columns.table("options", "2.1", 1024, "some").select(["int32_zip", "double_zip", "int32_plain"])
    for name in options.column_names:
        fixed = fixed.append_column(options.field(name), options[name])
    return witness.write(fixed, tmp_path_factory.mktemp("outside") / "flat.lance", "2.1")


@pytest.fixture
def loud(tmp_path: Path) -> Path:
    return install("loud_flat", tmp_path / "site")


def scan(path: Path, target: Path | None = None, **variables: str) -> dict[str, Any]:
    done = run(SCAN, path, target=target, **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_preferred_plugin_does_the_work(path: Path, loud: Path) -> None:
    plain = scan(path)
    assert plain["calls"] is None
    preferred = scan(path, loud, LANCE_ARROW_PREFER=PREFERENCE)
    assert preferred["calls"]["bind"] > 0
    assert preferred["calls"]["decode chunks"] > 0
    assert preferred["calls"]["decode values"] > 0
    assert (preferred["rows"], preferred["digest"]) == (plain["rows"], plain["digest"])
    built_in = scan(path, loud, LANCE_ARROW_PREFER=f"{KEY}=codec.flat")
    assert built_in["calls"] == {}
    assert scan(path) == plain


def test_settings_prefer_as_the_environment_does(path: Path, loud: Path) -> None:
    script = f"""
import sys, lance_arrow
runtime = lance_arrow.Runtime(lance_arrow.Settings(prefer={{{KEY!r}: "codec.loud.flat"}}))
with lance_arrow.LanceFile(sys.argv[1], runtime=runtime) as file:
    file.read()
import loud_flat
assert loud_flat.calls["decode chunks"] > 0, loud_flat.calls
"""
    done = run(script, path, target=loud)
    assert done.returncode == 0, done.stderr


def test_conflict_names_both_distributions(path: Path, loud: Path) -> None:
    done = run(SCAN, path, target=loud)
    assert done.returncode != 0
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("lance_arrow.errors.PluginConflictError"), done.stderr
    for wanted in (KEY, "lance-arrow", "loud-flat", "codec.loud.flat", "'codec.flat'", "LANCE_ARROW_PREFER"):
        assert wanted in last


def test_preference_for_nobody_is_refused(path: Path) -> None:
    done = run(SCAN, path, LANCE_ARROW_PREFER=f"{KEY}=codec.quiet.flat")
    assert "PluginConflictError" in done.stderr
    assert "codec.quiet.flat" in done.stderr


def listed(target: Path | None, **variables: str) -> str:
    command = [sys.executable, "-m", "lance_arrow.cli", "plugins", "--json"]
    done = run_command(command, target, variables)
    assert done.returncode == 0, done.stderr
    json.loads(done.stdout)
    return done.stdout


def test_listed_and_no_longer_listed(loud: Path) -> None:
    text = listed(loud, LANCE_ARROW_PREFER=PREFERENCE)
    assert "loud-flat" in text
    assert "codec.loud.flat" in text
    assert "codec.flat" in listed(None)
    assert "loud" not in listed(None)


def test_broken_plugin_is_listed_and_disturbs_nobody(path: Path, tmp_path: Path) -> None:
    target = install("broken", tmp_path / "site")
    assert scan(path, target) == scan(path)
    text = listed(target)
    assert "lance-broken-fsst" in text
    assert "_native_part_that_is_not_there" in text


def test_receipts_arrive(path: Path, tmp_path: Path) -> None:
    target = install("receipts", tmp_path / "site")
    receipts = tmp_path / "receipts.jsonl"
    scan(path, target, LANCE_RECEIPTS=str(receipts))
    reports = [json.loads(line) for line in receipts.read_text().splitlines()]
    assert len(reports) == 2
    for report in reports:
        assert report["rows"] == 1024
        assert report["files"] == 1
        assert report["pages"] == 6
        assert report["fetched_bytes"] >= report["requested_bytes"] > 0
        assert set(report["columns"]) == {
            *("int32_random", "bool_random", "int64_small", "int32_zip", "double_zip", "int32_plain"),
        }


WRITE = """
import runpy, sys
example = runpy.run_path(sys.argv[1])
example["write_example"](sys.argv[2], **({"file_version": sys.argv[3]} if len(sys.argv) > 3 else {}))
"""

READ_PRIVATE = """
import json, runpy, sys
import pyarrow.dataset as pads
import lance_arrow
expected = runpy.run_path(sys.argv[1])["rows"]()
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.read().equals(expected)
    picks = [4999, 0, 97, 2500, 97]
    assert file.take(picks).equals(expected.take(picks))
dataset = pads.dataset(sys.argv[2], format=lance_arrow.LanceFormat())
assert dataset.to_table().equals(expected)
wanted = pads.field("c") > 32_990
assert dataset.to_table(filter=wanted).equals(expected.filter(wanted))
assert lance_arrow.verify(sys.argv[2]).ok
"""

READ_OTHERS = """
import json, runpy, sys
import pyarrow.dataset as pads
import lance_arrow
from lance_arrow.errors import UnknownEncodingError
expected = runpy.run_path(sys.argv[1])["rows"]()
with lance_arrow.LanceFile(sys.argv[2]) as file:
    assert file.schema == expected.schema and file.num_rows == expected.num_rows
    assert file.read(["n", "s"]).equals(expected.select(["n", "s"]))
    assert file.take([5, 1], ["s"]).equals(expected.select(["s"]).take([5, 1]))
    for read in (lambda: file.read(), lambda: file.read(["c"]), lambda: file.take([3], ["c"])):
        try:
            read()
        except UnknownEncodingError as error:
            assert "example.zigzag/1" in str(error) and "'lance-zigzag'" in str(error), str(error)
            assert error.column == "c"
        else:
            raise AssertionError("the private column was read")
dataset = pads.dataset(sys.argv[2], format=lance_arrow.LanceFormat())
assert dataset.to_table(columns=["n", "s"]).equals(expected.select(["n", "s"]))
"""


def example(project: str) -> Path:
    return PROJECTS / project / "example.py"


def succeeds(script: str, *arguments: str | Path, target: Path | None = None, **variables: str) -> None:
    done = run(script, *arguments, target=target, **variables)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def zigzag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("zigzag", tmp_path_factory.mktemp("zigzag") / "site")


@pytest.mark.parametrize(
    "version",
    [pytest.param("2.1", marks=pytest.mark.whole), pytest.param("2.2", marks=pytest.mark.whole), "2.3"],
)
def test_private_codec_is_written_read_and_missed(zigzag: Path, tmp_path: Path, version: str) -> None:
    path = tmp_path / "private.lance"
    succeeds(WRITE, example("zigzag"), path, version, target=zigzag)
    succeeds(READ_PRIVATE, example("zigzag"), path, target=zigzag)
    shown = [sys.executable, "-m", "lance_arrow.cli", "inspect", str(path), "--json"]
    inspected = run_command(shown, zigzag, {})
    assert "lance_arrow.PrivateCodec/example.zigzag/1" in inspected.stdout
    # Numbers of eleven bits around 32,400, packed by a codec of the format: nulls are no distance of sixteen bits.
    assert "bitpacking" in inspected.stdout
    (page,) = [page for one in json.loads(inspected.stdout)["columns"] if one["path"] == "c" for page in one["pages"]]
    (data,) = [buffer["size_bytes"] for buffer in page["buffers"] if buffer["role"] == "data"]
    assert 5 * 1024 * 11 // 8 < data < 5 * 1024 * 13 // 8
    succeeds(READ_OTHERS, example("zigzag"), path)
    without = run_command(shown, None, {})
    assert without.returncode == 0
    assert "lance-zigzag" in without.stdout


def test_private_codec_needs_permission(zigzag: Path, tmp_path: Path) -> None:
    script = """
import os, sys, pyarrow as pa, lance_arrow
from lance_arrow.errors import InvalidArgumentError
try:
    options = {"c": {"codec": "example.zigzag/1"}}
    lance_arrow.write_table(pa.table({"c": [1, 2, 3]}), sys.argv[1], column_options=options)
except InvalidArgumentError as error:
    assert "allow_private_encodings=True" in str(error) and "example.zigzag/1" in str(error), str(error)
else:
    raise AssertionError("written without permission")
assert not os.path.exists(sys.argv[1])
"""
    succeeds(script, tmp_path / "t.lance", target=zigzag)


def test_private_codec_is_never_a_guess(zigzag: Path, tmp_path: Path) -> None:
    script = """
import sys, pyarrow as pa, lance_arrow
table = pa.table({"c": [(-1) ** row * (row % 9) for row in range(5000)]})
for name, allowed in (("a", False), ("b", True)):
    lance_arrow.write_table(table, f"{sys.argv[1]}/{name}", allow_private_encodings=allowed)
assert open(f"{sys.argv[1]}/a", "rb").read() == open(f"{sys.argv[1]}/b", "rb").read()
"""
    succeeds(script, tmp_path, target=zigzag)


def test_unknown_private_codec_cannot_be_wished_for(tmp_path: Path) -> None:
    script = """
import sys, pyarrow as pa, lance_arrow
from lance_arrow.errors import UnknownEncodingError
try:
    lance_arrow.write_table(
        pa.table({"c": [1, 2, 3]}), sys.argv[1], column_options={"c": {"codec": "example.zigzag/1"}},
        allow_private_encodings=True,
    )
except UnknownEncodingError as error:
    assert "example.zigzag/1" in str(error)
else:
    raise AssertionError("written without the plugin")
"""
    succeeds(script, tmp_path / "t.lance")


def test_the_reference_refuses_the_whole_file(zigzag: Path, witness: Witness, tmp_path: Path) -> None:
    """A fact to know before private encodings are allowed: not even the other columns are read elsewhere."""
    path = tmp_path / "private.lance"
    succeeds(WRITE, example("zigzag"), path, "2.2", target=zigzag)
    with pytest.raises((WitnessRefused, WitnessDied)):
        witness.read(path)
    with pytest.raises((WitnessRefused, WitnessDied)):
        witness.read(path, ["n"])


@pytest.mark.whole
def test_private_codec_passes_the_conformance_suite(zigzag: Path, tmp_path: Path) -> None:
    # Alone, as its author would: the conftest of these tests is not theirs.
    suite = shutil.copy(PROJECTS / "zigzag" / "check_zigzag.py", tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", tmp_path]
    done = run_command([*map(str, command), str(suite)], zigzag, ALONE, 300)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert " passed" in done.stdout


@pytest.mark.whole
def test_example_of_the_loud_project(loud: Path, tmp_path: Path) -> None:
    path = tmp_path / "loud.lance"
    succeeds(WRITE, example("loud_flat"), path, target=loud)
    found = scan(path, loud, LANCE_ARROW_PREFER=PREFERENCE)
    assert found["rows"] == 3000
    assert found["calls"]["decode chunks"] > 0


def test_example_of_the_receipts(tmp_path: Path) -> None:
    target = install("receipts", tmp_path / "site")
    receipts = tmp_path / "receipts.jsonl"
    succeeds(WRITE, example("receipts"), tmp_path / "t.lance", target=target, LANCE_RECEIPTS=str(receipts))
    (report,) = map(json.loads, receipts.read_text().splitlines())
    assert report["rows"] == 3
