"""The tables of names of `docs/coming_from`: each name exists in the package whose column has it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import lance_arrow
from lance_arrow.cli.app import run

PAGE = Path(__file__).parents[2] / "docs" / "coming_from" / "names.md"
HEADER = ["Task", "pylance", "pyarrow", "delta-rs", "lance-arrow", "What differs in lance-arrow"]
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.\w+)+)")
COMMAND = re.compile(r"`lance-arrow ([a-z ]+[a-z])")
# Prints which of some dotted names there are, in a process that may die.
LOOK_UP = """
import importlib, json, sys
owners = {{"LanceDataset": ("{package}", "LanceDataset"), "LanceScanner": ("{package}", "LanceScanner"),
          "DeltaTable": ("{package}", "DeltaTable"), "TableOptimizer": ("{package}.table", "TableOptimizer"),
          "TableAlterer": ("{package}.table", "TableAlterer")}}
missing = []
for name in json.loads(sys.argv[1]):
    first, *rest = name.split(".")
    module, attribute = owners.get(first, (first, None))
    found = importlib.import_module(module)
    if attribute is not None:
        rest.insert(0, attribute)
    for one in rest:
        if not hasattr(found, one):
            try:
                importlib.import_module(f"{{found.__name__}}.{{one}}")
            except (ImportError, AttributeError):
                missing.append(name)
                break
        found = getattr(found, one)
print(json.dumps(missing))
"""


def cells(column: str) -> list[str]:
    at = HEADER.index(column) + 1
    rows = [line.split("|") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert all(len(row) == len(HEADER) + 2 for row in rows), "a cell holds a bar"
    return [row[at] for row in rows]


def names(column: str) -> set[str]:
    return {name for cell in cells(column) for name in DOTTED.findall(cell)}


def test_every_table_has_the_same_columns() -> None:
    headers = [line for line in PAGE.read_text().splitlines() if line.startswith("| Task |")]
    assert len(headers) == 4
    assert all([cell.strip() for cell in line.split("|")[1:-1]] == HEADER for line in headers)


def test_names_of_this_package() -> None:
    found = names("lance-arrow")
    assert len(found) > 40
    for name in found:
        owner, attribute = name.split(".")[:2]
        home = lance_arrow if owner == "lance_arrow" else getattr(lance_arrow, owner)
        assert hasattr(home, attribute), name


def test_commands_of_this_package(capsys: pytest.CaptureFixture[str]) -> None:
    commands = {command for cell in cells("lance-arrow") for command in COMMAND.findall(cell)}
    assert len(commands) > 10
    for command in commands:
        assert run([*command.split(), "--help"]) == 0, command
    capsys.readouterr()


def test_names_of_pyarrow() -> None:
    homes = {"ds": ds, "pa": pa, "Dataset": ds.Dataset, "Scanner": ds.Scanner, "Table": pa.Table}
    found = names("pyarrow")
    assert len(found) > 10
    for name in found:
        owner, attribute = name.split(".")
        assert hasattr(homes[owner], attribute), name


@pytest.mark.interop
@pytest.mark.parametrize(("column", "package"), [("pylance", "lance"), ("delta-rs", "deltalake")])
def test_names_of_others(column: str, package: str) -> None:
    pytest.importorskip(package, reason=f"needs {column}") if package == "deltalake" else None
    found = sorted(name for name in names(column) if not name.startswith("lance_namespace."))
    assert len(found) > 10
    script = LOOK_UP.format(package=package)
    done = subprocess.run(
        [sys.executable, "-c", script, json.dumps(found)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
