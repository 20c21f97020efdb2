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
# Scripts that start many processes run with `--whole`. Every day, a test in one process proves what each says.
NEIGHBOURS = {
    "compact_drops_indices_when_told": "interop/test_foreign_indices.py",
    "compact_keeps_foreign_index": "interop/test_foreign_indices.py",
    "convert_cast_that_fails": "cli/test_convert_commands.py",
    "convert_existing_target": "conversion/test_targets.py",
    "convert_hive_folder": "cli/test_convert_commands.py",
    "convert_onto_its_source": "conversion/test_targets.py",
    "convert_to_table": "conversion/test_targets.py",
    "count_zones": "arrow_dataset/test_lance_dataset.py",
    "export_to_parquet": "cli/test_convert_commands.py",
    "full_text_search_after_upkeep": "interop/test_foreign_indices.py",
    "json_and_tuples": "interop/test_json_columns.py",
    "look_into_a_table": "cli/test_tables.py",
    "mistype_a_command": "cli/test_app.py",
    "pickle_a_table": "table/test_pickling.py",
    "pipe_into_head": "cli/test_main.py",
    "show_wide_rows": "cli/test_render.py",
}


@pytest.mark.cover(1)
@pytest.mark.parametrize("place", ["checkout", "elsewhere"])
@pytest.mark.parametrize(
    "script",
    [pytest.param(one, id=one.stem, marks=[pytest.mark.whole] if one.stem in NEIGHBOURS else []) for one in SCRIPTS],
)
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
    names = {script.stem for script in SCRIPTS}
    assert names > set(NEIGHBOURS)
    assert [one for one in NEIGHBOURS.values() if not (CHECKOUT / "tests" / one).is_file()] == []
