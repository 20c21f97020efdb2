"""`EditResult`: the version that a change of rows made, and how many rows it changed."""

from __future__ import annotations

from collections.abc import Mapping

_VERBS = {
    "num_inserted_rows": "inserted",
    "num_updated_rows": "updated",
    "num_deleted_rows": "deleted",
    "num_restored_rows": "restored",
}


class EditResult(dict[str, int]):
    """Result of a change of rows: counts by name, and one line of text.

    Counts are ``num_inserted_rows``, ``num_updated_rows``, ``num_deleted_rows`` and ``num_restored_rows``. Each kind of
    change has those that it can make. It is a dictionary of them: empty where a version does not record its rows.

    Parameters
    ----------
    operation
        Name of the method that made the change.
    version
        The version that was made.
    counts
        Numbers of rows.

    Examples
    --------
    >>> table = lance_arrow.LanceTable.open("flights")
    >>> result = table.delete("id < 10")
    >>> print(result)
    delete: 10 rows deleted, version 2
    >>> result["num_deleted_rows"], result.version
    (10, 2)
    """

    def __init__(self, operation: str, version: int, counts: Mapping[str, int]) -> None:
        super().__init__(counts)
        self.operation = operation
        self.version = version

    def __str__(self) -> str:
        changed = [
            f"{count:,} {'row' if count == 1 else 'rows'} {_VERBS[name]}" for name, count in self.items() if count
        ]
        if self:
            changed = changed or ["no rows changed"]
        return f"{self.operation}: {', '.join([*changed, f'version {self.version}'])}"

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self.items())
        return f"EditResult(operation={self.operation!r}, version={self.version}{', ' if counts else ''}{counts})"

    def __reduce__(self) -> tuple[object, ...]:
        return EditResult, (self.operation, self.version, dict(self))
