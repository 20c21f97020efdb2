"""The shell of a new user: the checkout's folder, and variables that leave Python's imports alone."""

from __future__ import annotations

import os
from pathlib import Path

CHECKOUT = Path(__file__).parents[2]
# What a shell may hold that changes where Python imports from.
_IMPORT_VARIABLES = ("PYTHONPATH", "PYTHONSAFEPATH", "PYTHONSTARTUP")


def environment() -> dict[str, str]:
    """Variables of a shell in which nothing tells Python where to import from."""
    return {name: value for name, value in os.environ.items() if name not in _IMPORT_VARIABLES}
