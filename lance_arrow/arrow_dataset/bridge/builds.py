"""The builds of the native bridge that are installed, and the one for a pyarrow; nothing is loaded, pyarrow neither."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from lance_arrow.arrow_dataset import bridge as _package


def installed_build(version: str) -> Path:
    """Return the installed build for a pyarrow; version and errors are those of `choose_build`."""
    # An editable install has two folders: of sources, and of what was built.
    return choose_build(built_releases(_package.__path__), version)


def built_releases(folders: Iterable[str]) -> dict[tuple[int, int], Path]:
    """Return the builds in folders that this Python can load, by the pyarrow ``(major, minor)`` that each is for."""
    found = {}
    for path in (path for folder in folders for path in sorted(Path(folder).glob("_bridge_*"))):
        release, dot, suffix = path.name.removeprefix("_bridge_").partition(".")
        if dot + suffix in EXTENSION_SUFFIXES and release.isdecimal():
            found[divmod(int(release), 100)] = path
    return found


def choose_build(builds: dict[tuple[int, int], Path], version: str) -> Path:
    """Return the build for a pyarrow.

    Parameters
    ----------
    builds
        As `built_releases` returns them.
    version
        `pyarrow.__version__`.

    Raises
    ------
    ImportError
        There is none, in one sentence: Arrow's C++ libraries change their ABI with each release ``X.Y``.
    """
    if not builds:
        raise ImportError("lance_arrow was installed without its bridge to pyarrow.dataset: reinstall it")
    numbers = re.match(r"(\d+)\.(\d+)", version)
    release = (int(numbers[1]), int(numbers[2])) if numbers else None
    if release not in builds:
        names = ", ".join(f"{major}.{minor}" for major, minor in sorted(builds))
        newest = ".".join(map(str, max(builds)))
        raise ImportError(
            f"lance_arrow's bridge to pyarrow.dataset was built for pyarrow {names}, found {version}: "
            f"pip install 'pyarrow=={newest}.*', or reinstall lance_arrow from its sources beside this pyarrow"
        )
    return builds[release]
