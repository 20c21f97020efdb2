"""`foreign_kind`: recognises other file formats by their last bytes."""

from __future__ import annotations

from lance_arrow.io import Bytes

TEXT = "text"
"""Name for text that is neither CSV nor JSON."""
_LONGEST_TEXT_BYTES = 4 << 10
_STREAM_END = b"\xff\xff\xff\xff\0\0\0\0"
_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f")


def foreign_kind(tail: Bytes, file_size: int) -> str | None:
    """Return the name of the file's format, such as "a Parquet file"; None if its end is unknown.

    Parameters
    ----------
    tail
        Last bytes of the file; all bytes of a small one.
    file_size
        Bytes of the whole file.
    """
    end = tail[-_LONGEST_TEXT_BYTES:].tobytes()
    if end.endswith((b"PAR1", b"PARE")):
        return "a Parquet file"
    if end.endswith(b"ARROW1"):
        return "an Arrow IPC file"
    if end.endswith(_STREAM_END):
        return "an Arrow IPC stream"
    # The last byte is the length of the postscript, which ends with the magic.
    if end[-4:-1] == b"ORC":
        return "an ORC file"
    return _kind_of_text(end, is_cut=len(end) < file_size)


def _kind_of_text(end: bytes, *, is_cut: bool) -> str | None:
    """Distinguish CSV and JSON from other text; the first line may be cut, also within a character."""
    if not end.strip() or not _CONTROLS.isdisjoint(end):
        return None
    if is_cut:
        end = end.partition(b"\n")[2] or end
    try:
        text = end.decode()
    except UnicodeDecodeError:
        return None
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return None
    last = lines[-1].strip()
    if last.startswith("{") and last.endswith("}"):
        return "text, perhaps JSON"
    for separator in (",", ";", "\t"):
        if all(separator in line for line in lines):
            return "text, perhaps CSV"
    return TEXT
