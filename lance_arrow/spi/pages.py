"""Deprecated: the toolkit for authors of layouts is `lance_arrow.pages`."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    # By name: `pages` is above `spi`, which must not import it.
    found = getattr(importlib.import_module("lance_arrow.pages"), name)
    warnings.warn("lance_arrow.spi.pages is now lance_arrow.pages", DeprecationWarning, stacklevel=2)
    return found
