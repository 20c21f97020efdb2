"""What sessions share: one wheel, built once per state of the sources, and what tests need beside it."""

from __future__ import annotations

import hashlib
import re
import shutil
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox

ROOT = Path(__file__).parents[2]
WHERE = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT)]
SOURCES = ["pyproject.toml", "README.md", "LICENSE", "lance_arrow", "plugins"]
TEST_REQUIREMENTS = [
    "aiohttp>=3.9",
    "cloudpickle>=3",
    "grpcio-status>=1.67",
    "hypothesis>=6.100",
    "obstore>=0.12",
    "pandas>=2.2",
    "psutil>=5.9",
    "pylance==14.0.2",
    # pytest-xdist 3.8 gives groups of tests to any worker under 9.2.
    "pytest>=8,<9.2",
    "pytest-timeout>=2.3",
    "pytest-xdist>=3.6",
    # Builds the project of a plugin without isolation; older ones need `wheel`.
    "setuptools>=70.1",
]
TEST_EXTRAS = "cli,dask,datafusion,duckdb,polars,sql"
# What users get by `[all]`. 490 MB of jars: only for what starts a JVM; tests that need one are skipped without Java.
SPARK_EXTRAS = "all"
# Filesystems, and the servers that are Python packages.
SERVER_REQUIREMENTS = [
    "adlfs",
    "cheroot",
    "gcp-storage-emulator",
    "gcsfs",
    "moto[server]>=5",
    "paramiko",
    "pyftpdlib",
    "s3fs",
    "webdav4",
    "wsgidav",
]
# Extensions of DuckDB, and the release of it that they are made for.
DUCKDB_EXTENSIONS = [
    f"{name}==1.5.5" for name in ("duckdb", "duckdb-extensions", "duckdb-extension-lance", "duckdb-extension-vortex")
]


def _source_digest() -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        path = ROOT / name
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in files:
            if "__pycache__" in file.parts or file.suffix == ".pyc":
                continue
            digest.update(str(file.relative_to(ROOT)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _built(sanitizers: str, pyarrow: int | None) -> Path:
    """Return the folder that holds, or will hold, the wheel of this source state and kind."""
    # Not `.nox/wheels`, which nox empties before the session of that name.
    kind = _kind(sanitizers, pyarrow)
    return ROOT / ".nox" / f"built{kind and '-'}{kind}" / _source_digest()


def _kind(sanitizers: str, pyarrow: int | None) -> str:
    return sanitizers.replace(",", "-") or (f"pyarrow-{pyarrow}" if pyarrow else "")


def _build(session: nox.Session, folder: Path, sanitizers: str, pyarrow: int | None) -> None:
    """Build the wheel in isolation.

    With sanitizers where named; with a bridge for one older release of pyarrow where that is named.
    """
    shutil.rmtree(folder.parent, ignore_errors=True)
    # CMake remembers its options in the build folder.
    kind = _kind(sanitizers, pyarrow)
    own = [f"-Cbuild-dir=build/{kind}"] if kind else []
    if sanitizers:
        own.append(f"-Ccmake.define.LANCE_ARROW_SANITIZE={sanitizers}")
    if pyarrow:
        pyarrows = session.create_tmp()
        session.run("python", ".ci/pyarrows.py", pyarrows, str(pyarrow))
        own.append(f"-Ccmake.define.LANCE_ARROW_PYARROWS={pyarrows}")
    session.run("python", "-m", "pip", "wheel", "--no-deps", *own, "--wheel-dir", str(folder), str(ROOT))


def _dependencies(extras: str) -> list[str]:
    """Return what `pyproject.toml` says that the package needs with these extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = list(project["dependencies"])
    for extra in extras.split(","):
        for requirement in project["optional-dependencies"][extra]:
            own = re.fullmatch(r"lance-arrow\[(.+)\]", requirement)
            found += _dependencies(own[1]) if own else [requirement]
    return found


def install(
    session: nox.Session, extras: str, *requirements: str, sanitizers: str = "", pyarrow: int | None = None
) -> None:
    """Install the wheel with extras and what else a session needs.

    While a wheel is built, everything else is installed: one waits for processors, the other for network and disk.
    """
    folder = _built(sanitizers, pyarrow)
    if not any(folder.glob("*.whl")):
        with ThreadPoolExecutor(1) as beside:
            others = beside.submit(session.install, *_dependencies(extras), *requirements)
            _build(session, folder, sanitizers, pyarrow)
        others.result()
    [wheel] = folder.glob("*.whl")
    session.install(f"lance-arrow[{extras}] @ {wheel.as_uri()}", *requirements)
