"""Modules that are built once for each pyarrow X.Y, and lie side by side; pyarrow is not imported here."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from lance_arrow import libarrow as _package


def built_releases(folders: Iterable[str], name: str) -> dict[tuple[int, int], Path]:
    """Return the builds of a module that this Python can load, by the pyarrow ``(major, minor)`` that each is for.

    Parameters
    ----------
    folders
        Where they lie. An editable install has two folders: of sources, and of what was built.
    name
        Of the module: that for pyarrow 26.0 is called ``NAME_2600``.
    """
    found = {}
    for path in (path for folder in folders for path in sorted(Path(folder).glob(f"{name}_*"))):
        release, dot, suffix = path.name.removeprefix(f"{name}_").partition(".")
        if dot + suffix in EXTENSION_SUFFIXES and release.isdecimal():
            found[divmod(int(release), 100)] = path
    return found


def release_of(version: str) -> tuple[int, int] | None:
    """Return ``(major, minor)`` of `pyarrow.__version__`; None where it does not begin so."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return (int(numbers[1]), int(numbers[2])) if numbers else None


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


def load(name: str, path: Path) -> ModuleType:
    """Load a build under the name that is compiled into all builds of a module; one that fails is not kept."""
    loader = ExtensionFileLoader(name, str(path))
    spec = spec_from_file_location(name, path, loader=loader)
    if spec is None:
        raise ImportError(f"{path} is no module that Python can load")
    module = sys.modules[name] = module_from_spec(spec)
    with ExitStack() as failed:
        failed.callback(sys.modules.pop, name)
        loader.exec_module(module)
        failed.pop_all()
    return module


def arrow_functions(version: str) -> object | None:
    """Load the build of `functions.cpp` for a pyarrow, which has been imported: the build is linked to its libraries.

    Parameters
    ----------
    version
        `pyarrow.__version__`.

    Returns
    -------
    object or None
        The capsule ``lance_arrow.ArrowFunctions``; None where there is no such build.
    """
    release = release_of(version)
    path = None if release is None else built_releases(_package.__path__, "_libarrow").get(release)
    if path is None:
        return None
    functions: object = load("lance_arrow.libarrow._libarrow", path).functions
    return functions
