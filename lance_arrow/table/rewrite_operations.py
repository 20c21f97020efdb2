"""`ReserveFragments` and `Rewrite`: the two commits of a compaction. Rows stay what they are, and move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyroaring

from lance_arrow.errors import CorruptManifestError, InternalError, InvalidArgumentError
from lance_arrow.manifests.fragments import MAX_ROWS
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable, next_fragment_id
from lance_arrow.proto.table_pb2 import DataFragment, IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.operations import NextVersion, Operation, drop_fragments


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
        message = editable(base)
        highest = next_fragment_id(message) - 1 + self.count
        if highest >= MAX_ROWS:
            raise InvalidArgumentError("no ids are left for fragments: copy the table")
        message.max_fragment_id = highest
        return NextVersion(message, base)


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
    """

    groups: Sequence[RewriteGroup]

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.rewrite.SetInParent()
        for group in self.groups:
            transaction.rewrite.groups.add(old_fragments=group.old, new_fragments=group.new)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a compaction of no table")
        message = editable(base)
        gone = {fragment.id for group in self.groups for fragment in group.old}
        if not gone <= {fragment.id for fragment in message.fragments}:
            raise InternalError("a fragment has gone, and no transaction told")
        new = [fragment for group in self.groups for fragment in group.new]
        drop_fragments(message, gone)
        message.fragments.extend(new)
        message.max_fragment_id = max([next_fragment_id(message) - 1, *(fragment.id for fragment in new)])
        left = pyroaring.BitMap(fragment.id for fragment in message.fragments)
        return NextVersion(message, base, lambda section: _drop_uncovered(section, left))


def _drop_uncovered(section: IndexSection, left: pyroaring.BitMap) -> None:
    """Drop indices that cover no fragment any more.

    The others still name the fragments that are gone: readers drop what they find in these.
    """
    for at in range(len(section.indices) - 1, -1, -1):
        covered = fragments_of(section.indices[at].fragment_bitmap)
        if covered is not None and not covered & left:
            del section.indices[at]


def fragments_of(data: bytes) -> pyroaring.BitMap | None:
    """Read which fragments an index covers; None where nobody knows.

    Raises
    ------
    CorruptManifestError
        It is no roaring bitmap.
    """
    if not data:
        return None
    try:
        return pyroaring.BitMap.deserialize(data)
    except (ValueError, IndexError) as error:
        raise CorruptManifestError(f"an index covers what is no roaring bitmap: {error}") from error
