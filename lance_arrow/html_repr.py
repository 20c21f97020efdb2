"""What notebooks show: a title, facts, and a schema, as a small table; everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

import pyarrow as pa

_MAX_FIELDS = 50


def as_html(title: str, facts: Mapping[str, str], schema: pa.Schema | None = None) -> str:
    """Lay out facts, and the fields of a schema, the first fifty of them."""
    parts = [f"<div><strong>{escape(title)}</strong>", html_table((), facts.items())]
    if schema is not None:
        fields = [(field.name, str(field.type), "yes" if field.nullable else "no") for field in schema][:_MAX_FIELDS]
        parts.append(html_table(("column", "type", "nullable"), fields))
        if len(schema) > _MAX_FIELDS:
            parts.append(f"<p>and {len(schema) - _MAX_FIELDS:,} more columns</p>")
    return "".join([*parts, "</div>"])


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows of text."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
