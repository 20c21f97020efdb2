"""`ColumnChange`: columns that are added, dropped, renamed, retyped; files are added, never rewritten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lance_arrow.container.fields import SchemaField, fields_to_messages
from lance_arrow.errors import InternalError
from lance_arrow.manifests.draft import ManifestDraft
from lance_arrow.manifests.fragments import TOMBSTONE
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import check_fragment_known, editable
from lance_arrow.proto.file_schema_pb2 import Field
from lance_arrow.proto.table_pb2 import DataFile, IndexSection, Manifest
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.operations.base import NextVersion, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChange(Operation):
    """Changes columns.

    Parameters
    ----------
    base
        The version it is made from.
    added
        New top-level fields, numbered, to be put at the end.
    dropped
        Ids of fields that go, those below them included.
    replaced
        Fields that take the place of others, by the id of the old one.
    names, nullable
        New names, and whether there may be nulls, by field id.
    files
        Files of the new fields, by fragment.
    """

    base: ManifestMeta
    added: Sequence[SchemaField] = ()
    dropped: frozenset[int] = frozenset()
    replaced: Mapping[int, SchemaField] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    nullable: Mapping[int, bool] = field(default_factory=dict)
    files: Mapping[int, DataFile] = field(default_factory=dict)

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        draft = self.apply(self.base, self.base.version + 1).draft
        head = draft.head
        if not (self.added or self.replaced):
            transaction.project.schema.extend(head.fields)
            transaction.project.preserves_nullability = not self.nullable
            return
        merge = transaction.merge
        merge.SetInParent()
        merge.fragments.extend(draft.fragments)
        merge.schema.extend(head.fields)
        for key in head.schema_metadata:
            merge.schema_metadata[key] = head.schema_metadata[key]
        merge.preserves_nullability = not self.nullable

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("columns of no table")
        draft = editable(base)
        gone = self._change_fields(draft.head)
        for number, file in self.files.items():
            fragment = draft.fragments.get(number)
            check_fragment_known(fragment, base.facts.manifest_path)
            fragment.files.add().CopyFrom(file)
            draft.fragments.put(fragment)
        if gone or self.files:
            drop_dead_files(draft)
        return NextVersion(draft, base, (lambda section: drop_indices_of(section, gone)) if gone else None)

    def _change_fields(self, message: Manifest) -> set[int]:
        """Change the list of fields; return the ids that are no more."""
        gone = set(self.dropped) | set(self.replaced)
        kept: list[Field] = []
        for one in message.fields:
            if one.parent_id in gone:
                # Parents come before their children.
                gone.add(one.id)
            if one.id in self.replaced:
                kept.extend(fields_to_messages([self.replaced[one.id]]))
            elif one.id not in gone:
                changed = Field.FromString(one.SerializeToString())
                changed.name = self.names.get(one.id, one.name)
                changed.nullable = self.nullable.get(one.id, one.nullable)
                kept.append(changed)
        del message.fields[:]
        message.fields.extend(kept)
        message.fields.extend(fields_to_messages(self.added))
        return gone


def drop_dead_files(draft: ManifestDraft) -> None:
    """Drop files that no column is in any more; one stays, for readers that want each fragment to have one."""
    live = {one.id for one in draft.head.fields}
    for fragment in draft.fragments:
        num_files = len(fragment.files)
        for at in range(len(fragment.files) - 1, -1, -1):
            file = fragment.files[at]
            if len(fragment.files) > 1 and not any(number != TOMBSTONE and number in live for number in file.fields):
                del fragment.files[at]
        if len(fragment.files) != num_files:
            draft.fragments.put(fragment)


def drop_indices_of(section: IndexSection, fields: set[int]) -> None:
    """Drop the indices of fields that are gone, or whose values are others now."""
    for at in range(len(section.indices) - 1, -1, -1):
        if fields.intersection(section.indices[at].fields):
            del section.indices[at]


def highest_field_id(base: ManifestMeta) -> int:
    """Return the highest id that a field of the schema, or of a data file, has; -1 for none."""
    ids = [one.id for top in base.fields for one in top.walk()]
    seen: set[tuple[int, ...]] = set()
    for fragment in base.fragments:
        seen.update(file.fields for file in fragment.files)
    return max([*ids, *(number for fields in seen for number in fields)], default=-1)
