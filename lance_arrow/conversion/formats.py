"""Formats of files, recognised by their first and last bytes, then by their name."""

from __future__ import annotations

import posixpath
from typing import Literal

import pyarrow as pa

Format = Literal["parquet", "ipc", "ipc_stream", "orc", "csv", "json", "lance", "table"]
"""What an input is; a table is a folder, all others are files."""

ExportFormat = Literal["parquet", "csv", "ipc"]

LANCE_ENDING = ".lance"
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_ENDINGS: dict[str, Format] = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "ipc",
    ".feather": "ipc",
    ".ipc": "ipc",
    ".arrows": "ipc_stream",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_FOREIGN_ENDINGS = frozenset({*_ENDINGS, ".avro", ".xlsx", ".txt", ".db", ".duckdb", ".sqlite", ".zip", ".tar"})
_STREAM_START = b"\xff\xff\xff\xff"
HEAD_BYTES = 8
TAIL_BYTES = 4


def format_of_bytes(head: bytes, tail: bytes) -> Format | None:
    """Tell a format from the first 8 and the last 4 bytes of a file; None where they say nothing."""
    if tail == b"LANC":
        return "lance"
    if head[:4] in (b"PAR1", b"PARE") and tail == head[:4]:
        return "parquet"
    if head[:6] == b"ARROW1":
        return "ipc"
    if head[:3] == b"ORC":
        return "orc"
    if head[:4] == _STREAM_START:
        return "ipc_stream"
    return None


def format_of_name(name: str) -> Format | None:
    """Tell a format from the name of a file, also with an ending for compression; None where it says nothing."""
    stem, ending = _split(name)
    if ending in _COMPRESSIONS:
        ending = _split(stem)[1]
        found = _ENDINGS.get(ending)
        return found if found in ("csv", "json") else None
    return "lance" if ending == LANCE_ENDING else _ENDINGS.get(ending)


def compression_of_name(name: str) -> str | None:
    """Return the compression that the ending of a name says, as `pyarrow.CompressedInputStream` calls it."""
    return _COMPRESSIONS.get(_split(name)[1])


def delimiter_of_name(name: str) -> str:
    """Return the delimiter of a text table by its name: a tabulator for ``.tsv``, else a comma."""
    stem, ending = _split(name)
    if ending in _COMPRESSIONS:
        ending = _split(stem)[1]
    return "\t" if ending == ".tsv" else ","


def foreign_ending(name: str) -> str | None:
    """Return the ending of a name that belongs to another format than Lance; None where there is none."""
    stem, ending = _split(name)
    if ending in _COMPRESSIONS:
        inner = _split(stem)[1]
        return f"{inner}{ending}" if inner in _FOREIGN_ENDINGS else ending
    return ending if ending in _FOREIGN_ENDINGS else None


def open_decompressed(file: pa.NativeFile, name: str) -> pa.NativeFile:
    """Return the file, or a stream of what it holds compressed where its name says so."""
    compression = compression_of_name(name)
    return file if compression is None else pa.CompressedInputStream(file, compression)


def _split(name: str) -> tuple[str, str]:
    stem, ending = posixpath.splitext(name.rstrip("/"))
    return stem, ending.lower()
