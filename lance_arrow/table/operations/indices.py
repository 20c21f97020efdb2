"""`CreateIndex`: indices that are made, replaced and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable
from lance_arrow.proto.table_pb2 import IndexMetadata, IndexSection
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.operations.base import NextVersion, Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateIndex(Operation):
    """Changes which indices there are.

    Parameters
    ----------
    new
        Indices that are made; others of the same names go.
    removed
        Indices that go.
    """

    new: Sequence[IndexMetadata] = ()
    removed: Sequence[IndexMetadata] = ()

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        transaction.create_index.SetInParent()
        transaction.create_index.new_indices.extend(self.new)
        transaction.create_index.removed_indices.extend(self.removed)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("an index of no table")
        draft = editable(base)
        known = {one.id for one in draft.head.fields}
        for index in self.new:
            if not known.issuperset(index.fields):
                raise InvalidArgumentError(f"the column of the index {index.name!r} is gone", path=base.facts.root)
        return NextVersion(draft, base, self._edit)

    def _edit(self, section: IndexSection) -> None:
        names = {index.name for index in self.new}
        gone = {index.uuid.uuid for index in self.removed}
        for at in range(len(section.indices) - 1, -1, -1):
            if section.indices[at].name in names or section.indices[at].uuid.uuid in gone:
                del section.indices[at]
        section.indices.extend(self.new)
