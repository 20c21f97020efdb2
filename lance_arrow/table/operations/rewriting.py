"""`ReserveFragments` and `Rewrite`: the two commits of a compaction. Rows move as they are, and indices follow them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyroaring

from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.manifests.fragments import MAX_ROWS
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable, next_fragment_id
from lance_arrow.proto.table_pb2 import DataFragment, IndexMetadata, IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.indices.coverage import IndexCoverage, moved_coverage
from lance_arrow.table.operations.base import NextVersion, Operation, drop_fragments


@dataclass(frozen=True, slots=True)
class ReserveFragments(Operation):
    """Takes ids that fragments will have.

    Parameters
    ----------
    count
        How many: the highest of the version that is made.
    """

    count: int

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.reserve_fragments.num_fragments = self.count

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a reservation in no table")
        draft = editable(base)
        highest = next_fragment_id(draft) - 1 + self.count
        if highest >= MAX_ROWS:
            raise InvalidArgumentError("no ids are left for fragments: copy the table")
        draft.head.max_fragment_id = highest
        return NextVersion(draft, base)


@dataclass(frozen=True, slots=True)
class RewriteGroup:
    """Fragments that become others.

    Parameters
    ----------
    old
        As they are.
    new
        With their ids, which were reserved, and what is known of their rows.
    """

    old: Sequence[DataFragment]
    new: Sequence[DataFragment]


@dataclass(frozen=True, slots=True)
class Rewrite(Operation):
    """Puts fragments in the place of others.

    Parameters
    ----------
    groups
        Which.
    dropped_indices
        Names of indices that go, because they name rows by where these lay.
    remade_indices
        By the UUID of an index, the one with other entries that takes its place.
    """

    groups: Sequence[RewriteGroup]
    dropped_indices: frozenset[str] = frozenset()
    remade_indices: Mapping[bytes, IndexMetadata] = field(default_factory=dict)

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.rewrite.SetInParent()
        for group in self.groups:
            transaction.rewrite.groups.add(old_fragments=group.old, new_fragments=group.new)
        for old, index in self.remade_indices.items():
            made = transaction.rewrite.rewritten_indices.add(
                new_index_details=index.index_details,
                new_index_version=index.index_version,
                new_index_files=index.files,
            )
            made.old_id.uuid = old
            made.new_id.CopyFrom(index.uuid)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a compaction of no table")
        draft = editable(base)
        gone = {fragment.id for group in self.groups for fragment in group.old}
        new = [fragment for group in self.groups for fragment in group.new]
        drop_fragments(draft, gone)
        for fragment in new:
            draft.fragments.add(fragment)
        draft.head.max_fragment_id = next_fragment_id(draft) - 1
        stable = base.facts.has_stable_row_ids
        return NextVersion(draft, base, lambda section: self._edit_indices(section, sorted(gone), stable))

    def _edit_indices(self, section: IndexSection, moved: Sequence[int], stable_row_ids: bool) -> None:
        """Let indices follow the rows; each of them either holds what does not change, or was remade or dropped."""
        for at in range(len(section.indices) - 1, -1, -1):
            if section.indices[at].name in self.dropped_indices:
                del section.indices[at]
        held = IndexSection(indices=[one for one in section.indices if one.uuid.uuid not in self.remade_indices])
        if IndexCoverage(held, moved, stable_row_ids=stable_row_ids).broken_by_moving(moved):
            raise InternalError("an index names moved rows by where they lay, and no transaction told")
        for index in section.indices:
            made = self.remade_indices.get(index.uuid.uuid)
            if made is not None:
                bitmap = index.fragment_bitmap
                index.CopyFrom(made)
                index.fragment_bitmap = bitmap
        moved_coverage(
            section,
            [
                (pyroaring.BitMap(one.id for one in group.old), pyroaring.BitMap(one.id for one in group.new))
                for group in self.groups
            ],
        )
