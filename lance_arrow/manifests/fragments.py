"""Fragments of a manifest: data files, deleted rows, row ids; checked when they are parsed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from lance_arrow.container.footer import FileVersion
from lance_arrow.engine import NUM_FRAGMENT_FACTS, read_fragments
from lance_arrow.errors import CorruptManifestError, LanceError, UnsupportedError, located
from lance_arrow.manifests.base_paths import check_file_name
from lance_arrow.manifests.field_places import FieldPlaces
from lance_arrow.proto import table_pb2
from lance_arrow.proto.reading import parse

TOMBSTONE = -2
NO_COLUMN = -1
_MOST_BYTES = (1 << 63) - 1
MAX_ROWS = 1 << 32
"""Rows of a fragment have 32-bit offsets."""

# Source: DataFile.file_major_version, file_minor_version; the numbers differ from those in footers.
_VERSION_OF = {
    (0, 0): FileVersion.V0_1,
    (0, 2): FileVersion.V0_1,
    (0, 3): FileVersion.V2_0,
    (2, 0): FileVersion.V2_0,
    (2, 1): FileVersion.V2_1,
    (2, 2): FileVersion.V2_2,
    (2, 3): FileVersion.V2_3,
}
_READABLE_FORMS = {
    "row_id_sequence": "inline_row_ids",
    "last_updated_at_version_sequence": "inline_last_updated_at_versions",
    "created_at_version_sequence": "inline_created_at_versions",
}


@dataclass(frozen=True, slots=True)
class DataFileMeta:
    """Columns of a fragment in one file.

    Parameters
    ----------
    path
        Path below the folder of data files.
    fields
        Field ids; -2 for a column in the file that is not used any more.
    columns
        Physical column of each field, -1 for a field without one; empty in 0.1 files.
    version
        Version of the file.
    size_bytes
        Bytes of the file; None if unknown, as for all files of 0.1.
    base_id
        Id of its base path; None for the table itself.
    places
        Position of each field in `fields`, for files with equal ones.
    """

    path: str
    fields: tuple[int, ...]
    columns: tuple[int, ...]
    version: FileVersion
    size_bytes: int | None = None
    base_id: int | None = None
    places: FieldPlaces = field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionFileMeta:
    """The file with the deleted rows of a fragment.

    Parameters
    ----------
    name
        Path below the folder of deletion files.
    is_bitmap
        Whether it is a roaring bitmap; otherwise it is an Arrow file.
    read_version, id
        Parts of the name, besides the fragment's id.
    num_deleted_rows
        None if unknown.
    base_id
        As for `DataFileMeta`.
    """

    name: str
    is_bitmap: bool
    read_version: int
    id: int
    num_deleted_rows: int | None = None
    base_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentMeta:
    """A set of rows: files with different columns, and the deleted rows.

    Parameters
    ----------
    id
        Unique in its version (except in one historical table); the upper half of row addresses.
    files
        In the manifest's order: a field is read from the first file that has it.
    physical_rows
        Rows, deleted ones included; None if the manifest has no reliable count.
    deletion
        None if no row is deleted.
    row_ids
        A serialized RowIdSequence; None in tables without stable row ids.
    created_at_versions, updated_at_versions
        Serialized RowDatasetVersionSequences, or None.
    """

    id: int
    files: tuple[DataFileMeta, ...]
    physical_rows: int | None
    deletion: DeletionFileMeta | None = None
    row_ids: bytes | None = None
    created_at_versions: bytes | None = None
    updated_at_versions: bytes | None = None

    @property
    def num_rows(self) -> int | None:
        """Live rows; None if only the files show the number."""
        if self.deletion is None or self.physical_rows is None:
            return self.physical_rows
        deleted = self.deletion.num_deleted_rows
        return None if deleted is None else self.physical_rows - deleted

    def file_of(self, field_id: int) -> tuple[DataFileMeta, int] | None:
        """Return the file with a field, and its physical column there (-1: no column of its own); None if all null."""
        for file in self.files:
            place = file.places.of(field_id)
            if place is not None:
                return file, file.columns[place] if file.columns else NO_COLUMN
        return None


class FragmentList(Sequence[FragmentMeta]):
    """Fragments of a manifest: native code checks all at once, and each object is created at its first use.

    `check` creates fragments in an unusual form in Python.

    Parameters
    ----------
    body
        The manifest's message.
    places
        ``(n, 2) int64``: first byte and size of each fragment's message in `body`.
    messages
        Parses the fragments; called if Python must check some.
    path
        The manifest, for error messages.
    trusts_counts, next_row_id, base_ids
        As for `fragment_from_message`.

    Raises
    ------
    CorruptManifestError
        As `messages`.
    """

    def __init__(
        self,
        body: bytes,
        places: NDArray[np.int64],
        messages: Callable[[], Sequence[table_pb2.DataFragment]],
        *,
        path: str,
        trusts_counts: bool,
        next_row_id: int | None,
        base_ids: Collection[int],
    ) -> None:
        self._body = body
        self._places = places
        self._path = path
        self._made: list[FragmentMeta | None] = [None] * len(places)
        self._check = functools.partial(
            fragment_from_message, trusts_counts=trusts_counts, next_row_id=next_row_id, base_ids=base_ids
        )
        self._facts = np.empty((len(places), NUM_FRAGMENT_FACTS), np.int64)
        self._is_sound = is_sound = np.empty(len(places), np.uint8)
        bases = np.fromiter(base_ids, np.uint64, len(base_ids))
        self._unsure: list[tuple[int, table_pb2.DataFragment]] = []
        if read_fragments(body, places, trusts_counts, next_row_id, bases, self._facts, is_sound):
            parsed = messages()
            self._unsure = [(number, parsed[number]) for number in np.flatnonzero(is_sound == 0).tolist()]

    def check(self) -> None:
        """Check the fragments that native code did not check.

        Raises
        ------
        CorruptManifestError, UnsupportedError
            As `fragment_from_message`, for the first wrong fragment; or its row ids are not one for each row, or not
            in use.
        """
        for number, message in self._unsure:
            made = self._made[number] = self._checked(message)
            self._check_row_ids(made)
            num_rows = -1 if made.num_rows is None else made.num_rows
            physical = -1 if made.physical_rows is None else made.physical_rows
            num_bytes = min(sum(file.size_bytes or 0 for file in made.files), _MOST_BYTES)
            has_deletion = made.deletion is not None
            self._facts[number] = made.id, num_rows, 0, 0, -1, -1, len(made.files), has_deletion, physical, num_bytes
        self._unsure = []

    @property
    def body(self) -> bytes:
        """The manifest's message."""
        return self._body

    @property
    def facts(self) -> NDArray[np.int64]:
        """``(n, NUM_FRAGMENT_FACTS) int64``: results of `read_fragments`; no paths if Python checked a fragment."""
        return self._facts

    @property
    def is_plain(self) -> NDArray[np.bool_]:
        """``(n,) bool``: flags of fragments that native code checked; these have no unknown fields."""
        return self._is_sound.view(np.bool_)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, index: int) -> FragmentMeta: ...

    @overload
    def __getitem__(self, index: slice) -> list[FragmentMeta]: ...

    def __getitem__(self, index: int | slice) -> FragmentMeta | list[FragmentMeta]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(len(self)))]
        made = self._made[index]
        if made is None:
            parsed = parse(table_pb2.DataFragment, self.message(index), what="a fragment", error=CorruptManifestError)
            made = self._made[index] = self._checked(parsed)
        return made

    def message(self, number: int) -> bytes:
        """Return a fragment's message as it lies in the manifest; equal ones are equal fragments."""
        start, size = self._places[number].tolist()
        return self._body[start : start + size]

    def _checked(self, message: table_pb2.DataFragment) -> FragmentMeta:
        try:
            return self._check(message)
        except LanceError as error:
            located(path=self._path).fill(error)
            raise

    def _check_row_ids(self, made: FragmentMeta) -> None:
        if made.row_ids is None:
            return
        # Native code has checked those of most manifests.
        from lance_arrow.manifests.row_ids import parse_row_ids  # noqa: PLC0415

        try:
            parse_row_ids(made.row_ids, made.physical_rows, self._check.keywords["next_row_id"])
        except LanceError as error:
            error.message = f"fragment {made.id}: {error.message}"
            located(path=self._path).fill(error)
            raise

    def part(self, numbers: NDArray[np.int64]) -> FragmentList:
        """Return some of the fragments without creating them; ``(m,) int64`` numbers, duplicates allowed."""
        body = b"".join([self.message(number) for number in numbers.tolist()])
        return _restored(body, self._places[numbers, 1], self._path, self._check.keywords)

    def __reduce__(self) -> tuple[object, ...]:
        whole = self.part(np.arange(len(self)))
        return _restored, (whole._body, whole._places[:, 1], self._path, self._check.keywords)


