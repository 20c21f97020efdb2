"""What the configuration of the site cannot say: the pages of two folders, and which pages searches find last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent
# How much a hit on a page counts in a search: tasks come first, pages for maintainers last.
WEIGHTS = {
    "how_to/index": 0.5,
    "how_to/": 2,
    "spark": 3,
    "reference/api": 0.2,
    "decisions/": 0.01,
    "changes/": 0.01,
    "format/": 0.1,
    "how_it_flows": 0.05,
    "project": 0.05,
    "releasing": 0.05,
    "benchmarks": 0.05,
    "interoperability": 0.1,
}


def on_config(config: Any) -> Any:
    """Replace each folder in the navigation by its pages, newest first."""
    config.nav = _opened(config.nav)
    return config


def _opened(entry: Any) -> Any:
    if isinstance(entry, list):
        return [_opened(one) for one in entry]
    if isinstance(entry, dict):
        return {title: _opened(held) for title, held in entry.items()}
    if isinstance(entry, str) and entry.endswith("/"):
        pages = sorted((DOCS / entry).glob("*.md"), key=_order, reverse=True)
        return [{_title(page): f"{entry}{page.name}"} for page in pages]
    return entry


def _order(page: Path) -> tuple[int, str]:
    return int(re.match(r"\d+", page.name)[0]), page.name


def _title(page: Path) -> str:
    heading = re.match(r"# (.+)\n", page.read_text())
    if heading:
        return heading[1]
    number, *kind = page.stem.split(".")
    return f"Issue {number}: {' '.join(kind)}"


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Weigh pages for searches, and give change notes a heading."""
    source = page.file.src_uri
    weight = next((one for name, one in WEIGHTS.items() if source.startswith(name)), None)
    if weight is not None:
        page.meta.setdefault("search", {}).setdefault("boost", weight)
    if source.startswith("changes/") and not markdown.startswith("# "):
        markdown = f"# {_title(DOCS / source)}\n\n{markdown}"
    return markdown
