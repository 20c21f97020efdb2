"""Loads the native bridge: pyarrow first, then the build for its version. It closes at exit; results use its pools."""

from __future__ import annotations

import atexit
import importlib.util
import sys
from importlib.machinery import ExtensionFileLoader
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.dataset

from lance_arrow.arrow_dataset.bridge.builds import installed_build
from lance_arrow.engine import use_pools
from lance_arrow.io.sized_open import use_sized_open

__all__ = ["bridge"]

# Longer than any callback should take to notice; the process then ends without them.
_EXIT_TIMEOUT_SECONDS = 30.0
# One name for all builds, as Cython compiled it into each.
_MODULE = "lance_arrow.arrow_dataset.bridge._bridge"


def _load() -> ModuleType:
    path = installed_build(pyarrow.__version__)
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
    use_pools(module.allocator_of)
    use_sized_open(module.open_sized)
    return module


if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.bridge import _bridge as bridge
else:
    bridge = _load()
