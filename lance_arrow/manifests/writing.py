"""Manifests as they are written: from one version's message to the next one's, and to a file's bytes.

What is not known is never dropped: an unknown field of the manifest itself is refused, since nobody can tell whether it
would still be true; what is unknown inside a fragment travels along as long as the fragment stays as it is.
"""

from __future__ import annotations

import collections
import importlib.metadata
import struct
import time

from lance_arrow.errors import CorruptManifestError, UnsupportedError, UnsupportedFeatureFlagError
from lance_arrow.manifests.feature_flags import (
    BASE_PATHS,
    CONFIG,
    COVERING_INDEX,
    DELETION_FILES,
    READABLE,
    STABLE_ROW_IDS,
)
from lance_arrow.manifests.manifest import FOOTER, MAGIC, SECTION_HEAD, ManifestMeta
from lance_arrow.manifests.seals import MANIFEST, RECORD, SECTION, seal
from lance_arrow.proto.reading import iter_unknown, parse, unknown_numbers
from lance_arrow.proto.table_pb2 import DataFragment, Manifest

LIBRARY = "lance-arrow"
_FOOTER_NUMBERS = (0, 2)
_COMPUTED = DELETION_FILES | CONFIG | BASE_PATHS
_NANOSECONDS = 1_000_000_000


def editable(manifest: ManifestMeta) -> Manifest:
    """Return the message of a version, for another one to be made of it.

    Raises
    ------
    UnsupportedFeatureFlagError
        A flag for writers is unknown.
    UnsupportedError
        It has fields that are not known here, or its counts of rows cannot be relied on.
    CorruptManifestError
        Two fragments have one id.
    """
    path = manifest.facts.manifest_path
    unknown_flags = manifest.writer_flags & ~READABLE
    if unknown_flags:
        raise UnsupportedFeatureFlagError(
            f"the table demands writer features {unknown_flags:#x} that are unknown here",
            path=path,
            detail=unknown_flags,
        )
    ids = [fragment.id for fragment in manifest.fragments]
    if len(set(ids)) != len(ids):
        twice = collections.Counter(ids).most_common(1)[0][0]
        raise CorruptManifestError(
            f"two fragments have the id {twice}: the table can be read, but nothing can be written on top of it",
            path=path,
            detail=twice,
        )
    if manifest.writer is None:
        raise UnsupportedError(
            "the table was written by an early release, whose counts of rows cannot be relied on: copy it to write",
            path=path,
        )
    message = parse(Manifest, manifest.message_bytes, what="the manifest", error=CorruptManifestError)
    numbers = unknown_numbers(message)
    if numbers:
        raise UnsupportedError(
            f"the manifest has the unknown field {numbers[0]}: what it says may not be true of another version",
            path=path,
            detail=numbers,
        )
    return message


def check_fragment_known(fragment: DataFragment, path: str) -> None:
    """Refuse to change a fragment of which something is unknown.

    Raises
    ------
    UnsupportedError
        It has fields that are not known here.
    """
    for holder, number in iter_unknown(fragment):
        where = f"{holder} of " if holder else ""
        raise UnsupportedError(
            f"{where}fragment {fragment.id} has the unknown field {number}, so that it cannot be changed",
            path=path,
            detail=number,
        )


def next_fragment_id(message: Manifest) -> int:
    """Return the first id that no fragment ever had."""
    highest = max((fragment.id for fragment in message.fragments), default=-1)
    # Early writers left the field unset while there was a fragment 0.
    return 1 + max(highest, message.max_fragment_id if message.HasField("max_fragment_id") else -1)


def finish(message: Manifest, version: int, transaction_file: str, *, has_indices: bool) -> None:
    """Fill in what every new version has of its own: number, time, writer, flags, order of fragments.

    Parameters
    ----------
    message
        Changed in place; its flags and time are those of the version before.
    version
        Its number.
    transaction_file
        Name in ``_transactions``; empty for none.
    has_indices
        Whether its file holds an index section.
    """
    ordered = sorted(message.fragments, key=lambda fragment: fragment.id)
    if [fragment.id for fragment in ordered] != [fragment.id for fragment in message.fragments]:
        kept = [DataFragment.FromString(fragment.SerializeToString()) for fragment in ordered]
        del message.fragments[:]
        message.fragments.extend(kept)
    message.version = version
    message.transaction_file = transaction_file
    message.ClearField("writer_version")
    message.writer_version.library = LIBRARY
    message.writer_version.version = importlib.metadata.version(LIBRARY)
    _set_time(message)
    _set_flags(message, has_indices=has_indices)


def _set_time(message: Manifest) -> None:
    """Set the time of the commit: now, but after that of the version before, whatever its writer's clock said."""
    before = message.timestamp.seconds * _NANOSECONDS + message.timestamp.nanos
    now = max(time.time_ns(), before + 1)
    message.timestamp.seconds, message.timestamp.nanos = divmod(now, _NANOSECONDS)


def _set_flags(message: Manifest, *, has_indices: bool) -> None:
    dropped = _COMPUTED if has_indices else _COMPUTED | COVERING_INDEX
    both = 0
    if any(fragment.HasField("deletion_file") for fragment in message.fragments):
        both |= DELETION_FILES
    if message.base_paths:
        both |= BASE_PATHS
    message.reader_feature_flags = message.reader_feature_flags & ~dropped | both
    message.writer_feature_flags = message.writer_feature_flags & ~dropped | both | (CONFIG if message.config else 0)


def set_stable_row_ids(message: Manifest) -> None:
    """Make a new table one of stable row ids."""
    message.reader_feature_flags |= STABLE_ROW_IDS
    message.writer_feature_flags |= STABLE_ROW_IDS


def has_stable_row_ids(message: Manifest) -> bool:
    """Whether fragments have row ids of their own."""
    return bool(message.reader_feature_flags & STABLE_ROW_IDS)


def manifest_bytes(message: Manifest, transaction: bytes, indices: bytes | None) -> bytes:
    """Return the file of a manifest.

    Parameters
    ----------
    message
        The manifest; the positions of its sections are filled in.
    transaction
        A serialized Transaction.
    indices
        A serialized IndexSection; None for none.
    """
    # Room for the record, which is at both ends of the sections.
    sections = bytearray(RECORD.size)
    for name, data in (("index_section", indices), ("transaction_section", transaction)):
        message.ClearField(name)
        if data is not None:
            setattr(message, name, len(sections))
            section = SECTION_HEAD.pack(len(data)) + data
            sections += section + seal(SECTION, section)
    # An older writer's position is of an older file.
    message.ClearField("transaction_section_deprecated")
    body = message.SerializeToString(deterministic=True)
    try:
        head = SECTION_HEAD.pack(len(body))
    except struct.error as error:
        raise UnsupportedError(f"a manifest of {len(body):,} bytes cannot be stored: compact the table") from error
    footer = FOOTER.pack(len(sections) + RECORD.size, *_FOOTER_NUMBERS, MAGIC)
    sections[: RECORD.size] = record = seal(MANIFEST, head, body, footer)
    return b"".join((sections, record, head, body, footer))
