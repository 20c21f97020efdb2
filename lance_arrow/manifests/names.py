"""Names of manifests: from version to name and back, for both schemes and detached versions.

1.manifest, 12.manifest              V1, the plain number
18446744073709551603.manifest        V2, counted down from 2^64 - 1 in 20 digits, so that the newest sorts first
d9223372036854775809.manifest        detached: bit 63 is set; not part of the line of history
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

SUFFIX = ".manifest"
_LARGEST = (1 << 64) - 1
_DETACHED_BIT = 1 << 63
_V2_DIGITS = 20


class NamingScheme(enum.Enum):
    """Form of a version in the name of its manifest."""

    V1 = "V1"
    V2 = "V2"
    DETACHED = "detached"


@dataclass(frozen=True, slots=True)
class ManifestName:
    """A parsed name.

    Parameters
    ----------
    version
        The version number, the same in both schemes.
    scheme
        Scheme of the name.
    """

    version: int
    scheme: NamingScheme

    def __str__(self) -> str:
        if self.scheme is NamingScheme.V2:
            return f"{_LARGEST - self.version:0{_V2_DIGITS}}{SUFFIX}"
        return f"{'d' if self.scheme is NamingScheme.DETACHED else ''}{self.version}{SUFFIX}"


def parse_name(name: str) -> ManifestName | None:
    """Parse a name in ``_versions``; None for files that are not manifests (staging files, hints)."""
    stem = name.removesuffix(SUFFIX)
    if stem == name or not stem.isascii():
        return None
    is_detached = stem.startswith("d")
    digits = stem[1:] if is_detached else stem
    if not digits.isdecimal() or int(digits) > _LARGEST:
        return None
    number = int(digits)
    if is_detached:
        return ManifestName(number, NamingScheme.DETACHED) if number & _DETACHED_BIT else None
    if len(digits) == _V2_DIGITS:
        return ManifestName(_LARGEST - number, NamingScheme.V2)
    return ManifestName(number, NamingScheme.V1)


def names_of(version: int) -> tuple[ManifestName, ...]:
    """Return the possible names of the manifest of a version, the most probable first."""
    if version & _DETACHED_BIT:
        return (ManifestName(version, NamingScheme.DETACHED),)
    return ManifestName(version, NamingScheme.V2), ManifestName(version, NamingScheme.V1)
