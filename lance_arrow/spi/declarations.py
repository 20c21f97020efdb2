"""Declared keys: encodings of a plugin in its metadata, so that the plugin is imported when a key is needed.

A distribution declares keys in the entry-point group `lance_arrow.keys`, as ``key = module``. The module is one of its
plugins. A declaration binds: the plugin provides exactly these keys, and implements no other kind of hook.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable

from lance_arrow.spi.hookspecs import PROVIDE_HOOKS
from lance_arrow.spi.keys import (
    ARRAY,
    COLUMN_ENCODING,
    COMPRESSION_SCHEME,
    COMPRESSIVE,
    LEGACY,
    PAGE_MESSAGES,
    PRIVATE_CODEC,
    EncodingKey,
)

GROUP = "lance_arrow"
"""Entry points of this group are plugins: ``name = module``."""
KEYS_GROUP = "lance_arrow.keys"
"""Entry points of this group declare the keys of plugins of the same distribution: ``key = module``."""

_HOOKS = {
    COMPRESSIVE: "lance_provide_codecs",
    PRIVATE_CODEC: "lance_provide_codecs",
    **dict.fromkeys(PAGE_MESSAGES, "lance_provide_layouts"),
    ARRAY: "lance_provide_arrays",
    LEGACY: "lance_provide_arrays",
    COMPRESSION_SCHEME: "lance_provide_buffer_schemes",
    COLUMN_ENCODING: "lance_provide_column_encodings",
}
# These messages also describe whole pages; their oneof is that of arrays.
_PAGES_OF_ARRAYS = (EncodingKey(ARRAY), EncodingKey(LEGACY))


def may_provide(hook: str, declared: Iterable[EncodingKey]) -> bool:
    """Return whether a plugin may have what a hook provides, by its declared keys; it is not imported for that.

    Keys of the format belong to one hook each. Those of other messages may belong to any.
    """
    pages = "lance_provide_layouts"
    return any([(pages if key in _PAGES_OF_ARRAYS else _HOOKS.get(key.message, hook)) == hook for key in declared])


class Declarations:
    """Declared keys of the distributions that have plugins; each distribution is read once."""

    def __init__(self) -> None:
        # By identity: entry points found together share the object. It is kept, so that its id is not used again.
        self._known: dict[int, tuple[importlib.metadata.Distribution, dict[str, set[EncodingKey]]]] = {}
        self._strays: list[importlib.metadata.EntryPoint] = []

    def of(self, point: importlib.metadata.EntryPoint) -> frozenset[EncodingKey]:
        """Return the keys that the distribution of an entry point declares for its module; empty without metadata."""
        if point.dist is None:
            return frozenset()
        known = self._known.get(id(point.dist))
        if known is None:
            known = self._known[id(point.dist)] = (point.dist, self._read(point.dist))
        return frozenset(known[1].get(point.value, ()))

    def strays(self) -> Iterable[importlib.metadata.EntryPoint]:
        """Declarations for modules that are not plugins of their distribution."""
        return tuple(self._strays)

    def _read(self, distribution: importlib.metadata.Distribution) -> dict[str, set[EncodingKey]]:
        points = distribution.entry_points
        modules = {point.value for point in points if point.group == GROUP}
        declared: dict[str, set[EncodingKey]] = {}
        for point in points:
            if point.group == KEYS_GROUP:
                if point.value in modules:
                    declared.setdefault(point.value, set()).add(EncodingKey.parse(point.name))
                else:
                    self._strays.append(point)
        return declared


def wrong_hooks(hooks: Iterable[str]) -> str | None:
    """Describe hooks that would be called before a plugin with declared keys is imported; None without such hooks."""
    others = sorted(set(hooks) - set(PROVIDE_HOOKS))
    if not others:
        return None
    return (
        f"declares its keys and implements {', '.join(others)}; a plugin that is imported when a key is needed may "
        f"provide only encodings. Remove its keys from the group {KEYS_GROUP!r}, or move the hook to another module"
    )


def wrong_keys(declared: frozenset[EncodingKey], provided: Iterable[object]) -> str | None:
    """Describe how provided keys differ from declared ones; None if equal. A factory without a key counts as None."""
    provided = tuple(provided)
    if set(provided) == declared:
        return None
    shown = ", ".join(sorted(str(key) for key in provided)) or "nothing"
    expected = ", ".join(sorted(map(str, declared)))
    return f"provides {shown}; the group {KEYS_GROUP!r} of its distribution declares {expected}: both must be the same"
