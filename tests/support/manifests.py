"""Manifests taken apart, changed, and put together again."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from lance_arrow.manifests.seals import MANIFEST, RECORD
from lance_arrow.proto.table_pb2 import Manifest

FOOTER = struct.Struct("<QHH4s")
SIZE = struct.Struct("<I")


def newest(table: Path) -> Path:
    """The manifest of the newest version of a table whose manifests count down."""
    return min((table / "_versions").glob("*.manifest"))


def message_of(path: Path) -> Manifest:
    """The message of a manifest's file."""
    content = path.read_bytes()
    position = FOOTER.unpack(content[-FOOTER.size :])[0]
    return Manifest.FromString(content[position + SIZE.size : -FOOTER.size])


def file_of(message: Manifest, before: bytes = b"") -> bytes:
    """The file of a message, sections in front of it."""
    # Checksums of the message as it was.
    before = before[: -RECORD.size] if before.endswith(MANIFEST) else before
    before = bytes(RECORD.size) + before[RECORD.size :] if before[: RECORD.size].endswith(MANIFEST) else before
    body = message.SerializeToString()
    return before + SIZE.pack(len(body)) + body + FOOTER.pack(len(before), 0, 2, b"LANC")


def change(table: Path, edit: Callable[[Manifest], object]) -> None:
    """Rewrite the newest manifest of a table with another message; sections in front of it stay."""
    path = newest(table)
    content = path.read_bytes()
    position = FOOTER.unpack(content[-FOOTER.size :])[0]
    message = message_of(path)
    edit(message)
    path.write_bytes(file_of(message, content[:position]))
