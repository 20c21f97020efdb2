"""`TableSalvageReport`: what a salvage of a table could save, and what it could not."""

from __future__ import annotations

from dataclasses import dataclass, field

from lance_arrow.files.salvaging.reports import LostRows


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableVersion:
    """A version of the table that is newer than the salvaged one, and why it cannot be read."""

    version: int
    type: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FragmentReport:
    """What was saved of one fragment.

    Parameters
    ----------
    id
        Number of the fragment.
    num_rows
        Live rows; None if neither the manifest nor a data file tells.
    rows_saved, rows_with_nulls
        As for `SalvageReport`.
    left_out
        Other live rows, as half-open ranges of row numbers of the fragment's files. Deleted rows have numbers, too.
    deleted
        Deleted rows, in the same form. None if their file is lost.
    """

    id: int
    num_rows: int | None
    rows_saved: int = 0
    rows_with_nulls: int = 0
    left_out: list[tuple[int, int]] = field(default_factory=list)
    deleted: list[tuple[int, int]] | None = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class TableSalvageReport:
    """What was saved of a damaged table.

    Parameters
    ----------
    path
        Path of the damaged table, without credentials.
    version
        Version that was salvaged.
    is_proven
        Whether the manifest, the deletion files and all saved values were compared with checksums.
    num_rows
        Live rows of the version; None if unknown.
    rows_saved, rows_with_nulls, columns_left_out
        As for `SalvageReport`.
    unreadable
        Newer versions, which cannot be read.
    fragments
        All fragments, in order; saved rows are in the same order.
    lost
        Rows lost for each column and fragment, with the cause.
    repaired
        Data files with a damaged end that is known nevertheless, and what of it.
    target
        Path of what was written; None if nothing was.
    ok
        Whether nothing was lost, and no newer version is unreadable.

    Examples
    --------
    >>> report = lance_arrow.salvage("flights")
    >>> report.version, report.rows_saved, report.unreadable
    (1, 100, [])
    """

    path: str
    version: int
    is_proven: bool = True
    num_rows: int | None = None
    rows_saved: int = 0
    rows_with_nulls: int = 0
    columns_left_out: list[str] = field(default_factory=list)
    unreadable: list[UnreadableVersion] = field(default_factory=list)
    fragments: list[FragmentReport] = field(default_factory=list)
    lost: list[LostRows] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    target: str | None = None
    ok: bool = True
