"""Search the built site as its search box does, and compare the first page of each search with the right one.

``python docs/site/check_searches.py SITE`` reads ``SITE/search/search_index.json``, as the theme does. Any
word may be found, its end may be missing, nothing is stemmed, and titles outweigh text a thousand times. Hits are
weighed once more by the words that they have, then grouped by page.
"""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from typing import Any

from lunr import get_default_builder
from lunr.index import Index
from lunr.stop_word_filter import stop_word_filter

RIGHT = {
    "append": "how_to/change_tables.html",
    "delete rows": "how_to/change_tables.html",
    "update": "how_to/change_tables.html",
    "merge": "how_to/change_tables.html",
    "upsert": "how_to/change_tables.html",
    "Parquet folder": "how_to/convert_parquet.html",
    "convert": "how_to/convert_parquet.html",
    "S3": "how_to/cloud_storage.html",
    "Azure": "how_to/cloud_storage.html",
    "GCS": "how_to/cloud_storage.html",
    "progress": "how_to/progress.html",
    "memory": "how_to/memory.html",
    "time travel": "how_to/time_travel.html",
    "compact": "how_to/compact.html",
    "clean up": "how_to/compact.html",
    "PyTorch": "how_to/train_with_pytorch.html",
    "stream": "how_to/stream_with_spark.html",
    "Spark": "spark.html",
    "DuckDB": "engines/duckdb.html",
    "Polars": "engines/polars.html",
    "pylance": "coming_from/pylance.html",
    "errors": "reference/errors.html",
    "security": "safety.html",
    "command line": "reference/cli.html",
}
# These lead to the page of clusters where there is one.
CLUSTER_PAGE = "spark_cluster.html"
TAG = re.compile(r"<[^>]*>")


def index_of(documents: list[dict[str, Any]]) -> Index:
    """Return the index that the theme builds of the site's documents."""
    builder = get_default_builder()
    builder.pipeline.reset()
    builder.pipeline.add(stop_word_filter)
    builder.search_pipeline.reset()
    builder.b(0)
    builder.ref("location")
    builder.field("title", boost=1000)
    builder.field("text", boost=1)
    for one in documents:
        held = {name: unescape(TAG.sub(" ", one[name])) for name in ("title", "text")}
        builder.add({"location": one["location"], **held}, {"boost": one.get("boost", 1)})
    return builder.build()


def pages(index: Index, documents: list[dict[str, Any]], words: str) -> list[str]:
    """Return the pages that a search lists, the best first."""
    known = {one["location"] for one in documents}
    wanted = words.lower().split()
    scored = []
    for hit in index.search(" ".join(f"{word}*" for word in wanted)):
        found = hit["match_data"].metadata
        part = sum(any(term.startswith(word) for term in found) for word in wanted) / len(wanted)
        is_page = "#" not in hit["ref"]
        scored.append((hit["score"] * (1 + (is_page + part) ** 2), hit["ref"]))
    ranked = [ref.partition("#")[0] for _, ref in sorted(scored, reverse=True)]
    return [page for page in dict.fromkeys(ranked) if page in known]


def main(site: Path) -> int:
    """Print the pages of each search; return 1 when one does not begin with the right page."""
    documents = json.loads((site / "search" / "search_index.json").read_text())["docs"]
    index = index_of(documents)
    right = dict(RIGHT)
    right["Spark cluster"] = CLUSTER_PAGE if (site / CLUSTER_PAGE).exists() else "spark.html"
    wrong = 0
    for words, page in right.items():
        found = pages(index, documents, words)
        is_right = found[:1] == [page]
        wrong += not is_right
        print(f"{'ok' if is_right else 'NO':3} {words:16} {', '.join(found[:3])}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
