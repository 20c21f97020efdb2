"""Modules of this package, imported when a command needs them: a command starts without those of the others."""

from __future__ import annotations

import importlib
from typing import Any


def view(name: str) -> Any:
    """Import a module of `lance_arrow.cli` by its name."""
    return importlib.import_module(f"lance_arrow.cli.{name}")
