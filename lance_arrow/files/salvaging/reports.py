"""`SalvageReport`: what a salvage could save, and what it could not, with places and causes."""

from __future__ import annotations

from dataclasses import dataclass, field

from lance_arrow.errors import LanceError


@dataclass(frozen=True, slots=True, kw_only=True)
class LostRows:
    """Rows of one column that cannot be read, or are not to be believed.

    Parameters
    ----------
    column
        Dotted path of the column; None if a file or a deletion file as a whole is lost.
    rows
        Half-open range of row numbers, as the file counts them.
    type, message
        Name of the error that a reader raises, and its description.
    page, byte_range
        Place of the damage: number of the page in the column, half-open bytes of the file. None if unknown.
    path, fragment
        The damaged file if it is known, and the number of the fragment of a table.
    """

    column: str | None
    rows: tuple[int, int]
    type: str
    message: str
    page: int | None = None
    byte_range: tuple[int, int] | None = None
    path: str | None = None
    fragment: int | None = None

    @classmethod
    def of(cls, error: LanceError, column: str | None, rows: tuple[int, int]) -> LostRows:
        """Note what an error costs. The error names the leaf, which may lie below `column`."""
        return cls(
            column=error.column if error.column is not None else column,
            rows=rows,
            type=type(error).__name__,
            message=error.message,
            page=error.page,
            byte_range=error.byte_range,
            path=error.path,
        )

    def __str__(self) -> str:
        place = {name: getattr(self, name) for name in ("path", "column", "page", "byte_range")}
        fragment = "" if self.fragment is None else f"fragment {self.fragment}, "
        return f"{fragment}rows {self.rows[0]}..{self.rows[1]}: {LanceError(self.message, **place)}"


@dataclass(slots=True, kw_only=True)
class SalvageReport:
    """What was saved of a damaged file.

    Parameters
    ----------
    path
        Path of the damaged file, without credentials.
    version
        Version of the file.
    is_proven
        Whether every saved value was compared with a checksum. Otherwise, saved pages only do not contradict
        themselves: a changed value cannot be told from the original one.
    num_rows
        Rows that the file declares.
    rows_saved
        Rows that are returned or written, with nulls in place of lost values.
    rows_with_nulls
        Rows among them that have such nulls.
    left_out
        Other rows, as half-open ranges of row numbers of the damaged file. The saved rows are in the same order as
        before, so their numbers follow.
    columns_left_out
        Columns that cannot be read at all, and are not in the result.
    lost
        Rows lost for each column, with the cause.
    repaired
        What of the metadata was damaged and is known nevertheless, in words.
    target
        Path of what was written; None if nothing was.
    ok
        Whether nothing was lost.

    Examples
    --------
    >>> report = lance_arrow.salvage("flights.lance")
    >>> report.is_proven, report.rows_saved, report.lost
    (True, 100, [])
    """

    path: str
    version: str
    is_proven: bool
    num_rows: int
    rows_saved: int = 0
    rows_with_nulls: int = 0
    left_out: list[tuple[int, int]] = field(default_factory=list)
    columns_left_out: list[str] = field(default_factory=list)
    lost: list[LostRows] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    target: str | None = None
    ok: bool = True
