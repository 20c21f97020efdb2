"""Sessions that compare with releases of the reference package."""

from __future__ import annotations

import os
from pathlib import Path

import nox

from sessions.common import ROOT, TEST_EXTRAS, TEST_REQUIREMENTS, install

# Releases that wrote files still in use, besides the one that the tests compare with.
OTHER_RELEASES = ("4.0.0", "8.0.0", "12.0.0")
# Releases that write tables together with this one.
WRITING_RELEASES = ("4.0.0", "6.0.0", "8.0.0", "10.0.0", "12.0.0", "13.0.0")
# One that wrote 2.0 when it was new.
FOUNDING_RELEASE = "0.20.0"
# Releases whose drafts of 2.1 no later one reads, and what they need beside them.
DRAFT_RELEASES = ("0.19.2", "0.20.0", "0.21.0", "0.22.0", "0.23.2", "0.25.0", "0.29.0", "0.31.0", "0.32.0", "0.32.1")
DRAFT_REQUIREMENTS = ("pyarrow<20", "numpy<2")


@nox.session
def differential(session: nox.Session) -> None:
    """Compare 2,000 random nested tables per version with the reference package; `-- --long` compares 20,000."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/run.py", *session.posargs)


@nox.session
def histories(session: nox.Session) -> None:
    """Write 200 tables of 30 steps by turns with the reference package; `-- --histories 5 --steps 10` for fewer."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/histories.py", *session.posargs)


@nox.session
def changed_rows(session: nox.Session) -> None:
    """Compare changes with the logs of 500 histories, and with the reference's versions of rows; `-- --histories 5`."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/changed_rows.py", *session.posargs)


@nox.session
def indices(session: nox.Session) -> None:
    """Change 40 tables with the reference's indices 25 times each; `-- --tables 4 --steps 10` for fewer."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/differential/indices.py", *session.posargs)


def _release(session: nox.Session, release: str) -> Path:
    """Return the interpreter of an environment that holds a release of the reference package, made once."""
    # Not `.nox/releases`, which nox empties before the session of that name.
    home = ROOT / ".nox" / "reference-releases" / release
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not python.exists():
        session.run("python", "-m", "venv", str(home))
        wanted = [f"pylance=={release}", *(DRAFT_REQUIREMENTS if release in DRAFT_RELEASES else ())]
        session.run(str(python), "-m", "pip", "install", "-q", *wanted, external=True)
    return python


@nox.session
def releases(session: nox.Session) -> None:
    """Compare files of older releases of the reference package with what each release itself reads."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    pairs = []
    for release in (*OTHER_RELEASES, FOUNDING_RELEASE):
        pairs.append(f"{release}={_release(session, release)}")
    session.run("python", "tests/differential/releases.py", *pairs, *session.posargs)


@nox.session
def together(session: nox.Session) -> None:
    """Write 300 tables by turns of this package and seven releases of the reference; `-- --tables 5` for fewer."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    old = [f"{release}={_release(session, release)}" for release in WRITING_RELEASES]
    options = session.posargs or ["--tables", "300"]
    session.run("python", "tests/differential/together.py", "ours", "installed", *old, *options)


@nox.session
def drafts(session: nox.Session) -> None:
    """Compare drafts of 2.1, made again by the releases that wrote them, with what each release itself reads."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    pairs = []
    for release in DRAFT_RELEASES:
        pairs.append(f"{release}={_release(session, release)}")
    session.run("python", "tests/differential/drafts.py", *pairs, *session.posargs)
