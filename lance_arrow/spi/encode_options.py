"""`EncodeOptions`: how one column is written, from presets, field metadata and options of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from lance_arrow.choices import Preset, names
from lance_arrow.errors import InvalidArgumentError, did_you_mean

PRESETS = names(Preset)
METADATA_PREFIX = "lance-encoding:"
_FAST_FACTOR = 1.1
_WISH_FACTOR = 2.0**-20
_PRIVATE_MARK = "."
"""Layouts outside the format have the name of their message, with its package. Layouts of the format are one word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodeOptions:
    """Options of one column; for None the encoders decide.

    Parameters
    ----------
    preset
        ``fast`` (scans and takes first), ``default``, ``compact`` (size first).
    codec
        Codec of the values: the name of its case (``fsst``, ``rle``) or the id of a private codec (``vendor.name/1``).
        ``general`` compresses by ``zstd`` unless `compression` is ``lz4``. ``dictionary`` always stores distinct values
        once.
    layout
        ``mini_block``, ``full_zip``, ``constant`` or, in 2.3 files, ``sparse``. Or the message of a layout outside the
        format (``vendor.name``). A page that it cannot hold raises an error.
    preferred_layout
        As `layout`, but as a preference: pages that it cannot hold get another layout. So do pages of a single repeated
        value, pages without values, and pages of a dictionary. Source: field metadata
        ``lance-encoding:structural-encoding``.
    compression, compression_level
        ``lz4``, ``zstd``, ``fsst`` or ``none``. Source: ``lance-encoding:compression[-level]``.
    rle_threshold
        0 forbids run lengths. Other values allow them if the number of runs is below this fraction of the number of
        values. Source: ``lance-encoding:rle-threshold``.
    bss
        ``off``, ``on`` or ``auto``. Source: ``lance-encoding:bss``.
    dict_divisor, dict_size_ratio
        When a dictionary is used. Source: ``lance-encoding:dict-divisor``, ``lance-encoding:dict-size-ratio``.
    dict_values_compression, dict_values_compression_level
        Compression of dictionary items. Source: ``lance-encoding:dict-values-compression[-level]``.
    minichunk_bytes
        Target size of variable-width chunks. Source: ``lance-encoding:minichunk-size``.
    zone_map
        Whether the column gets a zone map; for None, the writer's option decides.
    extra
        Options that only a private codec or layout knows, verbatim.
    """

    preset: Preset = "default"
    codec: str | None = None
    layout: str | None = None
    preferred_layout: str | None = None
    compression: str | None = None
    compression_level: int | None = None
    rle_threshold: float | None = None
    bss: str | None = None
    dict_divisor: int | None = None
    dict_size_ratio: float | None = None
    dict_values_compression: str | None = None
    dict_values_compression_level: int | None = None
    minichunk_bytes: int | None = None
    zone_map: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in allowed and not (name == "layout" and self.private_layout):
                offer = did_you_mean(value, allowed)
                raise InvalidArgumentError(
                    f"{name} is {value!r}, expected one of {', '.join(allowed)}{offer}", detail=value
                )

    @property
    def private_layout(self) -> str | None:
        """The layout outside the format that the caller requested, as ``vendor.name``; None if there is none."""
        return self.layout if self.layout is not None and _PRIVATE_MARK in self.layout else None

    @property
    def stores_plainly(self) -> bool:
        """Whether values are stored without compression: the caller set ``compression="none"``."""
        return self.compression == "none"

    def layout_cost(self, name: str, num_bytes: float) -> float | None:
        """Return the score of a layout that costs `num_bytes` to read; None if the caller demands another layout."""
        if self.layout is not None:
            return num_bytes if self.layout == name else None
        return num_bytes * _WISH_FACTOR if self.preferred_layout == name else num_bytes

    def cost(self, num_bytes: float) -> float:
        """Return the score of `num_bytes` of encoded values; plain values win if they have nearly the same size."""
        return num_bytes * _FAST_FACTOR if self.preset == "fast" else num_bytes

    def with_metadata(self, metadata: Mapping[bytes, bytes] | None) -> EncodeOptions:
        """Return these options, updated by a field's ``lance-encoding:*`` metadata; other keys are ignored.

        Raises
        ------
        InvalidArgumentError
            A value is not valid for its key.
        """
        found = {}
        for raw, value in (metadata or {}).items():
            name = _NAMES_OF_KEYS.get(raw.decode(errors="replace").removeprefix(METADATA_PREFIX))
            if name is not None and raw.startswith(METADATA_PREFIX.encode()):
                found[name] = _converted(raw.decode(), name, value.decode(errors="replace"))
        return replace(self, **found) if found else self

    def with_words(self, words: Mapping[str, Any], *, column: str) -> EncodeOptions:
        """Return these options, updated by a caller's options for one column; names as the parameters above.

        Unknown names go to `extra` if a private codec or layout is named. Otherwise they raise `InvalidArgumentError`.
        """
        known = {name: _converted(name, name, value) for name, value in words.items() if name in _FIELDS}
        extra = {name: value for name, value in words.items() if name not in _FIELDS}
        found = replace(self, **known, extra={**self.extra, **extra})
        if extra and found.private_layout is None and (found.codec is None or "/" not in found.codec):
            name = min(extra)
            raise InvalidArgumentError(
                f"column option {name!r} is not known, expected {', '.join(sorted(_FIELDS))}"
                f"{did_you_mean(name, _FIELDS)}",
                column=column,
            )
        return found


def _number(convert: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        number = convert(value)
        if not low <= number <= high:
            raise ValueError(value)
        return number

    return read


def _layout(value: Any) -> str:
    if _PRIVATE_MARK in str(value):
        return str(value)
    return {"miniblock": "mini_block", "fullzip": "full_zip"}.get(str(value).lower(), str(value).lower())


_LAYOUTS = ("mini_block", "full_zip", "constant", "sparse")
_CHOICES = {
    "preset": PRESETS,
    "layout": _LAYOUTS,
    "preferred_layout": _LAYOUTS,
    "compression": ("lz4", "zstd", "fsst", "none"),
    "bss": ("off", "on", "auto"),
    "dict_values_compression": ("lz4", "zstd", "none"),
}
_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "layout": _layout,
    "preferred_layout": _layout,
    "compression": lambda value: str(value).lower(),
    "bss": lambda value: str(value).lower(),
    "dict_values_compression": lambda value: str(value).lower(),
    "compression_level": _number(int, -(1 << 31), (1 << 31) - 1),
    "dict_values_compression_level": _number(int, -(1 << 31), (1 << 31) - 1),
    "rle_threshold": _number(float, 0.0, 1.0),
    "dict_divisor": _number(int, 1, 1 << 62),
    "dict_size_ratio": _number(float, 0.0, 1.0),
    "minichunk_bytes": _number(int, 1, 1 << 31),
}
_NAMES_OF_KEYS = {
    "compression": "compression",
    "compression-level": "compression_level",
    "structural-encoding": "preferred_layout",
    "rle-threshold": "rle_threshold",
    "bss": "bss",
    "dict-divisor": "dict_divisor",
    "dict-size-ratio": "dict_size_ratio",
    "dict-values-compression": "dict_values_compression",
    "dict-values-compression-level": "dict_values_compression_level",
    "minichunk-size": "minichunk_bytes",
}
_FIELDS = frozenset(one.name for one in fields(EncodeOptions)) - {"extra"}


def _converted(source: str, name: str, value: Any) -> Any:
    convert = _CONVERTERS.get(name)
    if convert is None or value is None:
        return value
    try:
        return convert(value)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(f"{source} is {value!r}, which is not valid", detail=value) from error
