"""One manifest: parse and check its bytes.

[record of the manifest]                                         of writers with checksums; see `seals`
[sections: indices, transaction]   each  u32 size | message      at positions in the manifest
u32 size | Manifest                                              at position P
u64 P | u16 major | u16 minor | "LANC"                           the last 16 bytes
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.fields import NO_ID, SchemaField, fields_from_messages
from lance_arrow.engine import split_manifest
from lance_arrow.errors import CorruptFileError, CorruptManifestError, UnsupportedError, located
from lance_arrow.io import BufferSource, Location, RangeSource, open_source, read_end
from lance_arrow.manifests.base_paths import BasePathMeta, base_paths_from_messages
from lance_arrow.manifests.feature_flags import STABLE_ROW_IDS, check_reader_flags
from lance_arrow.manifests.fragments import FragmentList, FragmentMeta
from lance_arrow.manifests.seals import MANIFEST, RECORD, SECTION, check_seal
from lance_arrow.manifests.table_facts import TableFacts, protocols_of
from lance_arrow.proto.faults import PARSER_ERRORS
from lance_arrow.proto.file_schema_pb2 import Schema
from lance_arrow.proto.reading import parse
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.settings import Limits

TAIL_BYTES = 64 << 10
SECTION_HEAD = struct.Struct("<I")
FOOTER = struct.Struct("<QHH4s")
MAGIC = b"LANC"
_KEPT_BYTES = 64 << 10
_KEPT_WIDE_BYTES = 1 << 20
_KEPT_MANIFEST_BYTES = 16 << 10
_TRANSACTION = ("transaction_section", "transaction_section_deprecated")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestMeta:
    """One version of a table.

    Parameters
    ----------
    facts
        Data that all its fragments share: number, schema, places.
    fragments
        In the manifest's order, which is the order of scans; each object is created at its first use.
    reader_flags, writer_flags
        Feature flags; all flags for readers are known.
    timestamp
        Time of the commit, UTC; None if the manifest has none.
    writer
        Library and version that wrote it; None for the earliest releases.
    data_format
        File version of new data files; None if the manifest has none.
    max_fragment_id, next_row_id
        Numbers for the next writer; None if absent.
    config, table_metadata
        As stored.
    branch
        None for the main branch.
    transaction_file
        Name in ``_transactions``; may be empty.
    transaction_position
        Position of the transaction in the manifest's file; None if it is not there.
    message_bytes
        The message as stored, so that writers keep unknown fields.
    """

    facts: TableFacts
    fragments: Sequence[FragmentMeta]
    reader_flags: int = 0
    writer_flags: int = 0
    timestamp: datetime.datetime | None = None
    writer: tuple[str, str] | None = None
    data_format: str | None = None
    max_fragment_id: int | None = None
    next_row_id: int = 0
    config: Mapping[str, str] = field(default_factory=dict)
    table_metadata: Mapping[str, str] = field(default_factory=dict)
    branch: str | None = None
    transaction_file: str = ""
    transaction_position: int | None = None
    message_bytes: bytes = field(default=b"", repr=False)

    @property
    def version(self) -> int:
        """Number of the version."""
        return self.facts.version

    @property
    def index_position(self) -> int | None:
        """Position of the list of indices in the manifest's file; None without indices."""
        return self.facts.index_position

    @property
    def fields(self) -> tuple[SchemaField, ...]:
        """Top-level fields of the schema."""
        return self.facts.fields

    @property
    def base_paths(self) -> Mapping[int, BasePathMeta]:
        """Other places of files, by id."""
        return self.facts.base_paths


def read_manifest(
    place: Location, root: Location, version: int, *, size_bytes: int | None = None, limits: Limits | None = None
) -> ManifestMeta:
    """Read and check one manifest, in one request if it is small.

    Parameters
    ----------
    place
        File of the manifest.
    root
        Its table.
    version
        Number in its name.
    size_bytes
        Size of the file in bytes, if known from a listing.
    limits
        Its `max_metadata_bytes` limits the size; default limits when None.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    CorruptManifestError
        It contradicts the format, its name, or itself; the message holds its path.
    UnsupportedFeatureFlagError, UnsupportedError
        It requires a feature that this release does not know.
    ResourceLimitError
        It is too large.
    """
    source = open_source(place, size_bytes=size_bytes)
    try:
        return manifest_from_source(source, place, root, version, limits)
    finally:
        source.close()


