"""Writing manifests: from one version's message to the next one's, and to the bytes of a file.

Unknown data is never dropped. An unknown field of the manifest itself is rejected, since it may not be valid in the
next version. Unknown data inside a fragment is kept if the fragment does not change.
"""

from __future__ import annotations

import collections
import functools
import importlib.metadata
import struct
import time

import numpy as np

from lance_arrow.engine import split_manifest
from lance_arrow.errors import CorruptManifestError, UnsupportedError, UnsupportedFeatureFlagError
from lance_arrow.manifests.draft import FragmentDraft, ManifestDraft
from lance_arrow.manifests.feature_flags import (
    BASE_PATHS,
    CONFIG,
    COVERING_INDEX,
    DELETION_FILES,
    READABLE,
    STABLE_ROW_IDS,
)
from lance_arrow.manifests.fragments import fragment_ids, have_deletions
from lance_arrow.manifests.manifest import FOOTER, MAGIC, SECTION_HEAD, ManifestMeta
from lance_arrow.manifests.seals import MANIFEST, RECORD, SECTION, seal
from lance_arrow.proto.reading import iter_unknown, parse, unknown_numbers
from lance_arrow.proto.table_pb2 import DataFragment, Manifest

LIBRARY = "lance-arrow"
_FOOTER_NUMBERS = (0, 2)
_COMPUTED = DELETION_FILES | CONFIG | BASE_PATHS
_NANOSECONDS = 1_000_000_000


def editable(manifest: ManifestMeta) -> ManifestDraft:
    """Return a draft with the content of a version, from which the next one is made.

    Raises
    ------
    UnsupportedFeatureFlagError
        A flag for writers is unknown.
    UnsupportedError
        It has unknown fields, or its row counts are not reliable.
    CorruptManifestError
        Two fragments have one id.
    """
    path = manifest.facts.manifest_path
    unknown_flags = manifest.writer_flags & ~READABLE
    if unknown_flags:
        raise UnsupportedFeatureFlagError(
            f"the table requires writer features {unknown_flags:#x}, which this release does not know",
            path=path,
            detail=unknown_flags,
        )
    ids = fragment_ids(manifest.fragments)
    if (ids[1:] <= ids[:-1]).any() and len(np.unique(ids)) != len(ids):
        twice = collections.Counter(ids.tolist()).most_common(1)[0][0]
        raise CorruptManifestError(
            f"two fragments have the id {twice}: the table can be read, but not changed",
            path=path,
            detail=twice,
        )
    if manifest.writer is None:
        raise UnsupportedError(
            "the table was written by an early release with unreliable row counts: copy it to write",
            path=path,
        )
    body = manifest.message_bytes
    split = split_manifest(body)
    if split is None:
        raise CorruptManifestError("the manifest's fields cannot be parsed", path=path)
    rest, _, places = split
    head = parse(Manifest, rest, what="the manifest", error=CorruptManifestError)
    numbers = unknown_numbers(head)
    if numbers:
        raise UnsupportedError(
            f"the manifest has the unknown field {numbers[0]}, which may not be valid in another version",
            path=path,
            detail=numbers,
        )
    at = np.frombuffer(places, np.int64).reshape(-1, 2)
    return ManifestDraft(head, FragmentDraft(body, at, ids, have_deletions(manifest.fragments)))


def check_fragment_known(fragment: DataFragment, path: str) -> None:
    """Raise if a fragment to be changed has unknown data.

    Raises
    ------
    UnsupportedError
        It has unknown fields.
    """
    for holder, number in iter_unknown(fragment):
        where = f"{holder} of " if holder else ""
        raise UnsupportedError(
            f"{where}fragment {fragment.id} has the unknown field {number}, so that it cannot be changed",
            path=path,
            detail=number,
        )


def next_fragment_id(draft: ManifestDraft) -> int:
    """Return the first id that was never used for a fragment."""
    highest = int(draft.fragments.ids.max(initial=-1))
    # Early writers did not set the field, even with a fragment 0.
    return 1 + max(highest, draft.head.max_fragment_id if draft.head.HasField("max_fragment_id") else -1)


def finish(draft: ManifestDraft, version: int, transaction_file: str, *, has_indices: bool) -> None:
    """Set the fields that differ in every version: number, time, writer, flags.

    Parameters
    ----------
    draft
        Changed in place; its flags and time are those of the previous version.
    version
        Its number.
    transaction_file
        Name in ``_transactions``; empty for none.
    has_indices
        Whether its file holds an index section.
    """
    head = draft.head
    head.version = version
    head.transaction_file = transaction_file
    head.ClearField("writer_version")
    head.writer_version.library = LIBRARY
    head.writer_version.version = _own_version()
    _set_time(head)
    _set_flags(draft, has_indices=has_indices)


@functools.cache
def _own_version() -> str:
    return importlib.metadata.version(LIBRARY)


def _set_time(message: Manifest) -> None:
    """Set the time of the commit: now, but always later than the previous version, even if clocks differ."""
    before = message.timestamp.seconds * _NANOSECONDS + message.timestamp.nanos
    now = max(time.time_ns(), before + 1)
    message.timestamp.seconds, message.timestamp.nanos = divmod(now, _NANOSECONDS)


def _set_flags(draft: ManifestDraft, *, has_indices: bool) -> None:
    head = draft.head
    dropped = _COMPUTED if has_indices else _COMPUTED | COVERING_INDEX
    both = 0
    if draft.fragments.have_deletions:
        both |= DELETION_FILES
    if head.base_paths:
        both |= BASE_PATHS
    head.reader_feature_flags = head.reader_feature_flags & ~dropped | both
    head.writer_feature_flags = head.writer_feature_flags & ~dropped | both | (CONFIG if head.config else 0)


def set_stable_row_ids(draft: ManifestDraft) -> None:
    """Enable stable row ids for a new table."""
    draft.head.reader_feature_flags |= STABLE_ROW_IDS
    draft.head.writer_feature_flags |= STABLE_ROW_IDS


def has_stable_row_ids(draft: ManifestDraft) -> bool:
    """Return whether the table has stable row ids."""
    return bool(draft.head.reader_feature_flags & STABLE_ROW_IDS)


def manifest_bytes(draft: ManifestDraft, transaction: bytes, indices: bytes | None) -> bytes:
    """Return the file of a manifest.

    Parameters
    ----------
    draft
        The manifest; the positions of its sections are set.
    transaction
        A serialized Transaction.
    indices
        A serialized IndexSection; None for none.
    """
    # Space for the record, which is at both ends of the sections.
    message, sections = draft.head, bytearray(RECORD.size)
    for name, data in (("index_section", indices), ("transaction_section", transaction)):
        message.ClearField(name)
        if data is not None:
            setattr(message, name, len(sections))
            section = SECTION_HEAD.pack(len(data)) + data
            sections += section + seal(SECTION, section)
    # The position in an older file is not valid here.
    message.ClearField("transaction_section_deprecated")
    body = draft.body()
    try:
        head = SECTION_HEAD.pack(len(body))
    except struct.error as error:
        raise UnsupportedError(f"a manifest of {len(body):,} bytes cannot be stored: compact the table") from error
    footer = FOOTER.pack(len(sections) + RECORD.size, *_FOOTER_NUMBERS, MAGIC)
    sections[: RECORD.size] = record = seal(MANIFEST, head, body, footer)
    return b"".join((sections, record, head, body, footer))