def _restored(body: bytes, sizes: NDArray[np.int64], path: str, rules: Mapping[str, Any]) -> FragmentList:
    """Return a list of fragments whose messages are stored one after another; all were checked before."""
    places = np.stack([np.cumsum(sizes) - sizes, sizes], axis=1)

    def messages() -> list[table_pb2.DataFragment]:
        parts = [body[start : start + size] for start, size in places.tolist()]
        return [parse(table_pb2.DataFragment, one, what="a fragment", error=CorruptManifestError) for one in parts]

    made = FragmentList(body, places, messages, path=path, **rules)
    made.check()
    return made


def part_of(fragments: Sequence[FragmentMeta], numbers: NDArray[np.int64]) -> Sequence[FragmentMeta]:
    """Return some fragments, by ``(m,) int64`` numbers; those of a `FragmentList` are not created for it."""
    if isinstance(fragments, FragmentList):
        return fragments.part(numbers)
    return tuple(fragments[number] for number in numbers.tolist())


def physical_counts(fragments: Sequence[FragmentMeta]) -> NDArray[np.int64]:
    """Return ``(n,) int64`` rows of the files of fragments, deleted ones included; -1 if only files show it."""
    if isinstance(fragments, FragmentList):
        return fragments.facts[:, 8]
    return np.array([-1 if one.physical_rows is None else one.physical_rows for one in fragments], np.int64)