def manifest_source(place: Location, size_bytes: int | None = None, *, most_bytes: int = TAIL_BYTES) -> RangeSource:
    """Open the file of a manifest; a small one is read completely, so that its sections need no further request.

    Parameters
    ----------
    place
        File of the manifest.
    size_bytes
        Size of the file in bytes, if known from a listing.
    most_bytes
        Largest size of a small file in bytes.

    Raises
    ------
    FileNotFoundError
        The file does not exist.
    """
    source = open_source(place, size_bytes=size_bytes)
    size = source.size()
    if size > most_bytes:
        return source
    try:
        return BufferSource(read_end(source, size).data)
    finally:
        source.close()


def manifest_from_bytes(
    data: bytes | memoryview, place: Location, root: Location, version: int, limits: Limits | None = None
) -> ManifestMeta:
    """Parse and check the bytes of a manifest's file; arguments and errors are those of `read_manifest`."""
    return manifest_from_source(BufferSource(data), place, root, version, limits)


def manifest_from_source(
    source: RangeSource, place: Location, root: Location, version: int, limits: Limits | None = None
) -> ManifestMeta:
    """Read and check a manifest from an open file; arguments and errors are those of `read_manifest`."""
    limits = limits if limits is not None else Limits()
    size = source.size()
    if size > _KEPT_MANIFEST_BYTES:
        return _read_manifest(source, place.name, root.path, protocols_of(root.given), version, limits)
    data = read_end(source, size).tobytes()
    return _known_manifest(data, place.name, root.path, protocols_of(root.given), version, limits)


def _read_manifest(
    source: RangeSource, name: str, root: str, protocols: tuple[str, ...], version: int, limits: Limits
) -> ManifestMeta:
    with located(path=name):
        return _checked(manifest_head(source, limits), name, root, protocols, version, limits)


@functools.lru_cache(maxsize=32)
def _known_manifest(
    data: bytes, name: str, root: str, protocols: tuple[str, ...], version: int, limits: Limits
) -> ManifestMeta:
    """Parse and check a small manifest; tables that are opened again have the same object for it."""
    return _read_manifest(BufferSource(data), name, root, protocols, version, limits)


@dataclass(frozen=True, slots=True, eq=False)
class ManifestHead:
    """A manifest without its fragments, which are checked natively and parsed at their first use.

    Parameters
    ----------
    message
        The message; without fragments where there are `places`.
    body
        All of it, as stored.
    schema
        A Schema message of its fields and schema metadata.
    places
        ``(n, 2) int64``: first byte and size of each fragment in `body`; None if the message was parsed as a whole.
    position
        Where it begins in the file.
    is_sealed
        Whether it has a checksum.
    """

    message: Manifest
    body: bytes
    schema: bytes
    places: NDArray[np.int64] | None
    position: int
    is_sealed: bool

    @property
    def trusts_counts(self) -> bool:
        """Whether the writer stored correct counts."""
        return self.message.HasField("writer_version")

    @property
    def ids_below(self) -> int | None:
        """The first unused row id; None in tables without stable row ids."""
        return self.message.next_row_id if self.message.reader_feature_flags & STABLE_ROW_IDS else None

    @property
    def timestamp(self) -> datetime.datetime | None:
        """Time of the commit, UTC."""
        return _timestamp(self.message)

    @property
    def transaction_position(self) -> int | None:
        """Position of the transaction in the manifest's file; None if it is not there."""
        return _section(self.message, _TRANSACTION, self.position)

    def fields(self) -> tuple[tuple[SchemaField, ...], Mapping[str, bytes]]:
        """Return the top-level fields, and the metadata of the Arrow schema."""
        return _schema_of(self.schema)

    def check(self, version: int) -> None:
        """Check all but fragments and base paths; the name of the file has the version. Raises as `read_manifest`."""
        message = self.message
        check_reader_flags(message.reader_feature_flags, message.writer_feature_flags)
        if message.HasField("fragment_tree"):
            raise UnsupportedError(
                "the manifest stores its fragments elsewhere (fragment_tree), which is not supported"
            )
        if message.version != version:
            raise CorruptManifestError(
                f"the manifest is of version {message.version}, its name says {version}", detail=message.version
            )
        self.fields()
        _section(message, _TRANSACTION, self.position)


