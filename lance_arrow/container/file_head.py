"""`FileHead`: footer, checksums and schema of a file of version 2, read natively.

The end of most files has all of it. Wide files have parts of it before: these are read in one more wave. `FileHead`
supports only files in the usual form of writers. `LanceFileReader` reads all others step by step, and raises exact
errors for damaged ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lance_arrow.container.checksums import ChecksumTable
from lance_arrow.container.file_checks import FileChecks
from lance_arrow.container.footer import FileFooter
from lance_arrow.container.metadata_bytes import TAIL_BYTES, MetadataBytes
from lance_arrow.engine import read_file_head
from lance_arrow.io import Bytes

_MOST_READS = 3
"""A longer end, tables and descriptor, a large table of checksums or what is late of it."""


@dataclass(frozen=True, slots=True, eq=False)
class FileHead:
    """Metadata of a file.

    Parameters
    ----------
    footer
        The footer; tables and global buffers lie inside the file, and are aligned.
    checks
        Its checksums, which were compared with all bytes read; None if it has none, or if they are not wanted.
    descriptor
        Half-open byte range of the file descriptor.
    schema
        The serialized Schema in it.
    num_rows, promises_checksums
        Other properties from the descriptor, which has no places of zone maps.
    column_table
        Bytes of the table of columns; the places in it lie inside the file.
    column_sums
        Bytes of the checksum of the metadata of each column, 32 bits each; empty if nothing is compared.
    is_in_tail
        Whether all of this was in the end of the file that is read at once.
    """

    footer: FileFooter
    checks: FileChecks | None
    descriptor: tuple[int, int]
    schema: bytes = field(repr=False)
    num_rows: int
    promises_checksums: bool
    column_table: bytes = field(repr=False)
    column_sums: bytes = field(repr=False)
    is_in_tail: bool

    @classmethod
    def read(cls, metadata: MetadataBytes, wants_checksums: bool) -> FileHead | None:
        """Read it; None if the file is unusual or damaged, or if its metadata has more bytes than the limit.

        Raises
        ------
        TruncatedReadError
            The file has become shorter.
        """
        file_size = metadata.file_size
        pieces: list[tuple[int, Bytes]] = []
        told = read_file_head(metadata.tail, file_size, wants_checksums, pieces, metadata.limits.max_metadata_bytes)
        found = _read_further(metadata, told, wants_checksums, pieces) if isinstance(told, list) else told
        if found is None:
            return None
        *places, first, stop, schema, num_rows, promises, sums, column_table = found
        checks, column_sums = None, b""
        if sums is not None:
            blocks, start, size, column_sums = sums
            tail_start = file_size - len(metadata.tail)
            if start >= tail_start:
                table = metadata.tail[start - tail_start :][:size]
            else:
                table = next(piece for begin, piece in pieces if begin == start and len(piece) >= size)[:size]
            late = start + size if blocks.is_late else None
            checks = FileChecks(partial(ChecksumTable.of, table, late), blocks)
        footer = FileFooter.known(file_size, *places)
        is_in_tail = not pieces
        return cls(footer, checks, (first, stop), schema, num_rows, promises, column_table, column_sums, is_in_tail)


def _read_further(
    metadata: MetadataBytes, absent: list[tuple[int, int]], wants_checksums: bool, pieces: list[tuple[int, Bytes]]
) -> tuple[Any, ...] | None:
    """Read what is missing, and then the head again; adds to `pieces`."""
    for _ in range(_MOST_READS):
        starts = [start for start, _ in absent]
        if min(starts) < metadata.file_size - TAIL_BYTES or not metadata.widen():
            if sum(stop - start for start, stop in absent) > metadata.limits.max_metadata_bytes:
                return None
            pieces += zip(starts, metadata.read(absent), strict=True)
        most_bytes = metadata.limits.max_metadata_bytes
        found = read_file_head(metadata.tail, metadata.file_size, wants_checksums, pieces, most_bytes)
        if not isinstance(found, list):
            return found
        absent = found
    return None