def file_bytes(fragments: Sequence[FragmentMeta]) -> NDArray[np.int64]:
    """Return ``(n,) int64`` total bytes of the data files of each fragment, without files of unknown size."""
    if isinstance(fragments, FragmentList):
        return fragments.facts[:, 9]
    return np.array([sum(file.size_bytes or 0 for file in one.files) for one in fragments], np.int64)


def row_counts(fragments: Sequence[FragmentMeta]) -> NDArray[np.int64]:
    """Return ``(n,) int64`` live rows of fragments, -1 if only files show the number."""
    if isinstance(fragments, FragmentList):
        return fragments.facts[:, 1]
    return np.array([-1 if one.num_rows is None else one.num_rows for one in fragments], np.int64)


def fragment_ids(fragments: Sequence[FragmentMeta]) -> NDArray[np.int64]:
    """Return ``(n,) int64`` ids of fragments."""
    if isinstance(fragments, FragmentList):
        return fragments.facts[:, 0]
    return np.array([one.id for one in fragments], np.int64)


def have_deletions(fragments: Sequence[FragmentMeta]) -> NDArray[np.bool_]:
    """Return ``(n,) bool`` flags of fragments with a deletion file."""
    if isinstance(fragments, FragmentList):
        return fragments.facts[:, 7] != 0
    return np.array([one.deletion is not None for one in fragments], np.bool_)


def first_files(fragments: Sequence[FragmentMeta], folder: str) -> tuple[list[str | None], list[int]]:
    """Return path (None if it needs the fragment object) and bytes, or -1, of each fragment's first data file.

    Parameters
    ----------
    fragments
        The fragments.
    folder
        Prefix of the paths of files in the table's own folder.
    """
    if not isinstance(fragments, FragmentList):
        return [None] * len(fragments), [-1] * len(fragments)
    # Names are ASCII, even if the message has other bytes.
    text, facts = fragments.body.decode("latin-1"), fragments.facts
    starts, sizes = facts[:, 2], facts[:, 3]
    stops = np.where((sizes > 0) & (facts[:, 5] < 0), starts + sizes, 0)
    places = zip(starts.tolist(), stops.tolist(), strict=True)
    return [folder + text[start:stop] if stop else None for start, stop in places], facts[:, 4].tolist()


def only_files(fragments: Sequence[FragmentMeta], folder: str) -> list[str | None]:
    """Return the path of a fragment's only file, in the table's folder; None for fragments with other files.

    Parameters are those of `first_files`.
    """
    paths, _ = first_files(fragments, folder)
    if isinstance(fragments, FragmentList):
        has_others = (fragments.facts[:, 6] != 1) | (fragments.facts[:, 7] != 0)
        for number in np.flatnonzero(has_others).tolist():
            paths[number] = None
    return paths


def fragment_from_message(
    message: table_pb2.DataFragment, *, trusts_counts: bool, next_row_id: int | None, base_ids: Collection[int]
) -> FragmentMeta:
    """Check one fragment of a manifest.

    Parameters
    ----------
    message
        Source: Manifest.fragments.
    trusts_counts
        Whether the writer stored correct counts; early releases did not.
    next_row_id
        The first unused row id; None in tables without stable row ids.
    base_ids
        Ids of the base paths of the manifest.

    Raises
    ------
    CorruptManifestError
        A path leaves its folder, a base path is unknown, counts contradict each other, or row ids are missing.
    UnsupportedError
        Overlays, row ids outside of the manifest, an unknown file version.
    """
    if message.overlays:
        raise UnsupportedError(f"fragment {message.id} has overlay files, which are not supported", detail=message.id)
    row_ids, updated_at, created_at = [_inline(message, oneof) for oneof in _READABLE_FORMS]
    if message.id >= MAX_ROWS or message.physical_rows > MAX_ROWS:
        raise CorruptManifestError(
            f"fragment {message.id} has {message.physical_rows} rows, expected an id and a count of 32 bits",
            detail=message.id,
        )
    if next_row_id is not None and row_ids is None:
        raise CorruptManifestError(f"fragment {message.id} has no row ids, in a table of stable row ids")
    physical_rows = message.physical_rows if trusts_counts and message.physical_rows else None
    if not message.files and physical_rows is None:
        raise CorruptManifestError(f"fragment {message.id} has no data file and no number of rows")
    deletion = _deletion(message, base_ids) if message.HasField("deletion_file") else None
    if deletion is not None and physical_rows is not None and (deletion.num_deleted_rows or 0) > physical_rows:
        raise CorruptManifestError(
            f"fragment {message.id} has {deletion.num_deleted_rows} deleted rows among {physical_rows}"
        )
    return FragmentMeta(
        id=message.id,
        files=tuple([_data_file(file, message.id, base_ids) for file in message.files]),
        physical_rows=physical_rows,
        deletion=deletion,
        row_ids=None if next_row_id is None else row_ids,
        created_at_versions=created_at,
        updated_at_versions=updated_at,
    )


