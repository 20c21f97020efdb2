"""The frame of a page of HTML: style, sections, rows with bars. It refers to nothing outside of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from lance_arrow.cli.render import ErrorReport
from lance_arrow.html_repr import COLOURS, Segment, bar, html_table, shown

MAX_ROWS = 200
"""Columns or fragments that a page shows; the others are summed up."""
MAX_SEGMENTS = 16
"""Parts of one bar; neighbours are put together beyond it."""
_MAX_PROBLEMS = 50
_MAX_PROSE = 1000

_STYLE = """
:root{color-scheme:light dark;--ink:#1c2128;--soft:#5b6470;--paper:#fff;--line:#d8dde3;--bad:#b3261e;--zone:#3b74c4}
@media (prefers-color-scheme:dark){
:root{--ink:#e4e8ed;--soft:#9aa4b0;--paper:#14171b;--line:#343b44;--bad:#ff8a80;--zone:#7aa9ec}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.25rem}h2{font-size:1.05rem;margin:2rem 0 .3rem;border-top:1px solid var(--line);padding-top:.8rem}
p{margin:.3rem 0;max-width:60rem}.note,.detail{color:var(--soft);font-size:.85rem}
.scroll{overflow-x:auto}table{border-collapse:collapse}
td,th{padding:.1rem .8rem .1rem 0;text-align:left;vertical-align:top;overflow-wrap:normal}
.facts td:last-child{overflow-wrap:anywhere}
.problem{color:var(--bad);border-left:3px solid;padding-left:.6rem}
.row{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 .8rem;padding:.2rem 0}
.row .bar,.row .detail{grid-column:1/-1}
.amount{text-align:right;font-variant-numeric:tabular-nums;overflow-wrap:normal}
.key{display:inline-flex;align-items:center;gap:.3rem;margin-right:1rem}.key i{flex:none;width:.8rem;height:.8rem}
figure{margin:1rem 0}svg{display:block;width:100%;height:8rem;border:1px solid var(--line)}
rect{fill:var(--zone);fill-opacity:.5;stroke:var(--zone);vector-effect:non-scaling-stroke}
rect.pale{fill-opacity:.08;stroke-opacity:.35}
rect.unknown{fill-opacity:.12;stroke-dasharray:3 3}svg line{stroke:var(--line);vector-effect:non-scaling-stroke}
.line{position:relative;height:1.4rem;margin:0 .5rem}
.line b{position:absolute;top:.65rem;height:2px;background:var(--soft)}
.line i{position:absolute;top:.35rem;width:.7rem;height:.7rem;margin-left:-.35rem;border-radius:50%;
background:var(--zone);border:1px solid var(--paper)}
.line i.tagged{background:#d9822b}.line i.shown{outline:2px solid var(--ink)}
@media (min-width:900px){.row{grid-template-columns:16rem minmax(0,1fr) 20rem}
.row .name{grid-area:1/1}.row .bar{grid-area:1/2;align-self:center}.row .amount{grid-area:1/3}
.row .detail{grid-column:2/-1}}
""".replace("\n", "")


def document(title: str, sections: Iterable[str]) -> str:
    """Return a page. It is ASCII: what the encoding of a stream lacks is written as references to characters."""
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{shown(title)}</title><style>{_STYLE}</style></head><body>\n<main><h1>{shown(title)}</h1>\n"
        + "\n".join(one for one in sections if one)
        + "\n</main></body></html>\n"
    )
    return page.encode("ascii", "xmlcharrefreplace").decode("ascii")


def section(title: str, *parts: str) -> str:
    """Return a section: a heading, and HTML below it."""
    return f"<section><h2>{shown(title)}</h2>{''.join(parts)}</section>"


def note(text: str) -> str:
    """Return a remark."""
    return f'<p class="note">{shown(text, most=_MAX_PROSE)}</p>'


def facts(values: Mapping[str, str]) -> str:
    """Return a table of names and values."""
    return f'<div class="facts">{html_table((), values.items())}</div>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table that scrolls by itself where the page is narrow."""
    return f'<div class="scroll">{html_table(header, rows)}</div>'


def row(name: str, amount: str, drawn: str, detail: str = "", *, num_bytes: int | None = None) -> str:
    """Return a bar with a name, an amount and details as text; `num_bytes` is for programs that read the page."""
    data = "" if num_bytes is None else f' data-bytes="{num_bytes}"'
    below = f'<div class="detail">{shown(detail)}</div>' if detail else ""
    return (
        f'<div class="row"{data}><div class="name">{shown(name)}</div>'
        f'<div class="amount">{shown(amount)}</div>{drawn}{below}</div>'
    )


def merged_bar(segments: Sequence[Segment], whole: float) -> str:
    """Draw a bar of at most `MAX_SEGMENTS` parts: neighbours are put together, in the colour of the largest."""
    if len(segments) > MAX_SEGMENTS:
        step = -(-len(segments) // MAX_SEGMENTS)
        groups = [segments[at : at + step] for at in range(0, len(segments), step)]
        segments = [
            Segment(
                sum(one.amount for one in group),
                group[0].title if len(group) == 1 else f"{group[0].title} … {group[-1].title}",
                max(group, key=lambda one: one.amount).colour,
            )
            for group in groups
        ]
    return bar(segments, whole)


def legend(names: Mapping[str, int]) -> str:
    """Return what each colour means."""
    keys = (
        f'<span class="key"><i style="background:{COLOURS[colour]}"></i>{shown(name)}</span>'
        for name, colour in names.items()
    )
    return f"<p>{''.join(keys)}</p>"


def colours_of(amounts: Mapping[str, int]) -> dict[str, int]:
    """Give the largest amounts colours of their own; the others share the last one."""
    ordered = sorted(amounts, key=lambda name: -amounts[name])
    return {name: min(at, len(COLOURS) - 1) for at, name in enumerate(ordered)}


def legend_of(colours: Mapping[str, int]) -> str:
    """Return the legend of `colours_of`."""
    last = len(COLOURS) - 1
    own = {name: colour for name, colour in colours.items() if colour < last}
    others = len(colours) - len(own)
    return legend({**own, **({f"{others:,} others": last} if others else {})})


def problems(found: Sequence[ErrorReport]) -> str:
    """Return what is wrong and where; empty if nothing is."""
    if not found:
        return ""
    lines = [
        f'<div class="problem"><p>{shown(one.message, most=_MAX_PROSE)}</p>{note(_place(one))}</div>' for one in found
    ]
    more = len(found) - _MAX_PROBLEMS
    return section("What is wrong", *lines[:_MAX_PROBLEMS], note(f"… and {more:,} more") if more > 0 else "")


def _place(one: ErrorReport) -> str:
    places = {
        "file": one.path,
        "column": one.column,
        "page": one.page,
        "bytes": None if one.byte_range is None else f"{one.byte_range[0]:,} to {one.byte_range[1]:,}",
    }
    known = ", ".join(f"{what} {where}" for what, where in places.items() if where is not None)
    return f"{one.type}: {known or 'place unknown'}"
