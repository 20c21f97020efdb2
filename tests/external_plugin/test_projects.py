"""Small outside projects: found, listed, preferred, in conflict, broken, removed; each step in a fresh process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import columns
import pytest
from outside import install, run, run_command
from witness import Witness

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