def manifest_head(source: RangeSource, limits: Limits) -> ManifestHead:
    """Read a manifest, but for its fragments and its schema; errors are those of `read_manifest`."""
    position, body, is_sealed = _body(source, source.size(), limits)
    split = split_manifest(body)
    message = None
    if split is not None:
        rest, schema, places = split
        # The error message has a position in the whole message.
        with contextlib.suppress(*PARSER_ERRORS):
            message = Manifest.FromString(rest)
    if message is None:
        message = _whole(body, limits)
        schema = Schema(fields=message.fields, metadata=message.schema_metadata).SerializeToString()
        return ManifestHead(message, body, schema, None, position, is_sealed)
    return ManifestHead(message, body, schema, np.frombuffer(places, np.int64).reshape(-1, 2), position, is_sealed)


def _whole(body: bytes, limits: Limits) -> Manifest:
    limit = limits.max_metadata_bytes
    return parse(Manifest, body, what="the manifest", error=CorruptManifestError, max_bytes=limit)


_SECTION_BYTES = 4 << 10
"""Bytes read together with the length of a section."""


def read_section(
    place: Location,
    position: int,
    limits: Limits | None = None,
    *,
    is_sealed: bool = False,
    source: RangeSource | None = None,
) -> bytes:
    """Read a section of a manifest's file: a message after its length.

    Parameters
    ----------
    place
        File of the manifest.
    position
        Start of the section.
    limits
        Its `max_metadata_bytes` limits the size; default limits when None.
    is_sealed
        Whether the manifest has a checksum; its sections must then have checksums too.
    source
        The file, if it is open; opened here when None.

    Raises
    ------
    CorruptManifestError
        The section is not inside the file, does not match its checksum, or lacks a required checksum.
    """
    limits = limits if limits is not None else Limits()
    opened = open_source(place) if source is None else source
    try:
        with located(path=place.name):
            return _section_of(opened, position, limits, is_sealed=is_sealed)
    finally:
        if source is None:
            opened.close()


def _section_of(source: RangeSource, position: int, limits: Limits, *, is_sealed: bool) -> bytes:
    stop = source.size() - FOOTER.size
    start = position + SECTION_HEAD.size
    if start > stop:
        raise CorruptManifestError(f"a section at {position} begins after the manifest's file ends at {stop}")
    # Most sections are small, so the first read contains all of them.
    found = _read(source, position, min(start + _SECTION_BYTES, stop))
    (size,) = SECTION_HEAD.unpack_from(found)
    if start + size > stop:
        raise CorruptManifestError(f"a section of {size} bytes at {position} exceeds its file")
    limits.check("max_metadata_bytes", size)
    end = min(start + size + RECORD.size, stop)
    if position + len(found) < end:
        found += _read(source, position + len(found), end)
    data = found[SECTION_HEAD.size : SECTION_HEAD.size + size]
    record = found[SECTION_HEAD.size + size : end - position]
    found_one = check_seal(SECTION, record, f"the section at {position}", SECTION_HEAD.pack(size), data)
    if is_sealed and not found_one:
        raise CorruptManifestError(f"the section at {position} has no checksum, though the manifest has one")
    return data


def _body(source: RangeSource, size: int, limits: Limits) -> tuple[int, bytes, bool]:
    """Return position and bytes of the message, and whether it has a checksum."""
    if size < FOOTER.size + SECTION_HEAD.size:
        raise CorruptManifestError(f"a manifest has {size} bytes, expected at least {FOOTER.size + SECTION_HEAD.size}")
    limits.check("max_metadata_bytes", size)
    tail_start = max(0, size - TAIL_BYTES)
    tail = read_end(source, TAIL_BYTES).tobytes()
    position, _, _, magic = FOOTER.unpack(tail[-FOOTER.size :])
    if magic != MAGIC:
        raise CorruptManifestError(f"a manifest does not end with {MAGIC!r}", byte_range=(size - 4, size))
    stop = size - FOOTER.size
    start = position + SECTION_HEAD.size
    if start > stop:
        raise CorruptManifestError(
            f"a manifest of {size} bytes declares its start at {position}", byte_range=(stop, size)
        )
    sealed_from = max(0, position - RECORD.size)
    if sealed_from < tail_start:
        tail = _read(source, sealed_from, tail_start) + tail
        tail_start = sealed_from
    (declared,) = SECTION_HEAD.unpack_from(tail, position - tail_start)
    if start + declared != stop:
        raise CorruptManifestError(
            f"a manifest declares {declared} bytes, but has {stop - start}", byte_range=(position, start)
        )
    at = position - tail_start
    is_sealed = check_seal(MANIFEST, tail[max(0, at - RECORD.size) : at], "the manifest", tail[at:])
    if not is_sealed and tail_start == 0:
        # Damage to a record may also affect the bytes behind it: the other end of the file has a second record.
        is_sealed = check_seal(MANIFEST, tail[: RECORD.size], "the manifest", tail[at:])
    return position, tail[start - tail_start : stop - tail_start], is_sealed