def _data_file(message: table_pb2.DataFile, fragment_id: int, base_ids: Collection[int]) -> DataFileMeta:
    path = check_file_name(message.path, "data file")
    try:
        places, fields, columns, version = _columns(
            tuple(message.fields),
            tuple(message.column_indices),
            (message.file_major_version, message.file_minor_version),
        )
    except LanceError as error:
        error.message = f"data file {path!r} {error.message}"
        raise
    base_id = _base(message, fragment_id, base_ids)
    # Releases 0.27 to 4.0 store the size of 0.1 files before their ends were written.
    size_bytes = None if version is FileVersion.V0_1 else message.file_size_bytes or None
    if size_bytes is not None and size_bytes > _MOST_BYTES:
        raise CorruptManifestError(
            f"data file {path!r} has {size_bytes} bytes, more than 63 bits count",
            detail=size_bytes,
        )
    return DataFileMeta(path, fields, columns, version, size_bytes, base_id, places=places)


@functools.lru_cache(maxsize=1024)
def _columns(
    fields: tuple[int, ...], columns: tuple[int, ...], numbers: tuple[int, int]
) -> tuple[FieldPlaces, tuple[int, ...], tuple[int, ...], FileVersion]:
    """Check the parts of an entry that most files of a table share."""
    version = _VERSION_OF.get(numbers)
    if version is None:
        raise UnsupportedError(f"has the unknown file version {numbers}", detail=numbers)
    if min(fields, default=0) < 0 and any(field < 0 and field != TOMBSTONE for field in fields):
        raise CorruptManifestError(f"has the field id {min(fields)}", detail=fields)
    if version is FileVersion.V0_1:
        return FieldPlaces(fields), fields, (), version
    if len(columns) < len(fields):
        raise CorruptManifestError(f"has {len(fields)} fields, but {len(columns)} columns", detail=columns)
    if min(columns, default=0) < NO_COLUMN:
        raise CorruptManifestError(f"has the physical column {min(columns)}", detail=columns)
    return FieldPlaces(fields), fields, columns, version


def _deletion(message: table_pb2.DataFragment, base_ids: Collection[int]) -> DeletionFileMeta:
    deletion = message.deletion_file
    is_bitmap = deletion.file_type == table_pb2.DeletionFile.BITMAP
    if not is_bitmap and deletion.file_type != table_pb2.DeletionFile.ARROW_ARRAY:
        raise UnsupportedError(f"fragment {message.id} has a deletion file of the unknown type {deletion.file_type}")
    extension = "bin" if is_bitmap else "arrow"
    return DeletionFileMeta(
        name=f"{message.id}-{deletion.read_version}-{deletion.id}.{extension}",
        is_bitmap=is_bitmap,
        read_version=deletion.read_version,
        id=deletion.id,
        num_deleted_rows=deletion.num_deleted_rows or None,
        base_id=_base(deletion, message.id, base_ids),
    )


def _base(
    message: table_pb2.DataFile | table_pb2.DeletionFile, fragment_id: int, base_ids: Collection[int]
) -> int | None:
    if not message.HasField("base_id"):
        return None
    if message.base_id not in base_ids:
        raise CorruptManifestError(
            f"a file of fragment {fragment_id} lies in the base path {message.base_id}, which is not defined",
            detail=message.base_id,
        )
    return message.base_id


def _inline(message: table_pb2.DataFragment, oneof: str) -> bytes | None:
    form = message.WhichOneof(oneof)
    if form is None:
        return None
    if form != _READABLE_FORMS[oneof]:
        raise UnsupportedError(f"fragment {message.id} has {form}, which is not supported", detail=form)
    found: bytes = getattr(message, form)
    return found
