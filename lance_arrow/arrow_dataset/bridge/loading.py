"""Loads the native bridge: pyarrow first, then the build for its version. It closes at exit; results use its pools."""

from __future__ import annotations

import atexit
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.dataset

from lance_arrow.arrow_dataset.bridge.builds import installed_build
from lance_arrow.engine import use_pools
from lance_arrow.io.sized_open import use_sized_open
from lance_arrow.libarrow.builds import load

__all__ = ["bridge"]

# Longer than any callback should take to notice; the process then ends without them.
_EXIT_TIMEOUT_SECONDS = 30.0


def _load() -> ModuleType:
    module = load("lance_arrow.arrow_dataset.bridge._bridge", installed_build(pyarrow.__version__))
    atexit.register(module.close_exit_gate, _EXIT_TIMEOUT_SECONDS)
    use_pools(module.allocator_of)
    use_sized_open(module.open_sized)
    return module


if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.bridge import _bridge as bridge
else:
    bridge = _load()
