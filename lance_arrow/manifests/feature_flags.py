"""Feature flags of a manifest: unknown flags are rejected before any row is read."""

from __future__ import annotations

from lance_arrow.errors import CorruptManifestError, UnsupportedFeatureFlagError

DELETION_FILES = 1 << 0
STABLE_ROW_IDS = 1 << 1
# Meant that data files are 2.x; now each data file has its version.
_V2_FILES = 1 << 2
CONFIG = 1 << 3
BASE_PATHS = 1 << 4
NO_TRANSACTION_FILES = 1 << 5
# An index stores additional columns; readers without indices need not support it.
COVERING_INDEX = 1 << 7
# Each data file has its own version here, so mixed versions need no special code.
_MIXED_VERSIONS = 1 << 8

READABLE = (
    DELETION_FILES
    | STABLE_ROW_IDS
    | _V2_FILES
    | CONFIG
    | BASE_PATHS
    | NO_TRANSACTION_FILES
    | COVERING_INDEX
    | _MIXED_VERSIONS
)


def check_reader_flags(reader_flags: int, writer_flags: int) -> None:
    """Refuse feature flags that this release does not know.

    Parameters
    ----------
    reader_flags, writer_flags
        Source: Manifest.reader_feature_flags, Manifest.writer_feature_flags.

    Raises
    ------
    UnsupportedFeatureFlagError
        A flag that readers must support is unknown; ``detail`` holds the unknown flags.
    CorruptManifestError
        A flag for readers and writers is set for only one of them.
    """
    unknown = reader_flags & ~READABLE
    if unknown:
        raise UnsupportedFeatureFlagError(
            f"the table requires reader features {unknown:#x}, which this release does not know", detail=unknown
        )
    if (reader_flags ^ writer_flags) & _MIXED_VERSIONS:
        raise CorruptManifestError(
            f"the flag of mixed file versions ({_MIXED_VERSIONS}) is set for readers or for writers only",
            detail=(reader_flags, writer_flags),
        )
