"""Rows of plain values as a table for eyes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lance_arrow.cli.plain_values import plain
from lance_arrow.cli.printing import Console, print_table

_MAX_CELL_CHARACTERS = 60


def print_rows(console: Console, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows, numbers right-aligned; where their columns do not fit side by side, each block numbers the rows."""
    held = [[row[name] for row in rows] for name in columns]
    right = {at for at, values in enumerate(held) if all(map(_is_number, values))}
    cells = [list(map(cell, values)) for values in held]
    print_table(console, columns, list(zip(*cells, strict=True)) if columns else [], right, leading=0, numbered="row")


def cell(value: Any) -> str:
    """Return a plain value as the text of one cell; long ones are shortened."""
    if value is None:
        return "null"
    if isinstance(value, str):
        text = value
    elif isinstance(value, (dict, list)):
        text = json.dumps(plain(value), ensure_ascii=False)
    else:
        # NaN is a value to eyes, only JSON lacks it.
        text = str(value if isinstance(value, (bool, int, float)) else plain(value))
    return text if len(text) <= _MAX_CELL_CHARACTERS else text[: _MAX_CELL_CHARACTERS - 1] + "…"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
