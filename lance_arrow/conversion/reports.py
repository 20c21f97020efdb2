"""Reports of `convert` and `export`: inputs, changes of columns, written and verified files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from lance_arrow.files.verification import VerifyCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReport:
    """One input of a conversion.

    Parameters
    ----------
    path
        Where it is, free of credentials.
    format
        Format of the input: ``"parquet"``, ``"csv"``, ``"json"``, ``"ipc"``, ``"ipc_stream"``, ``"orc"``, ``"lance"``
        or ``"table"``.
    num_rows, size_bytes
        Rows read, and stored bytes; None if the filesystem does not report the size.
    retyped
        Columns whose type in the target is another one: name to ``"int32 -> int64"``.
    filled
        Columns of the target that this input does not have: null in all its rows.
    partition
        Keys that its folders give, as text: ``{"year": "2024"}``; None for a null.
    """

    path: str
    format: str
    num_rows: int
    size_bytes: int | None
    retyped: dict[str, str] = field(default_factory=dict)
    filled: list[str] = field(default_factory=list)
    partition: dict[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertReport:
    """Result of `convert`: inputs, the new file or table, and its verification.

    Parameters
    ----------
    sources
        Each input, in the order its rows were written.
    target
        Where the new file or table is, free of credentials.
    target_kind
        ``"file"`` or ``"table"``.
    table_version
        The version that was made; None for a file.
    file_version
        Version of the Lance files.
    num_rows, num_bytes
        Rows written, and bytes of the files that hold them.
    source_bytes
        Bytes of all inputs; None if a filesystem does not report sizes.
    columns
        Columns of the rows written, in order.
    partition_columns
        Those that come from names of folders.
    verified
        Whether the target holds as many rows as were read, every checksum was compared, and every page was decoded.
        Values are not compared with the source. False in a dry run.
    checked
        How much was compared and decoded.
    seconds
        Time taken, verification included.
    is_dry_run
        Whether nothing was written: then `table_version` is None, and `num_bytes` is 0.

    Examples
    --------
    >>> report = lance_arrow.convert("flights.parquet", "converted.lance")
    >>> report.target_kind, report.file_version, report.num_rows
    ('file', '2.2', 100)
    """

    sources: list[SourceReport]
    target: str
    target_kind: Literal["file", "table"]
    table_version: int | None
    file_version: str
    num_rows: int
    num_bytes: int
    source_bytes: int | None
    columns: list[str]
    partition_columns: list[str]
    verified: bool
    checked: VerifyCounts
    seconds: float
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """Result of `export`.

    Parameters
    ----------
    source, source_kind
        What was read: ``"file"`` or ``"table"``.
    table_version
        The version that was read; None for a file.
    target, format
        What was written.
    num_rows, num_bytes
        Rows and bytes written.
    columns
        Columns written, in order.
    seconds
        Time taken.

    Examples
    --------
    >>> report = lance_arrow.export("flights.lance", "flights.csv")
    >>> report.source_kind, report.format, report.num_rows
    ('file', 'csv', 100)
    """

    source: str
    source_kind: Literal["file", "table"]
    table_version: int | None
    target: str
    format: str
    num_rows: int
    num_bytes: int
    columns: list[str]
    seconds: float
