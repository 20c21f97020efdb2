"""Versions of a table on lines: one for each branch, on one scale of version numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lance_arrow.cli.log_render import VERSION_COLUMNS, number_text, version_cells
from lance_arrow.cli.log_view import VersionReport, tags_of, version_report
from lance_arrow.cli.pages.page_parts import note, section, table
from lance_arrow.errors import LanceError
from lance_arrow.html_repr import shown
from lance_arrow.io import Location
from lance_arrow.manifests.references import BranchMeta, line_name, read_branches, read_tags
from lance_arrow.runtime import default_runtime
from lance_arrow.table.history import read_history

_MAX_LINES = 20
_MAX_DOTS = 100
_MAX_LISTED = 50


@dataclass(frozen=True, slots=True)
class _Line:
    name: str
    parent: BranchMeta | None
    versions: list[VersionReport]


def lines_section(root: Location, branch: str | None, version: int | None, found: list[LanceError | OSError]) -> str:
    """Draw the versions of all branches, and list the newest of `branch`.

    Parameters
    ----------
    root
        Folder of the table.
    branch, version
        What the page is about; the version is None if it cannot be read.
    found
        Errors of what cannot be read go there.
    """
    try:
        tags, branches = read_tags(root), read_branches(root)
    except (LanceError, OSError) as error:
        found.append(error)
        tags, branches = {}, {}
    own = line_name(branch)
    names = [None, *sorted(branches)]
    hidden = len(names) - _MAX_LINES
    names = [*names[:_MAX_LINES], *([own] if own in names[_MAX_LINES:] else [])]
    lines = []
    for name in names:
        try:
            history = read_history(root, name, default_runtime().settings.limits)
        except (LanceError, OSError) as error:
            found.append(error)
            continue
        marks = tags_of(tags, name)
        parent = None if name is None else branches[name]
        lines.append(_Line(name or "main", parent, [version_report(one, marks) for one in history]))
    if not any(line.versions for line in lines):
        return section("Versions", note("No version can be read."))
    numbers = [one.version for line in lines for one in line.versions]
    numbers += [line.parent.parent_version for line in lines if line.parent is not None]
    low, high = min(numbers), max(numbers)
    drawn = [_draw(line, low, high, version if line.name == (own or "main") else None) for line in lines]
    if hidden > 0:
        drawn.append(note(f"… and {hidden:,} more branches"))
    said = f"Versions {low:,} to {high:,} from left to right; tagged ones are orange, the one of this page is framed."
    listed = next((line for line in lines if line.name == (own or "main")), lines[0])
    return section("Versions", note(said), *drawn, _list(listed))


def _draw(line: _Line, low: int, high: int, current: int | None) -> str:
    versions = sorted(line.versions, key=lambda one: one.version)
    dots = _chosen(versions, current)
    origin = ""
    numbers = [one.version for one in versions]
    if line.parent is not None:
        numbers.append(line.parent.parent_version)
        origin = f", from version {line.parent.parent_version:,} of {line.parent.parent_branch or 'main'}"
    left, right = (_percent(ends(numbers), low, high) for ends in (min, max)) if numbers else (0.0, 0.0)
    marks = "".join(_dot(one, _percent(one.version, low, high), one.version == current) for one in dots)
    cut = "" if len(dots) == len(versions) else f", {len(dots):,} of them drawn"
    amount = "1 version" if len(versions) == 1 else f"{len(versions):,} versions"
    return (
        f'<div><strong>{shown(line.name)}</strong> <span class="note">{shown(f"{amount}{cut}{origin}")}</span>'
        f'<div class="line"><b style="left:{left:.2f}%;width:{right - left:.2f}%"></b>{marks}</div></div>'
    )


def _chosen(versions: Sequence[VersionReport], current: int | None) -> list[VersionReport]:
    """Choose versions to draw: evenly, with the last one, the current one, and the newest tagged ones."""
    if len(versions) <= _MAX_DOTS:
        return list(versions)
    step = -(-len(versions) // (_MAX_DOTS // 2))
    tagged = [one.version for one in versions if one.tags][-_MAX_DOTS // 2 :]
    kept = {one.version for one in versions[::step]} | {versions[-1].version, *tagged}
    return [one for one in versions if one.version in kept or one.version == current]


def _dot(one: VersionReport, place: float, is_current: bool) -> str:
    classes = " ".join(word for word, holds in (("tagged", one.tags), ("shown", is_current)) if holds)
    tags = f", tags {', '.join(one.tags)}" if one.tags else ""
    title = f"version {one.version:,}: {one.operation or 'unknown'}, {number_text(one.num_rows)} rows{tags}"
    return f'<i class="{classes}" style="left:{place:.2f}%" title="{shown(title)}"></i>'


def _percent(version: int, low: int, high: int) -> float:
    return 50.0 if high == low else 100 * (version - low) / (high - low)


def _list(line: _Line) -> str:
    newest = sorted(line.versions, key=lambda one: -one.version)
    more = len(newest) - _MAX_LISTED
    listed = table(VERSION_COLUMNS, [version_cells(one) for one in newest[:_MAX_LISTED]])
    return listed + (note(f"… and {more:,} earlier versions of {line.name}") if more > 0 else "")
