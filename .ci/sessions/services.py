"""Sessions with packages too large for every run: servers of object stores and filesystems, engines."""

from __future__ import annotations

import os
from pathlib import Path

import nox

from sessions.common import DUCKDB_EXTENSIONS, ROOT, SERVER_REQUIREMENTS, TEST_EXTRAS, TEST_REQUIREMENTS, WHERE, install

# Servers that are not, as the package of a Debian system or of npm holds them; nothing of them is installed there.
SERVER_DEBS = ("libwrap0", "nginx", "openssh-server")
SERVER_NPM = ("azurite@3.37.0",)
# Engines too large for every run, and what they are tested with.
ENGINE_REQUIREMENTS = ["ray[data]>=2.40", "datasets>=4", "torch==2.13.0"]
# Its names are in a table of the documentation.
NAMED_REQUIREMENTS = ["deltalake==1.6.*"]
ENGINE_PAGES = ("docs/engines/ray.md", "docs/engines/hugging_face.md", "docs/how_to/train_with_pytorch.md")


def _node_servers(session: nox.Session) -> Path:
    """Bring the servers that npm has; returns the folder of all servers' programs."""
    home = ROOT / ".nox" / "servers-tools"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules").exists():
        session.run("npm", "install", "--no-audit", "--no-fund", "--prefix", str(home), *SERVER_NPM, external=True)
    return home


@nox.session
def servers(session: nox.Session) -> None:
    """Start servers of S3, Azure, GCS, SFTP, FTP, HTTP and WebDAV on loopback, read and write through each."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *SERVER_REQUIREMENTS)
    home = _node_servers(session)
    (home / "debs").mkdir(exist_ok=True)
    if not (home / "root").exists():
        session.chdir(home / "debs")
        if os.geteuid() == 0:
            session.run("apt-get", "update", "-qq", external=True)
        session.run("apt-get", "download", *SERVER_DEBS, external=True)
        for package in sorted((home / "debs").glob("*.deb")):
            session.run("dpkg", "-x", str(package), str(home / "root"), external=True)
    session.chdir(ROOT / "tests")
    session.run("pytest", *WHERE, *(session.posargs or ["servers"]), env={"LANCE_ARROW_SERVERS": str(home)})


@nox.session
def crowd(session: nox.Session) -> None:
    """Write one table from 16 processes at once; `-- --processes 4 --steps 10` for fewer, `-- --at azure` elsewhere."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *SERVER_REQUIREMENTS)
    home = _node_servers(session)
    session.run("python", "tests/differential/crowd.py", *session.posargs, env={"LANCE_ARROW_SERVERS": str(home)})


@nox.session
def engines(session: nox.Session) -> None:
    """Test Ray, Hugging Face datasets, PyTorch and DuckDB's extension `lance`, and run pages of the documentation."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *ENGINE_REQUIREMENTS, *NAMED_REQUIREMENTS)
    session.install(*DUCKDB_EXTENSIONS)
    session.chdir(ROOT / "tests")
    pages = [f"docs/test_examples.py::test_python_runs[{page}]" for page in ENGINE_PAGES]
    chosen = session.posargs or ["engines", "docs/test_names.py", *pages]
    session.run("pytest", *WHERE, *chosen, env={"LANCE_ARROW_ENGINES": "1"})
