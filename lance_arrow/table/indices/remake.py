"""`Remake`: how an index of some kind is made again when rows move, because its entries name rows by address."""

from __future__ import annotations

import abc
import posixpath
from collections.abc import Iterable
from typing import cast

import pyarrow as pa

from lance_arrow.choices import FileVersionName
from lance_arrow.files.lance_writer import LanceWriter
from lance_arrow.io import Location
from lance_arrow.table.indices.moves import RowMoves
from lance_arrow.table.written_files import WrittenFiles

WRITABLE_VERSIONS = ("2.0", "2.1", "2.2", "2.3")


class IndexTarget:
    """The folder of an index in the making.

    Parameters
    ----------
    folder
        An existing, empty folder for this index.
    files
        Told of each file.
    """

    def __init__(self, folder: Location, files: WrittenFiles) -> None:
        self._folder = folder
        self._files = files
        self.sizes: dict[str, int] = {}

    def write(self, name: str, schema: pa.Schema, rows: Iterable[pa.RecordBatch], file_version: str) -> None:
        """Write a file of the index."""
        place = self._folder.at(posixpath.join(self._folder.path, name))
        self._files.add(place)
        # As the file that is replaced; the writer refuses a version that cannot be written.
        version = cast(FileVersionName, file_version)
        with LanceWriter(place, schema, file_version=version, rows_per_zone=None) as writer:
            for batch in rows:
                writer.write(batch)
        self.sizes[name] = writer.num_bytes


class Remake(abc.ABC):
    """Makes one index again."""

    @abc.abstractmethod
    def write(self, moves: RowMoves, covered: frozenset[int], target: IndexTarget) -> None:
        """Write the files of the index that takes the place of this one.

        Parameters
        ----------
        moves
            Where rows lay, and where they lie now.
        covered
            Ids of the fragments that the index covered.
        target
            Where files are written.
        """

    def details(self, old: bytes) -> bytes:
        """Return the index details of the new index, given those of the old one."""
        return old
