"""`JoinedFiles`: small files of one schema, in one array, read as one file with the rows of all.

    files   a: 3 rows   b: 2 rows          one file of 5 rows; the pages of a column are those of a, then those of b

Their metadata is read natively, in one call, and strictly. A file that is not in the usual form of writers is not
joined (`SmallFiles.flags`); `LanceFileReader` reads it separately.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lance_arrow.choices import Verify
from lance_arrow.container.buffer_places import required_alignment
from lance_arrow.container.descriptions import Description
from lance_arrow.container.footer import TABLE_ENTRY_BYTES, FileVersion
from lance_arrow.container.pages import PageTable
from lance_arrow.container.schema_facts import HasSchema, SchemaFacts, known_schemas
from lance_arrow.engine import NUM_FACTS, copy_sums, open_small_files, read_column_metadata, read_column_of_files
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import (
    AnyFileSystem,
    BufferSource,
    Bytes,
    FileEnds,
    Positions,
    ReadStats,
    VerifiedSource,
)
from lance_arrow.kernels import BlockChecks

if TYPE_CHECKING:
    from lance_arrow.container.joined_source import JoinedSource

_VERSION_OF = {1: FileVersion.V2_1, 2: FileVersion.V2_2, 3: FileVersion.V2_3}
JOINED_VERSIONS = tuple(_VERSION_OF.values())
"""Versions of files that can be joined."""
# The end tells where tables lie, and these where the descriptor does.
_MOST_WAVES = 2
# Of so much metadata of a group, what is read once for all columns takes longer than that of wanted ones.
_MOST_WIDENED = 64 << 20
# Positions of the facts of a file, see `file_tables`.
_MINOR, _COLUMNS, _COLUMN_TABLE, _SCHEMA_START, _SCHEMA_BYTES, _ROWS, _SUMS, _SUM_BUFFERS, _SUM_BLOCKS, _BLOCK_BYTES = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SmallFiles:
    """Files in memory with parsed footers, tables and descriptors.

    Parameters
    ----------
    data
        Bytes of all files.
    starts, sizes
        ``(n,) int64``: offset and size of each file in `data`.
    facts
        ``(n, NUM_FACTS) int64``: results of `file_tables` for each file.
    flags
        ``(n,) uint8``: 1 for files that can be joined.
    source
        What reads the bytes of pages, where `data` has the ends of files alone; else None.
    """

    data: Bytes
    starts: Positions
    sizes: Positions
    facts: Positions = field(repr=False)
    flags: NDArray[np.uint8] = field(repr=False)
    source: JoinedSource | None = None

    @classmethod
    def open(
        cls, data: Bytes, starts: Positions, sizes: Positions, flags: NDArray[np.uint8], *, verify: Verify
    ) -> SmallFiles:
        """Parse the files whose flag is set, if possible; `verify` is that of `LanceFileReader`."""
        return cls._parsed(data, starts, sizes, flags, np.zeros(len(starts), np.int64), verify)

    @classmethod
    def _parsed(
        cls,
        data: Bytes,
        starts: Positions,
        sizes: Positions,
        flags: NDArray[np.uint8],
        begins: Positions,
        verify: Verify,
    ) -> SmallFiles:
        """Parse files that are here from some byte on; see `open_small_files`."""
        facts = np.zeros((len(starts), NUM_FACTS), np.int64)
        kept = np.where(verify == "full", 0, flags).astype(np.uint8)
        open_small_files(data, starts, sizes, verify != "off", begins, facts, kept)
        return cls(data, starts, sizes, facts, kept)

    @classmethod
    def open_ends(
        cls,
        filesystem: AnyFileSystem,
        paths: Sequence[str],
        sizes: Positions,
        end_bytes: int,
        most_bytes: int,
        *,
        verify: Verify,
        versions: MutableMapping[str, object] | None = None,
    ) -> SmallFiles:
        """Read the ends of files, and parse those whose metadata is no longer; else as `open`.

        Parameters
        ----------
        filesystem, paths, sizes
            Where they are, and ``(n,) int64`` bytes of each.
        end_bytes
            How much of each is read at first. Of files with more metadata the rest is read, of all at once.
        most_bytes
            Files with more metadata are flagged.
        verify
            As `open`.
        versions
            That of `ask_files`: an empty one where files may change while they are read.

        Raises
        ------
        StoreError, FileChangedError, OSError
            As `FileEnds`.
        """
        from lance_arrow.container.joined_source import JoinedSource  # noqa: PLC0415 - for larger files

        ends = FileEnds(filesystem, paths, sizes, end_bytes, versions)
        begins = ends.begins.copy()
        found = cls._parsed(ends.data, ends.starts, sizes, ends.flags, begins, verify)
        for _ in range(_MOST_WAVES):
            missing = (begins < ends.begins) & (sizes - begins <= most_bytes)
            if not missing.any() or int((ends.begins - begins)[missing].sum()) > _MOST_WIDENED:
                break
            ends.widen(np.where(missing, begins, ends.begins))
            begins = ends.begins.copy()
            more = cls._parsed(ends.data, ends.starts, sizes, ends.flags * missing, begins, verify)
            found.facts[missing], found.flags[missing] = more.facts[missing], more.flags[missing]
        return replace(found, source=JoinedSource(ends))

    @property
    def num_rows(self) -> Positions:
        """``(n,) int64``; 0 for files that cannot be joined."""
        return self.facts[:, _ROWS]

    def schemas(self) -> list[tuple[FileVersion, bytes, NDArray[np.intp]]]:
        """Group the files that can be joined: version, schema, and numbers of the files."""
        groups: dict[tuple[int, int, bytes], list[int]] = {}
        wanted = np.flatnonzero(self.flags)
        facts = self.facts[wanted][:, [_MINOR, _SCHEMA_START, _SCHEMA_BYTES, _BLOCK_BYTES]].tolist()
        for number, (minor, start, size, block) in zip(wanted.tolist(), facts, strict=True):
            key = minor, block, self.data[start : start + size].tobytes()
            groups.setdefault(key, []).append(number)
        return [(_VERSION_OF[minor], schema, np.array(found)) for (minor, _, schema), found in groups.items()]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedColumn:
    """One physical column of many files, the counterpart of `ColumnMeta`.

    Parameters
    ----------
    column
        Number of the column.
    wrappers
        Descriptions of the columns as a whole: the distinct ones, and the number of buffers of each.
    pages
        Pages of all files, one after the other.
    """

    column: int
    wrappers: tuple[tuple[Description, int], ...]
    pages: PageTable = field(repr=False)
    byte_range: tuple[int, int] | None = None

    @property
    def page_starts(self) -> Positions:
        """As `ColumnMeta.page_starts`, for all files."""
        return self.pages.row_starts

    @property
    def stored_bytes(self) -> int:
        """Bytes of all pages."""
        return int(self.pages.sizes.sum())

    @property
    def page_bytes(self) -> Positions:
        """As `ColumnMeta.page_bytes`."""
        return self.pages.page_bytes


class JoinedFiles(HasSchema):
    """Files of one version and schema as one; has the parts of `LanceFileReader` that `RowReader` uses.

    Parameters
    ----------
    small
        The files.
    version, schema
        Common version and serialized Schema.
    numbers
        ``(n,) int64``: numbers of the files, ascending.

    Attributes
    ----------
    row_starts
        ``(n + 1,) int64``: first row of each file, and all rows.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `LanceFileReader`, which then names the file.
    """

    def __init__(self, small: SmallFiles, version: FileVersion, schema: bytes, numbers: NDArray[np.intp]) -> None:
        self.name = f"{len(numbers)} files"
        self.version = version
        self.facts: SchemaFacts = known_schemas.get(schema, version)
        known = self.facts
        self._facts = np.ascontiguousarray(small.facts[numbers])
        if (self._facts[:, _COLUMNS] != known.num_columns).any():
            raise CorruptFileError(f"the schema requires {known.num_columns} columns, a file has another number")
        self._numbers = numbers
        self._data, self._starts, self._sizes = small.data, small.starts[numbers], small.sizes[numbers]
        self.row_starts = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self._facts[:, _ROWS], out=self.row_starts[1:])
        self.num_rows = int(self.row_starts[-1])
        self.apart = small.source
        memory = memoryview(self._data)  # type: ignore[arg-type]
        held = BufferSource(memory, name=self.name) if small.source is None else small.source
        self.source = VerifiedSource(held)
        self.checks = self._block_checks()
        if self.checks is not None:
            self.source.check_with(self.checks, lambda start, stop: _contradiction())
        self._lengths = known.lengths
        self._columns: dict[int, JoinedColumn] = {}

    @property
    def has_ends(self) -> bool:
        """Whether the ends of the files are in memory alone."""
        return self.apart is not None

    @property
    def nbytes(self) -> int:
        """Memory of the files in bytes."""
        return self.fetched.bytes_fetched if self.has_ends else self._data.nbytes

    @property
    def fetched(self) -> ReadStats:
        """Statistics of opening the files: each is read completely with one request, or its end."""
        requests, total = len(self._sizes), int(self._sizes.sum())
        if self.apart is not None:
            requests, total = self.apart.opened(self._numbers)
        return ReadStats(requests=requests, bytes_wanted=total, bytes_fetched=total)

    def _block_checks(self) -> BlockChecks | None:
        has_sums = self._facts[:, _SUMS] >= 0
        if not has_sums.any():
            return None
        num_buffers = int(self._facts[has_sums, _SUM_BUFFERS].sum())
        places, sizes = np.empty(num_buffers, np.int64), np.empty(num_buffers, np.int64)
        crcs = np.empty(int(self._facts[has_sums, _SUM_BLOCKS].sum()), np.uint32)
        copy_sums(self._data, self._starts, self._facts, places, sizes, crcs)
        # Files are joined only if their blocks have equal sizes.
        return BlockChecks(places, sizes, crcs, int(self._facts[has_sums, _BLOCK_BYTES].max()))

    def check(self, starts: Positions, stops: Positions) -> None:
        """Compare whole buffers with their checksums.

        Raises
        ------
        CorruptFileError
            A buffer differs from its checksum.
        """
        if self.checks is not None and self.checks.check(self._data, starts, starts, stops) >= 0:
            raise _contradiction()

    @property
    def data(self) -> Bytes:
        """All bytes; places of buffers are counted from its start."""
        return self._data

    def columns(self, indices: Sequence[int]) -> list[JoinedColumn]:
        """Return the metadata of physical columns of all files, read once and kept; see `LanceFileReader.columns`."""
        for index in indices:
            if index not in self._columns:
                self._columns[index] = self._column(index)
        return [self._columns[index] for index in indices]

    def column_buffers(self, column: int) -> list[tuple[Description, Positions, Positions] | None]:
        """Return what lies beside the pages of a column: of each file the description of the column, and its buffers.

        Parameters
        ----------
        column
            A column whose metadata was read, and so compared with its checksums, by `columns`.

        Returns
        -------
        list
            Description, ``(k,) int64`` places, counted as those of pages, and sizes; None where these are not valid.
        """
        entries = self._facts[:, _COLUMN_TABLE][:, None] + TABLE_ENTRY_BYTES * column + np.arange(TABLE_ENTRY_BYTES)
        begins, sizes = self._data[entries].view(np.int64).T
        begins = np.ascontiguousarray(begins + self._starts)
        parsed = read_column_metadata(
            self._data, begins, begins + sizes, int(self._sizes.max()), required_alignment(self.version), None, _usual
        )
        return [
            None if fault is not None or type(own) is not Description else (own, places + start, lengths)
            for start, (fault, own, places, lengths, *_) in zip(self._starts.tolist(), parsed, strict=True)
        ]

    def _column(self, column: int) -> JoinedColumn:
        found = read_column_of_files(self._data, self._starts, self._sizes, self._facts, column)
        if isinstance(found, int):
            raise CorruptFileError(f"the metadata of column {column} of a file is not in the usual form of writers")
        counts, wrappers, (row_starts, borders, starts, sizes, descriptions, description_of) = found
        last = np.cumsum(counts)
        _, per_row = self._lengths[column]
        assert per_row is not None  # only in 2.0
        expected = np.diff(self.row_starts) * per_row
        if (row_starts[last] - row_starts[last - counts] != expected).any():
            raise CorruptFileError(f"the rows of the pages of column {column} differ from the rows of their file")
        opened = [Description.of(one) for one in descriptions]
        return JoinedColumn(
            column=column,
            wrappers=tuple((Description.of(one), num_buffers) for one, num_buffers in wrappers),
            pages=PageTable(row_starts, borders, starts, sizes, opened, description_of),
        )


def _usual(description: bytes) -> Description | None:
    try:
        return Description.of(description)
    except CorruptFileError:
        return None


def _contradiction() -> CorruptFileError:
    return CorruptFileError("bytes of a file contradict their checksum")
