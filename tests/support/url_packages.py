"""Which packages URLs of stores find installed, and whether obstore opens a URL then."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest

from lance_arrow.io import obstore_urls

_find_spec = importlib.util.find_spec


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Have exactly these packages installed, as far as URLs are concerned."""

    def find(name: str) -> Any:
        return _find_spec("json") if name in names else None

    monkeypatch.setattr(obstore_urls, "find_spec", find)


def opens(url: str, options: dict[str, Any]) -> bool:
    """Return whether obstore opens a URL."""
    return obstore_urls.open_url(url, options) is not None
