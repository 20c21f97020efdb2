"""Everything a contributor runs: `nox -s tests` is what must pass; the rest is in `.ci/sessions`, by subject.

One wheel is built per state of the sources and installed into every session that needs the package.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).parent / ".ci"))
from sessions import benchmarks, faults, first_hour, native, peers, releasing, services, spark
from sessions.at_once import at_once
from sessions.common import ROOT, SPARK_EXTRAS, TEST_EXTRAS, TEST_REQUIREMENTS, WHERE, install

# Importing them declares their sessions.
__all__ = ["benchmarks", "faults", "first_hour", "native", "peers", "releasing", "services", "spark"]

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["tests"]

TYPED_ROOMS = ("spi", "pages", "io", "container", "manifests", "table", "scan", "pruning", "catalogs", "conversion")
CPP_FOLDERS = (ROOT / "lance_arrow", ROOT / "plugins", ROOT / "tests" / "native")
CPP_SUFFIXES = {".h", ".hpp", ".cpp"}
LINT_REQUIREMENTS = ["ruff==0.17.*", "mypy==2.4.*", "import-linter==2.16", "types-protobuf", "clang-format==20.1.*"]
# Newer generated code refuses the protobuf 6 runtime that test peers pull in.
PROTO_REQUIREMENTS = ["grpcio-tools==1.74.*"]
# What the site of the documentation is built and searched with.
DOCS_REQUIREMENTS = ["mkdocs-material==9.*", "mkdocstrings[python]>=1", "lunr>=0.8", "ruff==0.17.*"]


@nox.session
def tests(session: nox.Session) -> None:
    """Run the tests of every day, then the sessions of the README's command, lint, wire messages, documentation."""
    _run_tests(session, *session.posargs)
    if not session.posargs:
        # The longest first.
        at_once(session, ["first_command"], ["lint"], ["docs"], ["protos", "--", "--check"])


@nox.session
def whole(session: nox.Session) -> None:
    """Run every test: each cell of the matrices of which `tests` runs a share, and what takes long; `-- interop`."""
    _run_tests(session, "--whole", *session.posargs)


def _run_tests(session: nox.Session, *arguments: str) -> None:
    """Run pytest with the wheel of this source state, on several processors unless rooms or files are named."""
    install(session, SPARK_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "-m", "pip", "check", success_codes=[0, 1])
    workers = [] if session.posargs else ["-n", str(min(os.cpu_count() or 1, 4)), "--dist", "loadgroup"]
    session.chdir(ROOT / "tests")
    # Workers share the modules whose assertions they rewrite, as bytecode.
    session.run("pytest", *WHERE, *workers, *arguments, env={"PYTHONDONTWRITEBYTECODE": ""})


@nox.session
def lint(session: nox.Session) -> None:
    """Check format, style, types and the import contracts."""
    install(session, TEST_EXTRAS, *LINT_REQUIREMENTS)
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    written = [str(path) for folder in CPP_FOLDERS for path in sorted(folder.rglob("*")) if path.suffix in CPP_SUFFIXES]
    session.run("clang-format", "--dry-run", "--Werror", *written)
    session.run("mypy", "lance_arrow/errors.py", *(f"lance_arrow/{room}" for room in TYPED_ROOMS))
    session.run("lint-imports")
    session.run("python", "tests/docs/codec_folders.py")
    # As a user's own checker sees the public names: the installed package, without the settings of this project.
    with session.chdir(session.create_tmp()):
        user = ("--config-file=", "--strict", "--ignore-missing-imports")
        session.run("mypy", *user, str(ROOT / "tests" / "first_hour" / "typed_user.py"))


@nox.session
def protos(session: nox.Session) -> None:
    """Regenerate lance_arrow/proto from protos/; with --check, fail when the result differs."""
    session.install(*PROTO_REQUIREMENTS)
    session.run("python", "protos/generate.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site of the documentation into `.nox/site`, with strict links, and check what its searches find."""
    session.install(*DOCS_REQUIREMENTS)
    # Not of this project: a notice about another product of the theme's authors.
    session.env["NO_MKDOCS_2_WARNING"] = "1"
    site = ROOT / ".nox" / "site"
    session.run(
        "mkdocs", "build", "--strict", "--quiet", "--config-file", "docs/site/mkdocs.yml", "--site-dir", str(site)
    )
    session.run("python", "docs/site/check_searches.py", str(site))
