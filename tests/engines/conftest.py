"""Engines too large for every run: `nox -s engines` installs them; nothing here runs without it."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("LANCE_ARROW_ENGINES") else ["test_*.py"]
