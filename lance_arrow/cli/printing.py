"""Lines, tables and numbers as text for eyes."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def to_printable(text: str) -> str:
    """Escape what is not printable: names and values of a file must not steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def print_table(
    console: Console,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[int] | set[int] = frozenset(),
) -> None:
    """Print aligned columns; those whose numbers are in `right` end together."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for at, name in enumerate(columns):
        table.add_column(to_printable(name), justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(to_printable(cell)) for cell in row))
    console.print(table)


def print_line(console: Console, text: str = "") -> None:
    """Print text as it is, what steers terminals escaped."""
    console.print(Text("\n".join(to_printable(line) for line in text.split("\n"))))


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
