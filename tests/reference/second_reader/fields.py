"""Bound layouts of one class as those of another one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from lance_arrow.spi.scratch import Scratch

T = TypeVar("T")
SCRATCH = Scratch(1 << 20)


def copied(layout: Any, into: type[T]) -> T:
    """Return an object of a class, with the fields that it is made of taken from another one."""
    own = [field.name for field in fields(into) if field.init]  # type: ignore[arg-type]
    return into(**{name: getattr(layout, name) for name in own})
