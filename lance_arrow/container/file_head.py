"""`FileHead`: footer, checksums and schema of a file of version 2.1 or later, read natively from its end.

It supports only files in the usual form of writers. `LanceFileReader` reads all others step by step, and raises exact
errors for damaged ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from lance_arrow.container.checksums import ChecksumTable
from lance_arrow.container.file_checks import FileChecks
from lance_arrow.container.footer import FileFooter
from lance_arrow.engine import read_file_head
from lance_arrow.io import Bytes


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
    """

    footer: FileFooter
    checks: FileChecks | None
    descriptor: tuple[int, int]
    schema: bytes = field(repr=False)
    num_rows: int
    promises_checksums: bool

    @classmethod
    def read(cls, tail: Bytes, file_size: int, wants_checksums: bool) -> FileHead | None:
        """Read it from the last bytes of a file; None if the file is unusual, or if metadata lies before them."""
        found = read_file_head(tail, file_size, wants_checksums)
        if found is None:
            return None
        *places, first, stop, schema, num_rows, promises, sums = found
        checks = None
        if sums is not None:
            blocks, start, size = sums
            table = tail[start - (file_size - len(tail)) :][:size]
            checks = FileChecks(partial(ChecksumTable.of, table), blocks)
        return cls(FileFooter.known(file_size, *places), checks, (first, stop), schema, num_rows, promises)
