"""Draw the pictures of docs/performance.md: bars of the figures in figures.json, as SVG; `python docs/site/draw.py`."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
IMAGES = HERE.parent / "images"
COLOURS = ("#00695c", "#90a4ae", "#c98b2b")
WIDTH, LABEL, RIGHT = 720, 170, 60
BAR, GAP, TOP, BOTTOM = 13, 12, 64, 30


def picture(chart: dict[str, Any]) -> str:
    """Return one chart: a group of bars for each row, a bar for each series."""
    series, rows = chart["series"], chart["rows"]
    most = max(value for values in rows.values() for value in values)
    scale = (WIDTH - LABEL - RIGHT) / max(most, chart.get("line", 0))
    group = len(series) * BAR + GAP
    height = TOP + len(rows) * group + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="12" role="img">',
        f"<title>{escape(chart['title'])}</title>",
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        f'<text x="16" y="24" font-size="14" font-weight="600" fill="#263238">{escape(chart["title"])}</text>',
    ]
    left = 16
    for name, colour in zip(series, COLOURS, strict=False):
        parts.append(f'<rect x="{left}" y="37" width="11" height="11" fill="{colour}"/>')
        parts.append(f'<text x="{left + 16}" y="47" fill="#455a64">{escape(name)}</text>')
        left += 40 + 7 * len(name)
    for number, (label, values) in enumerate(rows.items()):
        top = TOP + number * group
        middle = top + len(series) * BAR / 2 + 4
        parts.append(f'<text x="{LABEL - 8}" y="{middle:g}" text-anchor="end" fill="#263238">{escape(label)}</text>')
        for place, value in enumerate(values):
            y, wide = top + place * BAR, value * scale
            colour = COLOURS[place]
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{wide:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            text = f"{value:g}{chart['unit']}"
            parts.append(f'<text x="{LABEL + wide + 5:.1f}" y="{y + 9.5}" font-size="10" fill="#455a64">{text}</text>')
    if "line" in chart:
        x = LABEL + chart["line"] * scale
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP - 6}" y2="{height - BOTTOM}" stroke="#b71c1c" '
            'stroke-dasharray="3 3"/>'
        )
    parts.append(f'<text x="16" y="{height - 12}" font-size="11" fill="#607d8b">{escape(chart["command"])}</text>')
    return "\n".join([*parts, "</svg>", ""])


def pictures() -> dict[str, str]:
    """Return all charts by the name of their file."""
    return {chart["file"]: picture(chart) for chart in json.loads((HERE / "figures.json").read_text())}


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, text in pictures().items():
        (IMAGES / name).write_text(text)
