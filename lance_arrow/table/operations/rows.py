"""`Update`: rows that move to new fragments, changed, and rows that are deleted or added along with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.errors import InternalError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable
from lance_arrow.proto.table_pb2 import DataFragment
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.operations.base import NextVersion, Operation, add_fragments, delete_rows_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Operation):
    """Replaces rows.

    Parameters
    ----------
    updated
        Fragments as they are to be, with their new deletion files.
    removed
        Ids of fragments that have no rows left.
    added
        New fragments, without ids; rows that keep their row ids come first.
    fields
        Ids of the fields that were changed.
    depends_on_keys
        Whether rows were added because there were none of their keys.
    """

    updated: Sequence[DataFragment]
    removed: Sequence[int]
    added: Sequence[DataFragment]
    fields: Sequence[int] = ()
    depends_on_keys: bool = False

    @property
    def finds_keys(self) -> bool:
        """See `Operation.finds_keys`."""
        return self.depends_on_keys

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        update = transaction.update
        update.SetInParent()
        update.updated_fragments.extend(self.updated)
        update.removed_fragment_ids.extend(self.removed)
        update.new_fragments.extend(self.added)
        update.fields_for_preserving_frag_bitmap.extend(self.fields)

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("an update of no table")
        draft = editable(base)
        # Numbers of fragments that go are not given again.
        add_fragments(draft, self.added, version)
        delete_rows_of(draft, self.updated, self.removed, base.facts.manifest_path)
        return NextVersion(draft, base)
