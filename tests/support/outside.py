"""Install the small outside projects without network or build tools: copy the package, write its metadata."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

PROJECTS = Path(__file__).parent.parent / "external_plugin"
# Without plugins of pytest that are installed here: their import takes longer than most suites.
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def install(project: str, target: Path) -> Path:
    """Put a project of `tests/external_plugin/` into folder `target` as an installer would; return `target`."""
    source = PROJECTS / project
    meta = tomllib.loads((source / "pyproject.toml").read_text())
    name, version = meta["project"]["name"], meta["project"]["version"]
    for package in meta["tool"]["setuptools"]["packages"]:
        shutil.copytree(source / package, target / package, ignore=shutil.ignore_patterns("__pycache__"))
    folder = target / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    write_entry_points(folder, meta["project"]["entry-points"])
    return target


def write_entry_points(folder: Path, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Write the entry points of a distribution, by group, into its metadata."""
    lines = [
        line
        for group, points in groups.items()
        for line in (f"[{group}]", *(f"{name} = {module}" for name, module in points.items()))
    ]
    (folder / "entry_points.txt").write_text("\n".join(lines) + "\n")


def run(
    script: str, *arguments: str | Path, target: Path | None = None, timeout_seconds: float = 120, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python text in a fresh process that sees the projects in `target`; environment `variables` come on top."""
    return run_command([sys.executable, "-c", script, *map(str, arguments)], target, variables, timeout_seconds)


def run_command(
    command: list[str], target: Path | None, variables: Mapping[str, str], timeout_seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a command in a fresh process that sees the projects in `target`."""
    environment = {**os.environ, **variables}
    if target is not None:
        environment["PYTHONPATH"] = str(target)
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=timeout_seconds, check=False, cwd=target
    )
