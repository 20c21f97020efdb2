"""Aligned columns as lines of text: in one block where they fit, else with folded cells, else in several blocks.

| The table is | Layout |
|---|---|
| no wider than the output, or the output is no terminal | one block, one line a row |
| wider, but every column can keep 20 characters | one block, long cells folded over several lines |
| wider than that | blocks of columns that fit, each with the leading columns again; 20 rows at a time |
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest

_GAP = "  "
# A column is folded only where this many characters are left for a line of it.
_LEAST_FOLDED = 20
# Rows of a group: its blocks follow each other, so that the parts of one row stay near each other.
_GROUP_ROWS = 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text, and whether it is a heading."""

    text: str
    is_heading: bool = False


def lay_out(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Set[int] = frozenset(),
    leading: int = 1,
    numbered: str | None = None,
    width: int | None = None,
) -> Iterator[Line]:
    """Lay out a table.

    Parameters
    ----------
    columns
        Headings, printable.
    rows
        Cells of each row, printable.
    right
        Columns whose cells end together.
    leading
        How many of the first columns tell which row it is: each block has them.
    numbered
        Heading of a column of row numbers, which is put first where there are several blocks; none when None.
    width
        Characters of a line; unlimited when None.
    """
    table = _Table(columns, rows, right)
    everything = range(len(columns))
    if width is None or table.line_width(everything, table.widths) <= width:
        yield from table.block(everything, table.widths, rows)
        return
    cap = _cap(table.widths, width - len(_GAP) * (len(columns) - 1))
    if cap >= _LEAST_FOLDED or len(columns) == 1:
        yield from table.block(everything, [min(own, max(cap, 1)) for own in table.widths], rows)
        return
    if numbered is not None:
        rows = [(str(number), *row) for number, row in enumerate(rows)]
        columns, right, leading = [numbered, *columns], {0, *(at + 1 for at in right)}, leading + 1
        table = _Table(columns, rows, right)
    # At least half of the line is for the columns that differ from block to block.
    most = max(1, (width // 2 - len(_GAP) * leading) // max(1, leading))
    widths = [min(own, most) for own in table.widths[:leading]]
    left = width - sum(widths) - len(_GAP) * leading
    widths += [min(own, max(left, 1)) for own in table.widths[leading:]]
    blocks = _blocks(widths, leading, left)
    is_first = True
    for start in range(0, max(1, len(rows)), _GROUP_ROWS):
        for block in blocks:
            if not is_first:
                yield Line("")
            is_first = False
            yield from table.block([*range(leading), *block], widths, rows[start : start + _GROUP_ROWS])


def fitting_columns(
    columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[int], width: int
) -> list[int]:
    """Choose the columns to show: leave out optional ones, the first of them first, until the others fit.

    Parameters
    ----------
    columns, rows
        As for `lay_out`.
    optional
        Columns that may be left out.
    width
        Characters of a line.

    Returns
    -------
    list
        Numbers of the columns to show. Without all optional ones, they may still be too wide.
    """
    table = _Table(columns, rows, frozenset())
    kept = list(range(len(columns)))
    for at in optional:
        if table.line_width(kept, table.widths) <= width:
            break
        kept.remove(at)
    return kept


def display_width(text: str) -> int:
    """Return how many columns of a terminal a printable text takes."""
    return len(text) if text.isascii() else sum(map(_character_width, text))


@functools.lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


class _Table:
    """Cells of a table, and how wide its columns are."""

    def __init__(self, columns: Sequence[str], rows: Sequence[Sequence[str]], right: Set[int]) -> None:
        self._columns = columns
        self._right = right
        self.widths = [display_width(name) for name in columns]
        for at, cells in enumerate(zip(*rows, strict=True)):
            self.widths[at] = max(self.widths[at], *map(display_width, cells))

    @staticmethod
    def line_width(chosen: Sequence[int], widths: Sequence[int]) -> int:
        """Return how wide a line of some columns is."""
        return sum(widths[at] for at in chosen) + len(_GAP) * (len(chosen) - 1)

    def block(self, chosen: Sequence[int], widths: Sequence[int], rows: Sequence[Sequence[str]]) -> Iterator[Line]:
        """Yield the lines of some columns, heading first."""
        for text in self._lines(self._columns, chosen, widths):
            yield Line(text, is_heading=True)
        is_folded = any(self.widths[at] > widths[at] for at in chosen)
        for row in rows:
            if is_folded:
                yield from map(Line, self._lines(row, chosen, widths))
            else:
                yield Line(self._line([row[at] for at in chosen], chosen, widths))

    def _lines(self, cells: Sequence[str], chosen: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
        """Yield one row, over several lines where a cell is wider than its column."""
        parts = [_folded(cells[at], widths[at]) for at in chosen]
        for line in zip_longest(*parts, fillvalue=""):
            yield self._line(line, chosen, widths)

    def _line(self, cells: Sequence[str], chosen: Sequence[int], widths: Sequence[int]) -> str:
        padded = []
        for at, cell in zip(chosen, cells, strict=True):
            # Python pads by characters, a terminal by columns.
            room = widths[at] if cell.isascii() else widths[at] + len(cell) - display_width(cell)
            padded.append(cell.rjust(room) if at in self._right else cell.ljust(room))
        return _GAP.join(padded).rstrip()


def _cap(widths: Sequence[int], room: int) -> int:
    """Return the largest width that columns may have at most, so that all of them together fit."""
    left = room
    for place, own in enumerate(sorted(widths)):
        share = left // (len(widths) - place)
        if own > share:
            return share
        left -= own
    return max(widths, default=0)


def _blocks(widths: Sequence[int], leading: int, room: int) -> list[list[int]]:
    """Put the columns after the leading ones into blocks, in order."""
    blocks: list[list[int]] = []
    left = 0
    for at in range(leading, len(widths)):
        if not blocks or widths[at] > left:
            blocks.append([])
            left = room
        blocks[-1].append(at)
        left -= widths[at] + len(_GAP)
    return blocks


def _folded(cell: str, width: int) -> list[str]:
    """Cut a cell into lines, behind a space where there is one in the last half of a line."""
    if display_width(cell) <= width:
        return [cell]
    lines = []
    while display_width(cell) > width:
        end = taken = 0
        for end, character in enumerate(cell):  # noqa: B007 - the place where the loop stops is what is wanted
            taken += _character_width(character)
            if taken > width:
                break
        end = max(end, 1)
        space = cell.rfind(" ", end // 2, end + 1)
        if space > 0:
            end = space + 1
        lines.append(cell[:end].rstrip())
        cell = cell[end:]
    return [*lines, cell] if cell else lines
