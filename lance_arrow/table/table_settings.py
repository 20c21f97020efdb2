"""`TableSettings`: methods of `LanceTable` for its configuration and its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.table.field_paths import field_at
from lance_arrow.table.late_changes import configuration
from lance_arrow.table.method_arguments import checked_message
from lance_arrow.table.table_handle import TableHandle

if TYPE_CHECKING:
    from lance_arrow.table.operations.configuration import UpdateConfig


class TableSettings(TableHandle):
    """Methods of `LanceTable` that show or change its configuration, and the metadata of table, schema and columns.

    A method that changes the table commits a version and moves this object to it. A method that fails changes neither
    the table nor this object.
    """

    @property
    def config(self) -> Mapping[str, str]:
        """Configuration of the table."""
        return dict(self._manifest.config)

    @property
    def metadata(self) -> Mapping[str, str]:
        """Metadata of the table; the schema and its fields have metadata too, see `schema`."""
        return dict(self._manifest.table_metadata)

    def update_config(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change the configuration of the table.

        Parameters
        ----------
        values
            New values by key; None removes a key.
        replace
            Whether to remove all other keys.
        message
            As for `create`.

        Raises
        ------
        InvalidArgumentError
            A key or value is not a string.
        CommitConflictError
            Another writer set the same keys.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.update_config({"owner": "billing"})
        >>> table.config["owner"]
        'billing'
        """
        self._configure(configuration.UpdateConfig(config=configuration.MapChange(values, bool(replace))), message)

    def update_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change the metadata of the table; arguments and errors are those of `update_config`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.update_metadata({"owner": "billing"})
        >>> table.metadata["owner"]
        'billing'
        """
        self._configure(
            configuration.UpdateConfig(table_metadata=configuration.MapChange(values, bool(replace))), message
        )

    def update_schema_metadata(
        self, values: Mapping[str, str | None], *, replace: bool = False, message: str | None = None
    ) -> None:
        """Change the metadata of the schema; arguments and errors are those of `update_config`.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.update_schema_metadata({"source": None, "unit": "EUR"})
        >>> table.schema.metadata
        {b'unit': b'EUR'}
        """
        self._configure(
            configuration.UpdateConfig(schema_metadata=configuration.MapChange(values, bool(replace))), message
        )

    def update_field_metadata(
        self,
        values: Mapping[str, Mapping[str, str | None]],
        *,
        replace: bool = False,
        message: str | None = None,
    ) -> None:
        """Change the metadata of columns.

        Parameters
        ----------
        values
            Changes by dotted path of the column, each as for `update_config`. Keys that define how values are stored
            cannot be changed.
        replace, message
            As for `update_config`.

        Raises
        ------
        InvalidArgumentError
            As for `update_config`; also if the table has no such column.

        Examples
        --------
        >>> table = lance_arrow.LanceTable.open("flights")
        >>> table.update_field_metadata({"price": {"unit": "EUR"}})
        >>> table.schema.field("price").metadata
        {b'unit': b'EUR'}
        """
        if not isinstance(values, Mapping) or not values:
            raise InvalidArgumentError(f"expected metadata by column, not {values!r}", detail=values)
        changes = {
            field_at(self._manifest.fields, path).id: configuration.MapChange(change, bool(replace))
            for path, change in values.items()
        }
        self._configure(configuration.UpdateConfig(fields=changes), message)

    def _configure(self, operation: UpdateConfig, message: str | None) -> None:
        said = checked_message(message)
        self._move(self._target().retried(self._manifest, lambda base, files: operation, said))
