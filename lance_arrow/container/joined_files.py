"""`JoinedFiles`: small files of one schema, in memory side by side, read as one file whose rows follow each other.

    files   a: 3 rows   b: 2 rows          one file of 5 rows; the pages of a column are those of a, then those of b

Their metadata is read natively, all at once, and strictly: a file that is not just as writers make them is not taken
(`SmallFiles.flags`), and `LanceFileReader` reads it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from lance_arrow.choices import Verify
from lance_arrow.container.descriptions import Description
from lance_arrow.container.fields import SchemaField
from lance_arrow.container.file_reader import SchemaFacts, known_schemas
from lance_arrow.container.footer import FileVersion
from lance_arrow.container.pages import PageMeta
from lance_arrow.engine import NUM_FACTS, copy_sums, open_small_files, walk_columns
from lance_arrow.errors import CorruptFileError
from lance_arrow.io import BufferSource, Bytes, Positions, VerifiedSource
from lance_arrow.kernels import BlockChecks
from lance_arrow.proto.reading import unpack_any
from lance_arrow.spi import PageFacts

_VERSION_OF = {1: FileVersion.V2_1, 2: FileVersion.V2_2, 3: FileVersion.V2_3}
JOINED_VERSIONS = tuple(_VERSION_OF.values())
"""Generations of files that can be joined."""
# Places among the facts of a file, see `file_tables`.
_MINOR, _COLUMNS, _SCHEMA_START, _SCHEMA_BYTES, _ROWS, _SUMS, _SUM_BUFFERS, _SUM_BLOCKS, _BLOCK_BYTES = (
    0, 1, 3, 4, 5, 6, 7, 8, 9
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class SmallFiles:
    """Files in memory whose footers, tables and descriptors were read.

    Parameters
    ----------
    data
        All of them.
    starts, sizes
        ``(n,) int64``: where each lies.
    facts
        ``(n, NUM_FACTS) int64``: what `file_tables` says of each.
    flags
        ``(n,) uint8``: 1 for those that can be joined.
    """

    data: Bytes
    starts: Positions
    sizes: Positions
    facts: Positions = field(repr=False)
    flags: NDArray[np.uint8] = field(repr=False)

    @classmethod
    def open(
        cls, data: Bytes, starts: Positions, sizes: Positions, flags: NDArray[np.uint8], *, verify: Verify
    ) -> SmallFiles:
        """Read what can be read of the files whose flag is set; `verify` is that of `LanceFileReader`."""
        facts = np.zeros((len(starts), NUM_FACTS), np.int64)
        kept = np.where(verify == "full", 0, flags).astype(np.uint8)
        open_small_files(data, starts, sizes, verify != "off", facts, kept)
        return cls(data, starts, sizes, facts, kept)

    @property
    def num_rows(self) -> Positions:
        """``(n,) int64``; of files that cannot be joined 0."""
        return self.facts[:, _ROWS]

    def schemas(self) -> list[tuple[FileVersion, bytes, NDArray[np.intp]]]:
        """Group the files that can be joined: version and schema, and which files have these."""
        groups: dict[tuple[int, int, bytes], list[int]] = {}
        wanted = np.flatnonzero(self.flags)
        facts = self.facts[wanted][:, [_MINOR, _SCHEMA_START, _SCHEMA_BYTES, _BLOCK_BYTES]].tolist()
        for number, (minor, start, size, block) in zip(wanted.tolist(), facts, strict=True):
            key = minor, block, self.data[start : start + size].tobytes()
            groups.setdefault(key, []).append(number)
        return [(_VERSION_OF[minor], schema, np.array(found)) for (minor, _, schema), found in groups.items()]


class JoinedPages(Sequence[PageMeta]):
    """Pages of one column of many files; each is made when it is asked for.

    Parameters
    ----------
    page_starts
        ``(n + 1,) int64``: first row of each page.
    borders
        ``(n + 1,) int64``: first buffer of each page.
    starts, sizes
        ``(m,) int64``: the buffers.
    descriptions, description_of
        The descriptions there are, and ``(n,) int64`` which of them each page has.
    """

    def __init__(
        self,
        page_starts: Positions,
        borders: Positions,
        starts: Positions,
        sizes: Positions,
        descriptions: Sequence[Description],
        description_of: Positions,
    ) -> None:
        self.page_starts = page_starts
        self.borders = borders
        self.starts = starts
        self.sizes = sizes
        self.descriptions = descriptions
        self.description_of = description_of

    def __len__(self) -> int:
        return len(self.description_of)

    @overload
    def __getitem__(self, index: int) -> PageMeta: ...

    @overload
    def __getitem__(self, index: slice) -> list[PageMeta]: ...

    def __getitem__(self, index: int | slice) -> PageMeta | list[PageMeta]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        buffers = slice(int(self.borders[index]), int(self.borders[index + 1]))
        described = self.descriptions[int(self.description_of[index])]
        num_rows = int(self.page_starts[index + 1] - self.page_starts[index])
        return PageMeta(
            number=index,
            num_rows=num_rows,
            first_row=int(self.page_starts[index]),
            buffer_offsets=self.starts[buffers],
            buffer_sizes=self.sizes[buffers],
            message=described.message,
            description=described.value,
            facts=PageFacts(num_rows, tuple(self.sizes[buffers].tolist())),
            distribution=described.distribution,
        )

    def __iter__(self) -> Iterator[PageMeta]:
        return (self[index] for index in range(len(self)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JoinedColumn:
    """One physical column of many files; what `ColumnMeta` is to one.

    Parameters
    ----------
    column
        Its number.
    wrappers
        What describes the columns as a whole: the descriptions there are, and how many buffers belong to each.
    pages, page_starts
        As those of `ColumnMeta`, of all files.
    """

    column: int
    wrappers: tuple[tuple[Description, int], ...]
    pages: JoinedPages = field(repr=False)
    page_starts: Positions = field(repr=False)
    byte_range: tuple[int, int] | None = None

    @property
    def stored_bytes(self) -> int:
        """Bytes that all pages take."""
        return int(self.pages.sizes.sum())

    @property
    def page_bytes(self) -> Positions:
        """``(n,) int64``: bytes that the buffers of each page take."""
        before = np.zeros(len(self.pages.sizes) + 1, np.int64)
        np.cumsum(self.pages.sizes, out=before[1:])
        return np.diff(before[self.pages.borders])


class JoinedFiles:
    """Files of one version and schema as one; has of `LanceFileReader` what `RowReader` asks for.

    Parameters
    ----------
    small
        The files.
    version, schema
        What they have in common; a serialized Schema.
    numbers
        ``(n,) int64``: which of the files, ascending.

    Attributes
    ----------
    row_starts
        ``(n + 1,) int64``: first row of each file, and all rows.

    Raises
    ------
    CorruptFileError, UnsupportedError
        As `LanceFileReader`; which of the files is to blame, that will tell.
    """

    def __init__(self, small: SmallFiles, version: FileVersion, schema: bytes, numbers: NDArray[np.intp]) -> None:
        self.name = f"{len(numbers)} files"
        self.version = version
        known: SchemaFacts = known_schemas.get(schema, version)
        self.fields: tuple[SchemaField, ...] = known.fields
        self.schema, self.leaves = known.schema, known.leaves
        self._facts = np.ascontiguousarray(small.facts[numbers])
        if (self._facts[:, _COLUMNS] != known.num_columns).any():
            raise CorruptFileError(f"the schema wants {known.num_columns} columns, a file has others")
        self._data, self._starts, self._sizes = small.data, small.starts[numbers], small.sizes[numbers]
        self.row_starts = np.zeros(len(numbers) + 1, np.int64)
        np.cumsum(self._facts[:, _ROWS], out=self.row_starts[1:])
        self.num_rows = int(self.row_starts[-1])
        self.source = VerifiedSource(BufferSource(memoryview(self._data), name=self.name))  # type: ignore[arg-type]
        self.checks = self._block_checks()
        if self.checks is not None:
            self.source.check_with(self.checks, lambda start, stop: _contradiction())
        self._lengths = {leaf.column: leaf.lengths_per_row for leaf in known.leaves}
        self._columns: dict[int, JoinedColumn] = {}

    @property
    def nbytes(self) -> int:
        """Memory of the files."""
        return self._data.nbytes

    def _block_checks(self) -> BlockChecks | None:
        has_sums = self._facts[:, _SUMS] >= 0
        if not has_sums.any():
            return None
        num_buffers = int(self._facts[has_sums, _SUM_BUFFERS].sum())
        places, sizes = np.empty(num_buffers, np.int64), np.empty(num_buffers, np.int64)
        crcs = np.empty(int(self._facts[has_sums, _SUM_BLOCKS].sum()), np.uint32)
        copy_sums(self._data, self._starts, self._facts, places, sizes, crcs)
        # Files are joined by the size of their blocks, too: it is the same for all.
        return BlockChecks(places, sizes, crcs, int(self._facts[has_sums, _BLOCK_BYTES].max()))

    def check(self, starts: Positions, stops: Positions) -> None:
        """Compare whole buffers with their checksums.

        Raises
        ------
        CorruptFileError
            One differs.
        """
        if self.checks is not None and self.checks.check(self._data, starts, starts, stops) >= 0:
            raise _contradiction()

    @property
    def data(self) -> Bytes:
        """All bytes; places of buffers count from its start."""
        return self._data

    def columns(self, indices: Sequence[int]) -> list[JoinedColumn]:
        """Return the metadata of physical columns of all files, read once and kept; see `LanceFileReader.columns`."""
        for index in indices:
            if index not in self._columns:
                self._columns[index] = self._column(index)
        return [self._columns[index] for index in indices]

    def _column(self, column: int) -> JoinedColumn:
        num_files = len(self._starts)
        files = self._data, self._starts, self._sizes, self._facts, column
        own, counts = np.zeros((num_files, 3), np.int64), np.zeros(num_files, np.int64)
        flags = np.ones(num_files, np.uint8)
        num_pages, num_buffers = walk_columns(*files, own, counts, flags)
        rows, borders = np.empty(num_pages, np.int64), np.empty(num_pages + 1, np.int64)
        descriptions = np.empty((num_pages, 2), np.int64)
        starts, sizes = np.empty(num_buffers, np.int64), np.empty(num_buffers, np.int64)
        if flags.all():
            walk_columns(*files, own, counts, flags, (rows, descriptions, borders[:-1], starts, sizes))
        if not flags.all():
            raise CorruptFileError(f"the metadata of column {column} of a file is not as writers make it")
        borders[-1] = num_buffers
        page_starts = np.zeros(num_pages + 1, np.int64)
        np.cumsum(rows, out=page_starts[1:])
        last = np.cumsum(counts)
        expected = np.diff(self.row_starts) * self._lengths[column]
        # Not above what all files have: sums of such numbers cannot wrap.
        if (rows > expected.sum()).any() or (page_starts[last] - page_starts[last - counts] != expected).any():
            raise CorruptFileError(f"pages of column {column} have not the rows of their file")
        found, description_of = self._descriptions(descriptions)
        wrappers, wrapper_of = self._descriptions(own)
        with_buffers = dict.fromkeys(zip(wrapper_of.tolist(), own[:, 2].tolist(), strict=True))
        return JoinedColumn(
            column=column,
            wrappers=tuple((wrappers[number], count) for number, count in with_buffers),
            pages=JoinedPages(page_starts, borders, starts, sizes, found, description_of),
            page_starts=page_starts,
        )

    def _descriptions(self, places: Positions) -> tuple[list[Description], Positions]:
        """Open descriptions, each of those that are there once; return which one lies at each place."""
        held = memoryview(self._data)  # type: ignore[arg-type]
        found = [bytes(held[start : start + size]) for start, size in places[:, :2].tolist()]
        numbers = {data: number for number, data in enumerate(dict.fromkeys(found))}
        which = list(map(numbers.__getitem__, found))
        return [Description(*unpack_any(data)) for data in numbers], np.array(which, np.int64)


def _contradiction() -> CorruptFileError:
    return CorruptFileError("bytes of a file contradict their checksum")
