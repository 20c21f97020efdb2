"""Sends an import of a source tree without compiled modules on to the installed package.

Python in a checkout's own folder finds `lance_arrow/` there before the package that pip installed. That folder holds no
compiled modules unless the install is editable. `import lance_arrow` then returns the installed package, whole: no file
of the two is mixed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder

# One module that every build has.
_COMPILED = os.path.join("engine", "_engine")


def is_compiled(folders: Sequence[str]) -> bool:
    """Return whether one of a package's folders holds its compiled modules."""
    return any(
        os.path.exists(os.path.join(folder, _COMPILED + suffix)) for folder in folders for suffix in EXTENSION_SUFFIXES
    )


def hand_over(name: str, folders: Sequence[str]) -> None:
    """Make the installed package the one that is being imported.

    Parameters
    ----------
    name
        The package; an import of it is going on.
    folders
        Its `__path__`, without compiled modules.

    Raises
    ------
    ImportError
        None is installed.
    """
    spec = _installed(name)
    if spec is None or spec.loader is None:
        raise ImportError(
            f"{folders[-1]!r} is a source tree without compiled modules, and {name} is not installed for "
            f"{sys.executable!r}: run 'python -m pip install .' in {os.path.dirname(folders[-1])!r}"
        )
    # The import system hands out what `sys.modules` holds in the end.
    for loaded in [loaded for loaded in sys.modules if loaded.startswith(f"{name}.")]:
        del sys.modules[loaded]
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _installed(name: str) -> ModuleSpec | None:
    """Find the package with compiled modules, in the order of `sys.path`."""
    for entry in sys.path:
        spec = PathFinder.find_spec(name, [entry or os.getcwd()])
        if spec is not None and is_compiled(spec.submodule_search_locations or ()):
            return spec
    return None
