"""The builds of the native bridge that are installed, and the one for a pyarrow; nothing is loaded, pyarrow neither."""

from __future__ import annotations

from pathlib import Path

from lance_arrow.arrow_dataset import bridge as _package
from lance_arrow.libarrow.builds import built_releases, release_of


def installed_build(version: str) -> Path:
    """Return the installed build for a pyarrow; version and errors are those of `choose_build`."""
    return choose_build(built_releases(_package.__path__, "_bridge"), version)


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
    release = release_of(version)
    if release not in builds:
        names = ", ".join(f"{major}.{minor}" for major, minor in sorted(builds))
        newest = ".".join(map(str, max(builds)))
        raise ImportError(
            f"lance_arrow's bridge to pyarrow.dataset was built for pyarrow {names}, found {version}: "
            f"pip install 'pyarrow=={newest}.*', or reinstall lance_arrow from its sources beside this pyarrow"
        )
    return builds[release]
