"""Loads the native bridge: pyarrow first, then the build for its version, then that build's closing at exit."""

from __future__ import annotations

import atexit
import importlib.util
import re
import sys
from collections.abc import Iterable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.dataset

from lance_arrow.arrow_dataset import bridge as _package

__all__ = ["bridge", "built_releases", "choose_build"]

# Longer than any callback should take to notice; the process then ends without them.
_EXIT_TIMEOUT_SECONDS = 30.0
# One name for all builds, as Cython compiled it into each.
_MODULE = "lance_arrow.arrow_dataset.bridge._bridge"


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


def _load() -> ModuleType:
    # An editable install has two folders: of sources, and of what was built.
    path = choose_build(built_releases(_package.__path__), pyarrow.__version__)
    loader = ExtensionFileLoader(_MODULE, str(path))
    spec = importlib.util.spec_from_file_location(_MODULE, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} is no module that Python can load")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    try:
        loader.exec_module(module)
    except BaseException:
        del sys.modules[_MODULE]
        raise
    atexit.register(module.close_exit_gate, _EXIT_TIMEOUT_SECONDS)
    return module


if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.bridge import _bridge as bridge
else:
    bridge = _load()
