"""Loads the native bridge: pyarrow first, then the version check, then the module, then its closing at exit."""

from __future__ import annotations

import atexit
import importlib
from types import ModuleType
from typing import TYPE_CHECKING

import pyarrow
import pyarrow.dataset

__all__ = ["bridge", "check_pyarrow"]

# Longer than any callback should take to notice; the process then ends without them.
_EXIT_TIMEOUT_SECONDS = 30.0


def check_pyarrow(build_version: str, found_version: str) -> None:
    """Raise `ImportError`, in one sentence, unless both versions are of one release ``X.Y``."""
    if build_version.split(".")[:2] != found_version.split(".")[:2]:
        release = ".".join(build_version.split(".")[:2])
        raise ImportError(
            f"lance_arrow's bridge to pyarrow.dataset was built for pyarrow {release}, found {found_version}: "
            f"pip install 'pyarrow=={release}.*', or reinstall lance_arrow beside this pyarrow"
        )


def _load() -> ModuleType:
    try:
        build = importlib.import_module("lance_arrow.arrow_dataset.bridge._bridge_build")
    except ModuleNotFoundError as error:
        raise ImportError("lance_arrow was installed without its bridge to pyarrow.dataset: reinstall it") from error
    check_pyarrow(build.BUILD_VERSION, pyarrow.__version__)
    module = importlib.import_module("lance_arrow.arrow_dataset.bridge._bridge")
    atexit.register(module.close_exit_gate, _EXIT_TIMEOUT_SECONDS)
    return module


if TYPE_CHECKING:
    from lance_arrow.arrow_dataset.bridge import _bridge as bridge
else:
    bridge = _load()