def _checked(
    head: ManifestHead, name: str, root: str, protocols: tuple[str, ...], version: int, limits: Limits
) -> ManifestMeta:
    message = head.message
    places = np.zeros((len(message.fragments), 2), np.int64) if head.places is None else head.places
    fragments = FragmentList(
        head.body,
        places,
        lambda: (message if head.places is None else _whole(head.body, limits)).fragments,
        path=name,
        trusts_counts=head.trusts_counts,
        next_row_id=head.ids_below,
        base_ids={base.id for base in message.base_paths},
    )
    head.check(version)
    has_stable_row_ids = bool(message.reader_feature_flags & STABLE_ROW_IDS)
    fields, schema_metadata = head.fields()
    facts = TableFacts(
        root=root,
        protocols=protocols,
        version=version,
        manifest_path=name,
        fields=fields,
        schema_metadata=dict(schema_metadata),
        has_stable_row_ids=has_stable_row_ids,
        base_paths=dict(base_paths_from_messages(message.base_paths, root)),
        index_position=_section(message, ("index_section",), head.position),
        branch=message.branch if message.HasField("branch") else None,
        is_sealed=head.is_sealed,
        next_row_id=message.next_row_id if has_stable_row_ids else None,
    )
    has_writer = message.HasField("writer_version")
    fragments.check()
    return ManifestMeta(
        facts=facts,
        fragments=fragments,
        reader_flags=message.reader_feature_flags,
        writer_flags=message.writer_feature_flags,
        timestamp=head.timestamp,
        writer=(message.writer_version.library, message.writer_version.version) if has_writer else None,
        data_format=message.data_format.version or None,
        max_fragment_id=message.max_fragment_id if message.HasField("max_fragment_id") else None,
        next_row_id=message.next_row_id,
        config=dict(sorted(message.config.items())),
        table_metadata=dict(sorted(message.table_metadata.items())),
        branch=message.branch if message.HasField("branch") else None,
        transaction_file=message.transaction_file,
        transaction_position=head.transaction_position,
        message_bytes=head.body,
    )


def _schema(data: bytes) -> tuple[tuple[SchemaField, ...], Mapping[str, bytes]]:
    """Return the top-level fields of a serialized Schema, and the metadata of the Arrow schema."""
    message = Schema.FromString(data)
    try:
        fields = fields_from_messages(message.fields)
    except CorruptFileError as error:
        raise CorruptManifestError(f"the schema is wrong: {error.message}", column=error.column) from error
    for top in fields:
        if top.id == NO_ID:
            raise CorruptManifestError(f"field {top.name!r} has no id", column=top.name)
    return fields, dict(sorted(message.metadata.items()))


# Versions of a table, and similar tables, share a schema: data derived from its fields is cached by their identity.
_known_schema = functools.lru_cache(maxsize=32)(_schema)
_known_wide_schema = functools.lru_cache(maxsize=2)(_schema)


def _schema_of(data: bytes) -> tuple[tuple[SchemaField, ...], Mapping[str, bytes]]:
    """Return what `_schema` does, from a cache if the schema is not too large."""
    if len(data) <= _KEPT_BYTES:
        return _known_schema(data)
    return _known_wide_schema(data) if len(data) <= _KEPT_WIDE_BYTES else _schema(data)


def _timestamp(message: Manifest) -> datetime.datetime | None:
    if not message.HasField("timestamp"):
        return None
    stamp = message.timestamp
    try:
        moment = datetime.datetime.fromtimestamp(stamp.seconds, datetime.UTC)
        return moment + datetime.timedelta(microseconds=stamp.nanos // 1000)
    except (OverflowError, ValueError, OSError) as error:
        raise CorruptManifestError(f"the manifest was committed {stamp.seconds} seconds after 1970: {error}") from error


def _section(message: Manifest, names: tuple[str, ...], stop: int) -> int | None:
    for name in names:
        if message.HasField(name):
            position: int = getattr(message, name)
            if position + SECTION_HEAD.size > stop:
                raise CorruptManifestError(f"the place of {name} is {position}, beyond the manifest at {stop}")
            return position
    return None


def _read(source: RangeSource, start: int, stop: int) -> bytes:
    (data,) = source.read(np.array([start]), np.array([stop]))
    return data.tobytes()
