"""Reports and values as JSON can hold them."""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Turn a report into what JSON can hold."""
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        # A lone surrogate (a file name that is no UTF-8) has no place in JSON.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if dataclasses.is_dataclass(value):
        return {field.name: _plain_field(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(held) for key, held in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(held) for held in value]
    return plain(str(value))


def _plain_field(name: str, value: Any) -> Any:
    if name == "children" and isinstance(value, tuple):
        # Of a tree of encodings: pairs of role and node.
        return [{"role": role, **plain(child)} for role, child in value]
    return plain(value)
