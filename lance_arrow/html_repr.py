"""Building blocks of HTML for notebooks and pages: facts, tables, bars. Text is escaped, and cut where it is long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import pyarrow as pa

from lance_arrow.errors import LanceError

if TYPE_CHECKING:
    from lance_arrow.container.file_reader import LanceFileReader
    from lance_arrow.manifests.fragments import FragmentMeta

COLOURS = ("#3b74c4", "#d9822b", "#3a9a5b", "#b5478f", "#8a6fd1", "#a6862c", "#2b9aa8", "#7d858f")
"""Colours of segments, readable on white and on black. The last one is shared by small segments."""

_MAX_FIELDS = 50
_MAX_BARS = 12
_MAX_CHARACTERS = 160


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a bar.

    Parameters
    ----------
    amount
        Its length, in the unit of the bar.
    title
        Text of the tooltip.
    colour
        Index in `COLOURS`.
    """

    amount: float
    title: str
    colour: int


def as_html(title: str, facts: Mapping[str, str], schema: pa.Schema | None = None, drawn: str = "") -> str:
    """Lay out facts, HTML that is drawn already, and the first fifty fields of a schema."""
    parts = [f"<div><strong>{shown(title)}</strong>", html_table((), facts.items()), drawn]
    if schema is not None:
        fields = [
            (schema.field(at).name, str(schema.field(at).type), "yes" if schema.field(at).nullable else "no")
            for at in range(min(len(schema), _MAX_FIELDS))
        ]
        parts.append(html_table(("column", "type", "nullable"), fields))
        if len(schema) > _MAX_FIELDS:
            parts.append(f"<p>and {len(schema) - _MAX_FIELDS:,} more columns</p>")
    return "".join([*parts, "</div>"])


def html_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows of text."""
    return _table(header, ([shown(cell) for cell in row] for row in rows))


def bar_table(header: Sequence[str], rows: Iterable[tuple[str, str, str]]) -> str:
    """Lay out bars for a notebook: each with a name and an amount as text, and the HTML of `bar`."""
    wide = '<div style="width:20em;max-width:50vw">'
    return _table(header, ([shown(name), shown(amount), f"{wide}{drawn}</div>"] for name, amount, drawn in rows))


def file_bars(file: LanceFileReader) -> str:
    """Draw the bytes of the largest of a file's first columns; reads their metadata."""
    leaves = file.leaves[:_MAX_FIELDS]
    try:
        metas = file.columns([leaf.column for leaf in leaves])
    except (LanceError, OSError) as error:
        # A damaged or closed file is shown with what is known of it.
        return f"<p>bytes of columns unknown: {shown(str(error))}</p>"
    sizes = [
        (int(meta.buffer_sizes.sum()) + sum(int(page.buffer_sizes.sum()) for page in meta.pages), leaf.path)
        for leaf, meta in zip(leaves, metas, strict=True)
    ]
    ordered = sorted(sizes, reverse=True)[:_MAX_BARS]
    whole = max(ordered, default=(0, ""))[0] or 1
    rows = [(path, f"{size:,} B", bar([Segment(size, f"{size:,} B", 0)], whole)) for size, path in ordered]
    more = len(file.leaves) - len(ordered)
    return bar_table(("column", "bytes", ""), rows) + (f"<p>and {more:,} more columns</p>" if more else "")


def fragment_bars(fragments: Sequence[FragmentMeta]) -> str:
    """Draw live and deleted rows of the first fragments; reads nothing."""
    counts = []
    for at in range(min(len(fragments), _MAX_BARS)):
        one = fragments[at]
        deleted = 0 if one.deletion is None else one.deletion.num_deleted_rows or 0
        counts.append((one.id, one.num_rows or 0, deleted))
    whole = max((live + deleted for _, live, deleted in counts), default=0) or 1
    rows = [
        (
            f"fragment {number}",
            f"{live:,} rows" + (f", {deleted:,} deleted" if deleted else ""),
            bar([Segment(live, f"{live:,} rows", 0), Segment(deleted, f"{deleted:,} deleted rows", 1)], whole),
        )
        for number, live, deleted in counts
    ]
    more = len(fragments) - len(counts)
    return bar_table((), rows) + (f"<p>and {more:,} more fragments</p>" if more else "")


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{shown(cell)}</th>" for cell in header)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"


def shown(text: str, *, most: int = _MAX_CHARACTERS) -> str:
    """Escape text for HTML, with control characters and lone surrogates; beyond `most` the middle is left out."""
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]}…{text[-half:]}"
    if not text.isprintable():
        text = "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)
    return escape(text)


def bar(segments: Iterable[Segment], whole: float) -> str:
    """Draw segments side by side; each takes its share of `whole` of the width.

    Styles stand in the elements: notebooks may drop style sheets.
    """
    drawn = "".join(
        f'<i title="{shown(one.title)}" style="flex:none;width:{100 * one.amount / whole:.2f}%;'
        f'background:{COLOURS[one.colour]};box-shadow:inset -1px 0 #fff8"></i>'
        for one in segments
        if one.amount > 0
    )
    return f'<div class="bar" style="display:flex;height:.9em;overflow:hidden;background:#8882">{drawn}</div>'
