"""`inspect --html`: a page about a file or a table, into a file or to the standard output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lance_arrow.cli.pages.file_page import file_page
from lance_arrow.cli.pages.table_page import table_page
from lance_arrow.cli.render import ErrorReport
from lance_arrow.cli.targets import Target, check_is_file
from lance_arrow.errors import InvalidArgumentError
from lance_arrow.manifests.path_kinds import PathKind

_START = b"<!DOCTYPE html>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageReport:
    """A page.

    Parameters
    ----------
    path
        The file or table.
    output
        File that has the page; None if `html` is to be printed.
    size_bytes
        Of the page.
    problems
        What is wrong with the file or table.
    html
        The page; None if it is in `output`.
    """

    path: str
    output: str | None
    size_bytes: int
    problems: list[ErrorReport]
    html: str | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def inspect_page(target: Target, *, columns: Sequence[str] | None, output: Path | None) -> PageReport:
    """Make a page about a file or a table, also if it is damaged.

    Raises
    ------
    InvalidArgumentError
        The target is a folder of files, there is no such column or version, or `output` is another kind of file.
    OSError
        The target cannot be read, or `output` not be written.
    """
    if output is not None:
        check_output(output)
    if target.kind() is PathKind.TABLE:
        html, problems = table_page(
            target.uri,
            version=target.version,
            branch=target.branch,
            columns=columns,
            storage_options=target.storage_options,
        )
    else:
        check_is_file(target, command="inspect --html", instead="name")
        html, problems = file_page(target.uri, columns=columns, storage_options=target.storage_options)
    if output is not None:
        output.write_text(html, encoding="ascii")
    return PageReport(
        path=target.place.name,
        output=None if output is None else str(output),
        size_bytes=len(html),
        problems=problems,
        html=html if output is None else None,
    )


def check_output(output: Path) -> None:
    """Refuse to replace files other than pages: a mistyped name must not cost data."""
    if not output.exists():
        return
    if output.is_file():
        with output.open("rb") as file:
            if file.read(len(_START)) in (b"", _START):
                return
    raise InvalidArgumentError(
        f"--output {str(output)!r} exists and is not an HTML page: choose another name, or remove it",
        detail=str(output),
    )
