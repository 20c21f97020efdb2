"""Checksums for files without checksums: a record in a place that no reader of the format reads.

    section of a manifest    u32 size | message | record
    manifest                 record | sections | record | u32 size | message | footer
    deletion file, bitmap    bitmap | record
    deletion file, Arrow     messages | record | footer | i32 size | "ARROW1"

A record is a mark and the CRC32C of the bytes before or after it. The CRC of a deletion file also covers its name. It
detects damage, but does not authenticate the writer. Files without a record are not checked: the reference writes none.

Damage to a mark must not hide damage beside it. So a manifest has its record twice. Each section of a manifest with a
record must have one. A deletion file without a record must have no bytes in its place.
"""

from __future__ import annotations

import struct

import numpy as np

from lance_arrow.errors import CorruptManifestError
from lance_arrow.kernels import crc32c

SECTION, MANIFEST, DELETIONS = b"LAcrcSec", b"LAcrcMan", b"LAcrcDel"
"""Marks: a section's record may be followed by a manifest without one."""
RECORD = struct.Struct("<I4x8s")
"""A multiple of 8 bytes, so that the bytes behind it keep their alignment."""


def seal(mark: bytes, *parts: bytes) -> bytes:
    """Return the record of the joined bytes."""
    return RECORD.pack(_crc(parts), mark)


def check_seal(mark: bytes, record: bytes, what: str, *parts: bytes) -> bool:
    """Compare bytes with their record, if there is one; returns whether there is one.

    Parameters
    ----------
    mark
        Mark of the record.
    record
        Bytes at the place of the record.
    what
        Kind of the bytes, for the message.
    parts
        The bytes that the record covers.

    Raises
    ------
    CorruptManifestError
        The bytes do not match the record.
    """
    if len(record) != RECORD.size:
        return False
    crc, found = RECORD.unpack(record)
    if found != mark:
        return False
    if crc != _crc(parts):
        raise CorruptManifestError(f"{what} does not match its checksum")
    return True


def arrow_footer(data: bytes) -> int | None:
    """Return the start of the footer of an Arrow file; None if its size is impossible."""
    stop = len(data) - 10
    if stop < 0:
        return None
    start = stop - int(struct.unpack_from("<i", data, stop)[0])
    return start if 0 <= start <= stop else None


def _crc(parts: tuple[bytes, ...]) -> int:
    crc = 0
    for part in parts:
        if part:
            crc = crc32c(np.frombuffer(part, np.uint8), crc)
    return crc
