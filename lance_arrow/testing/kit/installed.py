"""Codecs and layouts of an installed distribution, and the shapes and contexts in which its codecs write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from lance_arrow.errors import InvalidArgumentError, PluginLoadError, UnsupportedError, did_you_mean
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import (
    PRIVATE_CODEC,
    BlockShape,
    DecodeContext,
    Encoded,
    EncodeOptions,
    EncodingKey,
    FixedWidth,
    LeafType,
    VariableWidth,
)
from lance_arrow.testing.round_trip import encode_scope
from lance_arrow.testing.samples import Sample, filled, make_sample

SHAPES: tuple[BlockShape, ...] = (*(FixedWidth(bits) for bits in (8, 16, 32, 64)), VariableWidth(32), VariableWidth(64))
FILE_VERSION = "2.3"
_GROUP = "lance_arrow"
_selected: list[Installed] = []


@dataclass(frozen=True, slots=True)
class Installed:
    """What a distribution provides.

    Parameters
    ----------
    name
        Name of the distribution.
    codecs, layouts
        Keys of its codecs with a writer, and of its layouts.
    """

    name: str
    codecs: tuple[EncodingKey, ...]
    layouts: tuple[EncodingKey, ...]


@cache
def runtime() -> Runtime:
    """Return a runtime with all installed plugins."""
    return Runtime(Settings.from_environment())


def select(name: str) -> Installed:
    """Choose the distribution that the kit tests, and return what it provides.

    Raises
    ------
    InvalidArgumentError
        It is not installed, or none of its plugins provides a codec with a writer or a layout.
    PluginLoadError
        One of its plugins cannot be imported.
    """
    found = installed(name)
    _selected[:] = [found]
    return found


def selected() -> Installed:
    """Return the distribution that `select` chose; one without anything before that."""
    return _selected[0] if _selected else Installed("", (), ())


def installed(name: str) -> Installed:
    """Return what a distribution provides; errors as for `select`."""
    normal = _normal(name)
    names = sorted({point.dist.name for point in metadata.entry_points(group=_GROUP) if point.dist is not None})
    if normal not in map(_normal, names):
        raise InvalidArgumentError(
            f"no installed distribution {name!r} has plugins of lance-arrow; distributions: {', '.join(names)}"
            f"{did_you_mean(name, names)}",
            detail=name,
        )
    loaded = runtime().plugins
    records = [record for record in loaded.records if _normal(record.distribution) == normal]
    for record in records:
        if record.error is not None:
            raise PluginLoadError(f"{record.name} of {name} cannot be imported: {record.error}") from record.error
    own = {record.name for record in records}

    def keys(hook: str, *methods: str) -> tuple[EncodingKey, ...]:
        provided = [factory for record, factory in loaded.provided(hook) if record.name in own]
        return tuple(factory.key for factory in provided if all(hasattr(factory, method) for method in methods))

    found = Installed(name, keys("lance_provide_codecs", "score", "encode"), keys("lance_provide_layouts", "encode"))
    if not found.codecs and not found.layouts:
        raise InvalidArgumentError(
            f"{name} provides no codec or layout that writes; its tests must encode by themselves"
        )
    return found


def is_private(key: EncodingKey) -> bool:
    """Return whether a codec is outside the format."""
    return key.message == PRIVATE_CODEC


def written(key: EncodingKey, sample: Sample, context: DecodeContext) -> Encoded | None:
    """Encode a sample by the writer of a codec; None if the codec does not take it or leaves it to others."""
    options = EncodeOptions(codec=key.case)
    scope = encode_scope(
        LeafType(sample.shape), file_version=FILE_VERSION, options=options, allow_private=is_private(key)
    )
    factory: Any = runtime().table.codec(key)
    block = filled(sample)
    if factory.score(block, context, scope) is None:
        return None
    try:
        return scope.encode_with(key, block, context)
    except UnsupportedError:
        return None


def is_own(key: EncodingKey, encoded: Encoded) -> bool:
    """Return whether a description is that of the codec, and not of another one to which it left the values."""
    description: Any = encoded.description
    case = description.WhichOneof("compression")
    return key.case == (description.private_codec.id if is_private(key) else case)


@cache
def cases(key: EncodingKey, chunk_values: int) -> frozenset[tuple[BlockShape, DecodeContext]]:
    """Return the shapes and contexts in which a codec writes one of a few samples itself."""
    writes = getattr(runtime().table.codec(key), "writes", {})
    found = set()
    for shape in SHAPES:
        for context in writes:
            samples = (make_sample(shape, name, chunk_values) for name in ("last short chunk", "all equal"))
            answers = (written(key, sample, context) for sample in samples)
            if any(one is not None and is_own(key, one) for one in answers):
                found.add((shape, context))
    return frozenset(found)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
