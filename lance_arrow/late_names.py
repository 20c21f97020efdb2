"""Names and modules that are imported when they are first used, so that a light use stays light.

`late_names` is for the names of a package (PEP 562). A package lists them under ``if TYPE_CHECKING:`` too, for type
checkers; `tests/budget/test_late_names.py` compares the two lists. `late_module` is for a module that another one needs
in some of its functions only.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any


def late_names(
    package: str,
    names: Mapping[str, Iterable[str]],
    *,
    modules: Iterable[str] = (),
    moved: Mapping[str, Iterable[str]] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Make what a package's ``__init__`` needs for names that are imported when they are first used.

    Parameters
    ----------
    package
        ``__name__`` of the package.
    names
        Full name of a module, and which names of it belong to the package.
    modules
        Modules of the package that are names of it.
    moved
        Full name of a module of the package, and former names of the package that are its own now. They are found with
        a `DeprecationWarning`. The module is imported when it is first used as an attribute of the package.

    Returns
    -------
    tuple of ``__getattr__``, ``__dir__`` and ``__all__``
    """
    modules = frozenset(modules)
    homes = {name: module for module, found in names.items() for name in found}
    homes.update((name, f"{package}.{name}") for name in modules)
    areas = frozenset(moved or ())
    new_homes = {name: module for module, found in (moved or {}).items() for name in found}
    every = sorted(homes)
    held = sys.modules[package]
    if any(home == f"{package}.{name}" for name, home in homes.items() if name not in modules):
        held.__class__ = _package_with(frozenset(homes) - modules)

    def find(name: str) -> Any:
        home = homes.get(name)
        if name in new_homes:
            warnings.warn(f"{package}.{name} is now {new_homes[name]}.{name}", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(new_homes[name]), name)
        if f"{package}.{name}" in areas:
            return importlib.import_module(f"{package}.{name}")
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = importlib.import_module(home)
        value = module if name in modules else getattr(module, name)
        setattr(held, name, value)
        return value

    def listed() -> list[str]:
        return sorted({*vars(held), *every})

    return find, listed, every


def _package_with(names: frozenset[str]) -> type[ModuleType]:
    """Make the class of a package with names that modules of it have too, as the function `io.open_sink`.

    The import system would put an imported module in the place of the name.
    """

    class Package(ModuleType):
        def __setattr__(self, name: str, value: object) -> None:
            if not (name in names and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    return Package


class _LateModule(ModuleType):
    """Stand-in for a module; the first attribute that is asked for imports it."""

    def __getattr__(self, name: str) -> Any:
        module = importlib.import_module(self.__name__)
        value = getattr(module, name)
        # Later uses find the attribute here, as fast as in the module itself.
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return dir(importlib.import_module(self.__name__))


def late_module(name: str) -> Any:
    """Return a stand-in for a module that is imported when one of its attributes is first used.

    Parameters
    ----------
    name
        Full name of the module. What it holds must stay what it is: attributes are looked up once.

    Notes
    -----
    Type checkers see the module itself, which is imported under ``if TYPE_CHECKING:``::

        if TYPE_CHECKING:
            import pyarrow.compute as pc
        else:
            pc = late_module("pyarrow.compute")
    """
    return _LateModule(name)
