"""Tables with an index of each kind that the reference makes, and questions that it answers by them and without.

Each column has one index. Values tell the row and when they were written: an entry that is out of date finds a row that
does not have the value, or misses one that has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from same import assert_same
from witness import Witness

from lance_arrow import LanceTable

KEY = "key"
DIMENSION = 16
# By column: kind, options, and whether its entries are row ids where these are stable.
INDICES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "number": ("BTREE", {}, False),
    "category": ("BITMAP", {}, True),
    "labels": ("LABEL_LIST", {}, True),
    "name": ("NGRAM", {}, True),
    "bounded": ("ZONEMAP", {}, False),
    "code": ("BLOOMFILTER", {}, False),
    "words": ("INVERTED", {"with_position": True}, True),
    "quantized": ("IVF_PQ", {"num_partitions": 2, "num_sub_vectors": 8}, True),
    "graph": ("IVF_HNSW_SQ", {"num_partitions": 1}, True),
}
COLUMNS = tuple(INDICES)
BY_ROW_ID = tuple(column for column, (_, _, by_row_id) in INDICES.items() if by_row_id)
BY_ADDRESS = tuple(column for column in COLUMNS if column not in BY_ROW_ID)
# Kinds whose files are understood here, so that addresses in them are made those that rows have now.
REMADE = ("number", "category", "name", "bounded")
VECTORS = ("quantized", "graph")


def rows_of(keys: Sequence[int], stage: int = 0) -> pa.Table:
    """Rows of some keys; values are others at each stage."""
    count = len(keys)
    random = np.random.default_rng([stage, *keys[:1]])
    marks = [key + 7 * stage for key in keys]

    def vectors() -> pa.Array:
        return pa.FixedSizeListArray.from_arrays(pa.array(random.random(count * DIMENSION), pa.float32()), DIMENSION)

    return pa.table(
        {
            KEY: pa.array(keys, pa.int64()),
            "number": pa.array([None if mark % 29 == 5 else mark * 3 for mark in marks], pa.int64()),
            "category": [None if mark % 31 == 4 else f"c{mark % 9}" for mark in marks],
            "labels": pa.array([[f"l{mark % 5}", f"s{stage}"] for mark in marks], pa.list_(pa.string())),
            "name": [f"stage {stage} of number {mark}" for mark in marks],
            "bounded": pa.array([mark + 10_000 * stage for mark in marks], pa.int64()),
            "code": [f"code-{mark}-{stage}" for mark in marks],
            "words": [f"word{mark % 11} other{mark % 7} stage{stage}" for mark in marks],
            "quantized": vectors(),
            "graph": vectors(),
            "plain": pa.array(marks, pa.int32()),
        }
    )


def make_table(
    witness: Witness, path: Path, *, stable: bool, columns: Sequence[str] = COLUMNS, fragments: int = 3, rows: int = 100
) -> None:
    """Let the reference write a table of some fragments, and an index of each column."""
    data = rows_of(range(fragments * rows))
    witness.write_directory(data, path, "2.2", max_rows_per_file=rows, enable_stable_row_ids=stable)
    witness.make_indices(path, [(column, *INDICES[column][:2]) for column in columns])


def index_names(columns: Sequence[str]) -> list[str]:
    """Return the names that the reference gives to the indices of columns."""
    return sorted(f"{column}_idx" for column in columns)


def questions(stages: Sequence[int] = (0, 1, 2, 3)) -> list[dict[str, Any]]:
    """Questions for each index, about values of some stages."""
    found: list[dict[str, Any]] = [
        {"filter": text}
        for text in (
            "number = 30", "number >= 270 AND number < 330", "number IN (3, 600, 603, 720)", "number IS NULL",
            "category = 'c3'", "category IN ('c1', 'c8')", "category IS NULL", "array_has_any(labels, ['l1', 'l4'])",
            "bounded < 20", "bounded >= 10000", "contains(name, 'number 27')",
            "category = 'c3' AND number < 300 AND contains(name, 'number 2')",
        )
    ]  # fmt: skip
    for stage in stages:
        found += [
            {"filter": f"array_has_any(labels, ['s{stage}'])"},
            {"filter": f"contains(name, 'stage {stage}')"},
            {"filter": f"bounded >= {10_000 * stage} AND bounded < {10_000 * stage + 120}"},
            {"filter": f"code IN ('code-{40 + 7 * stage}-{stage}', 'code-{150 + 7 * stage}-{stage}')"},
            {"text": f"stage{stage}", "column": "words"},
        ]
    found += [{"text": "word3", "column": "words"}, {"text": "other5", "column": "words", "filter": "number < 300"}]
    random = np.random.default_rng(11)
    for column in VECTORS:
        for _ in range(2):
            nearest = {"column": column, "q": random.random(DIMENSION).tolist(), "k": 12}
            found += [{"nearest": nearest}, {"nearest": nearest, "filter": "number < 200"}]
    return found


def assert_indices_right(
    witness: Witness, path: Path, step: str, asked: Sequence[dict[str, Any]], branch: str | None = None
) -> list[dict[str, Any]]:
    """Compare what the reference finds by indices with what is there, and its rows with ours; return its answers.

    Of filters and vectors the reference says itself what is there, without its indices. It searches words by an index
    only: what it finds is compared with the words of the rows.
    """
    ours = LanceTable.open(path, branch=branch).to_table()
    assert_same(ours, witness.read_version(path, None, branch))
    by_index = witness.index_answers(path, KEY, asked, use_index=True, branch=branch)
    scanned = [question for question in asked if "text" not in question]
    without = iter(witness.index_answers(path, KEY, scanned, use_index=False, branch=branch))
    for question, answer in zip(asked, by_index, strict=True):
        expected = _holders(ours, question) if "text" in question else next(without)["keys"]
        assert answer["keys"] == expected, f"after {step}: {question}"
    return by_index


def _holders(rows: pa.Table, question: dict[str, Any]) -> list[int]:
    """Return the keys of rows that hold a word."""
    if question.get("filter") == "number < 300":
        rows = rows.filter(pc.field("number") < 300)
    else:
        assert "filter" not in question
    pairs = zip(rows[KEY].to_pylist(), rows[question["column"]].to_pylist(), strict=True)
    return sorted(key for key, text in pairs if text is not None and question["text"] in text.split())
