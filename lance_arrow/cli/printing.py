"""Lines, tables and numbers as text for eyes."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence, Set
from typing import TextIO

from lance_arrow.cli.layout import Line, fitting_columns, lay_out

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
# A character takes at most 4 bytes, and a pipe on Linux takes 4096 bytes whole or not at all (PIPE_BUF). If the
# reader closes the pipe during a larger write, an unbuffered stdout drops the rest without an error.
_PIECE_CHARACTERS = 1024
FULL_BLOCK = "█"
NOTHING_WRITTEN = "dry run: nothing was written"
_BLOCKS = " ▏▎▍▌▋▊▉█"
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"


class Console:
    """Output of text for people.

    Parameters
    ----------
    out
        The stream; characters that its encoding lacks are escaped.
    is_wide
        Whether lines are as long as they need to be, on a terminal too.
    """

    def __init__(self, out: TextIO, *, is_wide: bool = False) -> None:
        self._out = out
        is_terminal = out.isatty()
        # Of COLUMNS, else of the terminal, else 80.
        columns = None if is_wide else shutil.get_terminal_size().columns
        self.width: int | None = columns if is_terminal else None
        """Characters of a line; None where lines have no end."""
        self.summary_width: int | None = columns
        """Characters of a line of a summary, which is cut to its width in files and pipes too; None with `is_wide`."""
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb" or os.name == "nt"
        self.has_bold = is_terminal and not is_plain
        """Whether headings are bold."""
        self.has_bars = is_terminal and _can_show(out, FULL_BLOCK)
        """Whether amounts are drawn as bars too: on a terminal that has the characters."""

    def write(self, lines: Iterable[str]) -> None:
        """Write printable lines."""
        write_pieces(self._out, (f"{line}\n" for line in lines))


def write_pieces(out: TextIO, texts: Iterable[str]) -> None:
    """Write texts in pieces that a pipe takes whole, so that a closed pipe is noticed.

    Raises
    ------
    BrokenPipeError
        The reader closed the pipe.
    """
    held: list[str] = []
    num_held = 0
    for text in texts:
        held.append(text)
        num_held += len(text)
        if num_held >= _PIECE_CHARACTERS:
            _write(out, "".join(held))
            held, num_held = [], 0
    _write(out, "".join(held))


def _write(out: TextIO, text: str) -> None:
    encoding = out.encoding or "utf-8"
    text = text.encode(encoding, "backslashreplace").decode(encoding)
    for start in range(0, len(text), _PIECE_CHARACTERS):
        out.write(text[start : start + _PIECE_CHARACTERS])


def to_printable(text: str) -> str:
    """Escape control characters: names and values of a file must not steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Set[int] = frozenset(),
    *,
    leading: int = 1,
    numbered: str | None = None,
) -> None:
    """Print aligned columns; the arguments are those of `lay_out`, which says what becomes of wide tables."""
    lines = lay_out(
        [to_printable(name) for name in columns],
        [[to_printable(cell) for cell in row] for row in rows],
        right=right,
        leading=leading,
        numbered=numbered,
        width=console.width,
    )
    _print_lines(console, lines)


def _print_lines(console: Console, lines: Iterable[Line]) -> None:
    console.write(f"{_BOLD}{one.text}{_PLAIN}" if one.is_heading and console.has_bold else one.text for one in lines)


def print_summary(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Set[int] = frozenset(),
    *,
    optional: Sequence[int],
) -> None:
    """Print aligned columns in the width of a line; say which columns are left out, and how to see them.

    Parameters
    ----------
    columns, rows, right
        As for `print_table`.
    optional
        Columns that are left out, in this order, until the others fit.
    """
    width = console.summary_width
    if width is None:
        print_table(console, columns, rows, right)
        return
    columns = [to_printable(name) for name in columns]
    rows = [[to_printable(cell) for cell in row] for row in rows]
    kept = fitting_columns(columns, rows, optional, width)
    shown = [[row[at] for at in kept] for row in rows]
    left = {place for place, at in enumerate(kept) if at in right}
    _print_lines(console, lay_out([columns[at] for at in kept], shown, right=left, width=width))
    if len(kept) < len(columns):
        missing = ", ".join(name for at, name in enumerate(columns) if at not in kept)
        print_line(console)
        print_line(console, f"not shown: {missing} (--wide shows all)")


def print_line(console: Console, text: str = "") -> None:
    """Print text as it is, what steers terminals escaped."""
    console.write(to_printable(line).rstrip() for line in text.split("\n"))


def subject(path: str, num_rows: int, *, version: str | None, table_version: int | None = None) -> str:
    """Return the first line of a report: what it is about."""
    table = "" if table_version is None else f"version {table_version}, "
    files = "files of several Lance versions" if version is None else f"Lance {version}"
    return f"{path}: {table}{files}, {count(num_rows, 'row')}"


def text_bar(share: float, width: int) -> str:
    """Draw a share between 0 and 1 in at most `width` characters, to an eighth of one; shares above 0 can be seen."""
    eighths = max(round(share * width * 8), 1 if share > 0 else 0)
    whole, part = divmod(eighths, 8)
    return FULL_BLOCK * whole + (_BLOCKS[part] if part else "")


def text_span(start: float, stop: float, width: int) -> str:
    """Draw a range between 0 and 1 as blocks at its place in `width` characters, at least one block."""
    first = min(int(start * width), width - 1)
    last = max(min(round(stop * width), width), first + 1)
    return "·" * first + FULL_BLOCK * (last - first) + "·" * (width - last)


def _can_show(out: TextIO, text: str) -> bool:
    try:
        text.encode(out.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return os.environ.get("TERM") != "dumb"


def size(num_bytes: int) -> str:
    """Return bytes as people say them."""
    amount = float(num_bytes)
    unit = 0
    while amount >= 1024 and unit < len(_BYTE_UNITS) - 1:
        amount /= 1024
        unit += 1
    return f"{num_bytes:,} B" if unit == 0 else f"{num_bytes:,} B ({amount:.1f} {_BYTE_UNITS[unit]})"


def count(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def two_digits(value: float | None) -> str:
    """Return a number with two digits; nothing for None."""
    return "" if value is None else f"{value:.2f}"
