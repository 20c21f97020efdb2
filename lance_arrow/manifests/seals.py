"""Checksums inside of files that have none: a record where no reader of the format looks.

    section of a manifest    u32 size | message | record
    manifest                 record | sections | record | u32 size | message | footer
    deletion file, bitmap    bitmap | record
    deletion file, Arrow     messages | record | footer | i32 size | "ARROW1"

A record is a CRC32C of what it stands behind or before, and a mark; a deletion file's CRC covers its name, too.
It finds damage; it does not tell who wrote a file. What has no record is not compared: the reference writes none.

Damage to a mark must not hide damage beside it. So a manifest has its record twice, each section of a manifest that has
a record must have one, and a deletion file without a record may have nothing in its place.
"""

from __future__ import annotations

import struct

import numpy as np

from lance_arrow.errors import CorruptManifestError
from lance_arrow.kernels import crc32c

SECTION, MANIFEST, DELETIONS = b"LAcrcSec", b"LAcrcMan", b"LAcrcDel"
"""Marks: a section's record may be followed by a manifest that has none."""
RECORD = struct.Struct("<I4x8s")
"""A multiple of 8 bytes: what comes behind keeps its alignment."""


def seal(mark: bytes, *parts: bytes) -> bytes:
    """Return the record of some bytes, joined."""
    return RECORD.pack(_crc(parts), mark)


def check_seal(mark: bytes, record: bytes, what: str, *parts: bytes) -> bool:
    """Compare bytes with their record; returns whether there is one.

    Parameters
    ----------
    mark
        Of what the record is.
    record
        Bytes from where a record may be.
    what
        For the message.
    parts
        What it was made of.

    Raises
    ------
    CorruptManifestError
        They do not match.
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
    """Return where the footer of an Arrow file begins; None where its size makes no sense."""
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
