"""The table of checks in the docs and the tests agree: every bad file has its clause, with the error it raises."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

from forge import Bad

HERE = Path(__file__).parent
TABLE = HERE.parent.parent / "docs" / "format" / "checks.md"
ROW = re.compile(r"^\| (?P<clause>[^|]+) \| (?P<files>`[^|]+`) \| (?P<errors>`[^|]+`) \|$", re.MULTILINE)


def errors_of_files() -> dict[str, str]:
    """Error of every bad file of the tests."""
    found: dict[str, str] = {}
    for path in sorted(HERE.glob("test_*_checks*.py")):
        specification = importlib.util.spec_from_file_location(f"table_{path.stem}", path)
        assert specification is not None
        assert specification.loader is not None
        module = importlib.util.module_from_spec(specification)
        sys.modules[specification.name] = module
        specification.loader.exec_module(module)
        cases: list[Bad] = module.CASES
        for case in cases:
            assert case.name not in found, f"{case.name} is tested twice"
            found[case.name] = case.error.__name__
    return found


def test_every_bad_file_has_its_clause() -> None:
    errors = errors_of_files()
    rows = list(ROW.finditer(TABLE.read_text()))
    listed = [name for row in rows for name in re.findall("`([^`]+)`", row["files"])]
    assert sorted(listed) == sorted(errors)
    for row in rows:
        raised = {errors[name] for name in re.findall("`([^`]+)`", row["files"])}
        assert set(re.findall("`([^`]+)`", row["errors"])) == raised, row["clause"]
