"""`Operation`: the transaction that records a change, and the version that it makes from the one before.

A rebase applies the same operation to a newer version, which then assigns ids of fragments and rows.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from google.protobuf.message import Message

from lance_arrow.container.fields import SchemaField, fields_to_messages
from lance_arrow.errors import InternalError, InvalidArgumentError, TableExistsError
from lance_arrow.manifests.draft import ManifestDraft
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.row_id_writing import number_rows
from lance_arrow.manifests.writing import (
    check_fragment_known,
    editable,
    has_stable_row_ids,
    next_fragment_id,
    set_stable_row_ids,
)
from lance_arrow.proto.table_pb2 import DataFragment, IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction

_FILE_FORMAT = "lance"
_MAX_FRAGMENT_ID = (1 << 32) - 1
_MAX_ROW_ID = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class NextVersion:
    """A version in the making.

    Parameters
    ----------
    draft
        Its manifest, without the number, time and transaction of the version.
    indices_of
        The version whose index section it has; None for no indices.
    edit_indices
        What changes that section, in place; None when it stays.
    """

    draft: ManifestDraft
    indices_of: ManifestMeta | None
    edit_indices: Callable[[IndexSection], None] | None = None


class Operation(abc.ABC):
    """Something that makes one version of another."""

    @property
    def finds_keys(self) -> bool:
        """Whether it relies on which rows there are: rows that others add since make it wrong."""
        return False

    @property
    def changed_fields(self) -> frozenset[int]:
        """Ids of fields whose values it changes, beyond those that its transaction names."""
        return frozenset()

    @abc.abstractmethod
    def record(self, transaction: Transaction) -> None:
        """Set the operation of a transaction."""

    @abc.abstractmethod
    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """Make a version.

        Parameters
        ----------
        base
            The newest version; None where there is no table yet.
        version
            Number of the new one.

        Raises
        ------
        LanceError
            As `editable`; the operation makes no sense on this version.
        """


@dataclass(frozen=True, slots=True)
class Append(Operation):
    """Adds fragments.

    Parameters
    ----------
    fragments
        Without ids.
    """

    fragments: Sequence[DataFragment]

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        # Set even when there are no fragments.
        transaction.append.SetInParent()
        transaction.append.fragments.extend(self.fragments)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("an append to no table")
        draft = editable(base)
        add_fragments(draft, self.fragments, version)
        return NextVersion(draft, base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overwrite(Operation):
    """Makes a table, or replaces all that is in it.

    Parameters
    ----------
    fragments
        Without ids.
    fields
        Top-level fields of the schema, numbered.
    schema_metadata
        Metadata of the Arrow schema.
    file_version
        File version of new data files.
    stable_row_ids
        Whether a new table has them; None where there is one, which keeps what it has.
    is_new
        Whether there must be no table yet.
    """

    fragments: Sequence[DataFragment]
    fields: Sequence[SchemaField]
    schema_metadata: Mapping[str, bytes] = field(default_factory=dict)
    file_version: str = "2.2"
    stable_row_ids: bool = False
    is_new: bool = False

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.overwrite.SetInParent()
        transaction.overwrite.fragments.extend(self.fragments)
        transaction.overwrite.schema.extend(fields_to_messages(self.fields))
        _fill(transaction.overwrite.schema_metadata, self.schema_metadata)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is not None and self.is_new:
            raise TableExistsError("there is a table here already", path=base.facts.root)
        if base is None:
            draft = ManifestDraft.empty()
            if self.stable_row_ids:
                set_stable_row_ids(draft)
        else:
            draft = editable(base)
            highest = next_fragment_id(draft) - 1
            if highest >= 0:
                draft.head.max_fragment_id = highest
            draft.fragments.clear()
            del draft.head.fields[:]
            draft.head.schema_metadata.clear()
        draft.head.fields.extend(fields_to_messages(self.fields))
        _fill(draft.head.schema_metadata, self.schema_metadata)
        draft.head.data_format.file_format = _FILE_FORMAT
        draft.head.data_format.version = self.file_version
        add_fragments(draft, self.fragments, version)
        return NextVersion(draft, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Operation):
    """Removes rows.

    Parameters
    ----------
    updated
        Fragments as they are to be, with their new deletion files.
    removed
        Ids of fragments that have no rows left.
    predicate
        What was asked for, as text.
    """

    updated: Sequence[DataFragment]
    removed: Sequence[int]
    predicate: str

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.delete.SetInParent()
        transaction.delete.updated_fragments.extend(self.updated)
        transaction.delete.deleted_fragment_ids.extend(self.removed)
        transaction.delete.predicate = self.predicate

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a deletion from no table")
        draft = editable(base)
        delete_rows_of(draft, self.updated, self.removed, base.facts.manifest_path)
        return NextVersion(draft, base)


@dataclass(frozen=True, slots=True)
class Restore(Operation):
    """Makes an older version the newest one again.

    Parameters
    ----------
    old
        That version.
    """

    old: ManifestMeta

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.restore.version = self.old.version

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a restoration of no table")
        newest, draft = editable(base), editable(self.old)
        if has_stable_row_ids(newest) != has_stable_row_ids(draft):
            raise InvalidArgumentError(
                f"version {self.old.version} and the newest one do not both have stable row ids",
                detail=self.old.version,
            )
        # Numbers that were given once are not given again.
        highest = max(next_fragment_id(newest), next_fragment_id(draft)) - 1
        if highest >= 0:
            draft.head.max_fragment_id = highest
        draft.head.next_row_id = max(draft.head.next_row_id, newest.head.next_row_id)
        draft.head.timestamp.CopyFrom(newest.head.timestamp)
        return NextVersion(draft, self.old)


def schema_metadata(schema: pa.Schema) -> dict[str, bytes]:
    """Return the metadata of a schema as manifests hold it."""
    return {key.decode(): value for key, value in (schema.metadata or {}).items()}


def delete_rows_of(draft: ManifestDraft, updated: Sequence[DataFragment], removed: Sequence[int], path: str) -> None:
    """Give fragments the deletion files of `updated`, and drop the fragments without rows."""
    for fragment in updated:
        held = draft.fragments.get(fragment.id)
        check_fragment_known(held, path)
        held.deletion_file.CopyFrom(fragment.deletion_file)
        draft.fragments.put(held)
    drop_fragments(draft, removed)


def drop_fragments(draft: ManifestDraft, ids: Iterable[int]) -> None:
    """Remove fragments by id, from this version on."""
    gone = set(ids)
    if gone:
        draft.head.max_fragment_id = next_fragment_id(draft) - 1
        draft.fragments.drop(gone)


def add_fragments(draft: ManifestDraft, fragments: Sequence[DataFragment], version: int) -> None:
    """Add fragments, numbered on; in tables with stable row ids, rows without an id are numbered on too."""
    head = draft.head
    for number, fragment in enumerate(fragments, start=next_fragment_id(draft)):
        if number > _MAX_FRAGMENT_ID:
            raise InvalidArgumentError("no ids are left for fragments: copy the table")
        added = DataFragment()
        added.CopyFrom(fragment)
        added.id = number
        head.max_fragment_id = number
        if has_stable_row_ids(draft):
            if head.next_row_id > _MAX_ROW_ID - added.physical_rows:
                raise InvalidArgumentError("no ids are left for rows: copy the table")
            head.next_row_id += number_rows(added, head.next_row_id, version)
        draft.fragments.add(added)


def _fill(target: Message | Mapping[str, bytes], values: Mapping[str, bytes]) -> None:
    for key, value in values.items():
        target[key] = value  # type: ignore[index]
