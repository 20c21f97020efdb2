"""`UpdateConfig`: configuration of a table, and metadata of the table, its schema and its fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lance_arrow.errors import InternalError, InvalidArgumentError
from lance_arrow.manifests.manifest import ManifestMeta
from lance_arrow.manifests.writing import editable
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.operations.base import NextVersion, Operation

# These keys describe how bytes of data files are stored.
_FIXED = ("lance-encoding:blob", "lance-encoding:packed", "packed", "ARROW:extension:")


@dataclass(frozen=True, slots=True)
class MapChange:
    """Change of a map of strings.

    Parameters
    ----------
    values
        New values by key; None removes a key.
    replace
        Whether to remove all other keys.
    """

    values: Mapping[str, str | None]
    replace: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise InvalidArgumentError(f"expected keys and values, not {self.values!r}", detail=self.values)
        for key, value in self.values.items():
            if not isinstance(key, str) or not key or not isinstance(value, str | None):
                raise InvalidArgumentError(f"expected texts, or None to remove a key, not {key!r}: {value!r}")

    def fill(self, message: Transaction.UpdateMap) -> None:
        """Record it."""
        message.SetInParent()
        message.replace = self.replace
        for key, value in self.values.items():
            entry = message.update_entries.add(key=key)
            if value is not None:
                entry.value = value

    def change(self, target: object, *, binary: bool) -> None:
        """Do it to a map of a message, whose values are bytes or texts."""
        if self.replace:
            target.clear()  # type: ignore[attr-defined]
        for key, value in self.values.items():
            if value is not None:
                target[key] = value.encode() if binary else value  # type: ignore[index]
            elif key in target:  # type: ignore[operator]
                del target[key]  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateConfig(Operation):
    """Changes configuration and metadata.

    Parameters
    ----------
    config, table_metadata, schema_metadata
        Changes of these; None leaves them.
    fields
        Changes of the metadata of fields, by id.
    """

    config: MapChange | None = None
    table_metadata: MapChange | None = None
    schema_metadata: MapChange | None = None
    fields: Mapping[int, MapChange] = field(default_factory=dict)

    def record(self, transaction: Transaction) -> None:
        """See `Operation.record`."""
        update = transaction.update_config
        update.SetInParent()
        if self.config is not None:
            self.config.fill(update.config_updates)
        if self.table_metadata is not None:
            self.table_metadata.fill(update.table_metadata_updates)
        if self.schema_metadata is not None:
            self.schema_metadata.fill(update.schema_metadata_updates)
        for number, change in self.fields.items():
            change.fill(update.field_metadata_updates[number])

    def apply(self, base: ManifestMeta | None, version: int) -> NextVersion:
        """See `Operation.apply`."""
        if base is None:
            raise InternalError("a configuration of no table")
        draft = editable(base)
        message = draft.head
        if self.config is not None:
            self.config.change(message.config, binary=False)
        if self.table_metadata is not None:
            self.table_metadata.change(message.table_metadata, binary=False)
        if self.schema_metadata is not None:
            self.schema_metadata.change(message.schema_metadata, binary=True)
        for one in message.fields:
            change = self.fields.get(one.id)
            if change is None:
                continue
            before = {key: value for key, value in one.metadata.items() if key.startswith(_FIXED)}
            change.change(one.metadata, binary=True)
            if before != {key: value for key, value in one.metadata.items() if key.startswith(_FIXED)}:
                raise InvalidArgumentError(
                    f"metadata of keys {', '.join(_FIXED)} say how values are stored, and cannot be changed",
                    column=one.name,
                )
        return NextVersion(draft, base)
