"""`LanceFileReader`: opens one data file and returns its metadata.

Opening reads the file's last 64 KiB. Tables and descriptor of wide files lie before them, and are read in one more
wave. The metadata of columns is read when they are requested.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lance_arrow.choices import Verify
from lance_arrow.container.columns import ColumnMeta, ColumnTable
from lance_arrow.container.file_checks import ByteOwners, FileChecks, check_verify, wrong_block
from lance_arrow.container.file_head import FileHead
from lance_arrow.container.footer import FileFooter, FileVersion, read_footer
from lance_arrow.container.global_buffers import GlobalBuffers
from lance_arrow.container.metadata_bytes import MetadataBytes
from lance_arrow.container.schema_facts import HasSchema, SchemaFacts, known_schemas
from lance_arrow.errors import CorruptFileError, InvalidArgumentError, UnsupportedError, located
from lance_arrow.io import ByteRange, Bytes, RangeSource, VerifiedSource, read_coalesced
from lance_arrow.proto import file_schema_pb2
from lance_arrow.proto.reading import parse
from lance_arrow.settings import Limits

if TYPE_CHECKING:
    from lance_arrow.container.known_tails import KnownTail, KnownTails
    from lance_arrow.container.legacy.v0_1_files import LegacyColumns, LegacyFile

T = TypeVar("T")

_INT64_MAX = np.iinfo(np.int64).max
_NO_OFFSET = np.zeros(1, np.int64)


class LanceFileReader(HasSchema):
    """The container of one file; safe to share between threads.

    Parameters
    ----------
    source
        Source of the file; `close` closes it.
    limits
        Ceilings for declared sizes; the default ones when None.
    verify
        What is compared with the checksums of a file that has them. ``"touched"``: its metadata now, and every other
        block when it is first read. ``"full"``: the whole file, now. ``"off"``: nothing.
    known
        What is known of files that were opened before, and will be of this one; None to parse everything.

    Attributes
    ----------
    source, name
        Source of the bytes, with checks if these are wanted, and name for messages.
    checks
        The file's checksums; None if it has none, or if nothing is compared with them.
    footer
        Version, counts and tables.
    tail
        Last bytes of the file, read when it was opened.
    limits
        As given.
    legacy
        Replaces footer tables and descriptor in files of 0.1; None in later ones.
    promises_checksums
        Whether the file was written with checksums.
    num_rows
        Rows of the file.
    facts
        Content of the schema; files of equal schemas share the object, except those with extension types.
    owners
        Names the column and page of a byte in errors.
    global_buffers
        Buffers by index; 0 is the file descriptor.
    zone_maps
        Zone maps in global buffers, by physical column: rows per zone, and half-open byte range.

    Raises
    ------
    CorruptFileError
        Not a Lance file, or one that contradicts itself or its checksums.
    InvalidArgumentError
        `verify` has another value.
    UnsupportedError
        An unknown version or type, or a file without a schema.
    TruncatedReadError, ResourceLimitError
        Errors of reading.
    """

    def __init__(
        self,
        source: RangeSource,
        limits: Limits | None = None,
        *,
        verify: Verify = "touched",
        known: KnownTails | None = None,
    ) -> None:
        check_verify(verify)
        self._begin(source, Limits() if limits is None else limits, verify)
        with located(path=self.name):
            tail_bytes = None if known is None else known.tail_bytes(self.name, verify)
            metadata = MetadataBytes(source, self.limits, tail_bytes=tail_bytes)
            head = FileHead.read(metadata, verify != "off")
            self.tail = metadata.tail
            if head is not None:
                facts = known_schemas.held(head.schema, head.footer.version)
                facts = facts or known_schemas.valid(head.schema, head.footer.version)
                if facts is not None:
                    self._take_head(metadata, head, facts, known)
                    return
            # Checked before the footer is used: a flipped bit there may look like another version.
            self.checks = None if verify == "off" else FileChecks.find(metadata)
            self.footer: FileFooter = read_footer(metadata.tail, metadata.file_size)
            self._table: ColumnTable | LegacyColumns
            if self.footer.version is FileVersion.V0_1:
                from lance_arrow.container.legacy.v0_1_files import LegacyFile  # noqa: PLC0415 - for 0.1 alone

                self._open_first_generation(LegacyFile.open(metadata))
                return
            # One wave for both tables if they lie before the tail.
            metadata.keep([self.footer.column_table, self.footer.buffer_table])
            if self.checks is not None:
                self.checks.tables(metadata, self.footer)
            self.global_buffers = GlobalBuffers(metadata, self.footer, self.checks)
            self._table = ColumnTable(metadata, self.footer, self.limits, self.checks)
            self._read_descriptor()
            if self.checks is not None:
                self._check_reads(self.checks)

    def _begin(self, source: RangeSource, limits: Limits, verify: Verify) -> None:
        self.source = source
        self.name = source.name
        self.limits = limits
        self.legacy: LegacyFile | None = None
        self._verify = verify
        self._lock = threading.Lock()
        self._columns: dict[int, ColumnMeta] = {}
        self._sound: dict[int, ColumnMeta] = {}
        self._known: KnownTail | None = None

    def _read_descriptor(self) -> None:
        if not len(self.global_buffers):
            raise UnsupportedError(
                "the file has no schema (it has no global buffers): it was written as a part of another file"
            )
        place = self.global_buffers.place(0)
        byte_range = (place.start, place.stop)
        descriptor = parse(
            file_schema_pb2.FileDescriptor,
            self.global_buffers.read(0).data,
            what="the file descriptor",
            byte_range=byte_range,
            max_bytes=self.limits.max_metadata_bytes,
        )
        with located(byte_range=byte_range, stage="reading the file descriptor"):
            self.promises_checksums = descriptor.HasField("checksums")
            if self.promises_checksums and self.checks is None and self._verify != "off":
                raise CorruptFileError(
                    "the file was written with a table of checksums, which is missing; verify='off' reads without it"
                )
            if descriptor.length > _INT64_MAX:
                raise CorruptFileError(f"the file declares {descriptor.length} rows, more than 63 bits hold")
            self.num_rows: int = descriptor.length
            self.zone_maps = {one.column: (one.rows_per_zone, self._zone_map(one)) for one in descriptor.zone_maps}
            self._take_schema(known_schemas.get(descriptor.schema.SerializeToString(deterministic=True), self.version))

    def _take_head(self, metadata: MetadataBytes, head: FileHead, facts: SchemaFacts, known: KnownTails | None) -> None:
        """Take the natively read metadata of a file in the usual form."""
        if known is not None and head.is_in_tail and head.footer.num_columns <= known.MOST_COLUMNS:
            self._known = known.of(self.name, self._verify, self.tail)
            self._sound = self._known.columns
        self.footer, self.checks = head.footer, head.checks
        self.num_rows, self.promises_checksums, self.zone_maps = head.num_rows, head.promises_checksums, {}
        self.global_buffers = GlobalBuffers(metadata, self.footer, self.checks, is_sound=True)
        sound = head.column_table, head.column_sums
        self._table = ColumnTable(metadata, self.footer, self.limits, self.checks, sound=sound)
        with located(byte_range=head.descriptor, stage="reading the file descriptor"):
            self._take_schema(facts)
        if self.checks is not None:
            self._check_reads(self.checks)

    def _take_schema(self, facts: SchemaFacts) -> None:
        self.facts = facts
        self._lengths = facts.lengths
        self.owners = ByteOwners(self.name, self._lengths, self._sound)
        if facts.num_columns != self.footer.num_columns:
            raise CorruptFileError(
                f"the schema requires {facts.num_columns} columns, the file has {self.footer.num_columns}"
            )

    def _zone_map(self, place: file_schema_pb2.GlobalZoneMap) -> ByteRange:
        """Check the place of a zone map in the descriptor."""
        if not 0 < place.global_buffer < len(self.global_buffers) or not place.rows_per_zone:
            raise CorruptFileError(
                f"a zone map of zones of {place.rows_per_zone} rows names global buffer {place.global_buffer}, "
                f"the file has {len(self.global_buffers)}"
            )
        return self.global_buffers.place(place.global_buffer)

    def _open_first_generation(self, legacy: LegacyFile) -> None:
        """Open a file of version 0.1 by its page table and embedded manifest."""
        from lance_arrow.container.legacy.v0_1_files import LegacyColumns  # noqa: PLC0415 - for 0.1 alone

        self.legacy = legacy
        self.checks, self.promises_checksums, self.zone_maps = None, False, {}
        facts = known_schemas.get(legacy.schema.SerializeToString(deterministic=True), self.version)
        self.facts = facts
        self._lengths = facts.lengths
        self.owners = ByteOwners(self.name, self._lengths, self._sound)
        self.num_rows = int(legacy.batch_starts()[-1])
        self.footer = legacy.footer(self.footer, facts.num_columns)
        self.global_buffers = GlobalBuffers(legacy.metadata, self.footer)
        self._table = LegacyColumns(legacy, facts.fields, facts.leaves)

    def _check_reads(self, checks: FileChecks) -> None:
        verified = self.source if isinstance(self.source, VerifiedSource) else VerifiedSource(self.source)
        owners = self.owners
        verified.check_with(checks.blocks, lambda start, stop: owners.contradiction(checks.table, start, stop))
        self.source = verified
        if self._verify == "full":
            self.columns(range(self.footer.num_columns))
            checks.read_everything(verified)

    def contradiction(self, start: int, stop: int) -> CorruptFileError:
        """Return the error for a block, with its column and page if they are known."""
        assert self.checks is not None
        return self.owners.contradiction(self.checks.table, start, stop)

    @property
    def version(self) -> FileVersion:
        """Generation of the file."""
        return self.footer.version

    @property
    def metadata(self) -> Mapping[str, bytes]:
        """Metadata of the schema."""
        return MappingProxyType({key.decode(): value for key, value in (self.facts.metadata or {}).items()})

    def columns(self, indices: Sequence[int]) -> list[ColumnMeta]:
        """Return the metadata of physical columns, read once and kept; their pages are checked.

        Parameters
        ----------
        indices
            Numbers of physical columns.

        Raises
        ------
        InvalidArgumentError
            The column does not exist.
        CorruptFileError
            Metadata contradicts the format, or its pages do not add up to the rows of the file. Column, page and byte
            range are named.
        TruncatedReadError, ResourceLimitError
            Errors of reading.
        """
        metas = self.described(indices)
        unproven = [meta for meta in metas if meta.column not in self._sound]
        if unproven:
            is_even, even, sound = self.facts.counts_rows_once, None, self._sound
            with located(path=self.name):
                for meta in unproven:
                    starts = meta.pages.row_starts
                    # Columns of one page share the array.
                    if starts is not even:
                        if not is_even or starts[-1] != self.num_rows:
                            self._check_rows(meta)
                        even = starts if is_even else None
                    # Its pages are open, so it does not refer to the file.
                    sound[meta.column] = meta
        return metas

    def described(self, indices: Sequence[int]) -> list[ColumnMeta]:
        """Return the metadata of physical columns as `columns` does, but without parsing and checking their pages."""
        for index in (min(indices), max(indices)) if len(indices) else ():
            if not 0 <= index < self.footer.num_columns:
                raise InvalidArgumentError(
                    f"there is no physical column {index}, the file has {self.footer.num_columns}",
                    path=self.name,
                    detail=index,
                )
        sound, columns = self._sound, self._columns
        with self._lock:
            missing = sorted(set(indices).difference(sound).difference(columns))
        if missing:
            with located(path=self.name):
                metas = self._table.read(missing, self._column_name)
            with self._lock:
                metas = [columns.setdefault(meta.column, meta) for meta in metas]
            if missing == indices:
                return metas
        return [columns[index] if index in columns else sound[index] for index in indices]

    def derived(self, what: str, make: Callable[[], T]) -> T:
        """Return a cache of what follows from the metadata alone; files that are opened again share it."""
        return make() if self._known is None else self._known.derived(what, make)

    def stored_metadata(self, column: int) -> Bytes:
        """Return the metadata of a physical column as stored, unchecked; empty in 0.1 files."""
        assert isinstance(self._table, ColumnTable)
        return self._table.stored(column)

    def buffers(self, places: Sequence[tuple[int, int]]) -> list[Bytes]:
        """Read whole buffers, half-open byte ranges of the file; buffers in its tail were read when it was opened.

        Raises
        ------
        CorruptFileError
            A buffer contradicts its checksum.
        TruncatedReadError
            The file has become shorter.
        """
        tail_start = self.footer.file_size - len(self.tail)
        absent = [place for place in places if place[0] < tail_start]
        fetched: dict[tuple[int, int], Bytes] = {}
        if absent:
            wanted = np.array(absent, np.int64)
            fetched = dict(zip(absent, read_coalesced(self.source, wanted[:, 0], wanted[:, 1]), strict=True))
        found = []
        for start, stop in places:
            data = fetched.get((start, stop))
            if data is None:
                data = self.tail[start - tail_start : stop - tail_start]
                self._check_kept(data, start, stop)
            found.append(data)
        return found

    def _check_kept(self, data: Bytes, start: int, stop: int) -> None:
        """Compare a buffer with its checksum, as the source does with the buffers that it reads."""
        checks = self.checks
        if checks is None or start == stop:
            return
        wrong = wrong_block(checks.blocks, data, _NO_OFFSET, np.array([start]), np.array([stop]), self.stored_ranges)
        if wrong >= 0:
            raise self.contradiction(*checks.blocks.place(wrong))

    def stored_ranges(self, places: Sequence[tuple[int, int]]) -> list[Bytes]:
        """Read half-open ranges of the file that no checksum is of, such as checksums."""
        wanted = np.array(places, np.int64)
        return read_coalesced(self.source, wanted[:, 0], wanted[:, 1])

    def close(self) -> None:
        """Close the source."""
        self.source.close()

    def __enter__(self) -> LanceFileReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _column_name(self, index: int) -> str:
        return self._lengths[index][0]

    def _check_rows(self, meta: ColumnMeta) -> None:
        name, per_row = self._lengths[meta.column]
        num_rows = int(meta.pages.row_starts[-1])
        expected = None if per_row is None else self.num_rows * per_row
        if expected is not None and num_rows != expected:
            raise CorruptFileError(
                f"the pages have {num_rows} rows, expected {expected}", column=name, byte_range=meta.byte_range
            )
