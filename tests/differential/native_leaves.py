"""Counts the leaves of random tables that the native engine reads, and why it leaves the others to the layouts.

`python tests/differential/native_leaves.py --version 2.2 --count 300` prints shares and reasons;
`test_native_leaves.py` asserts shares.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "support")]

import fsspec  # noqa: E402
import pyarrow as pa  # noqa: E402
from random_tables import random_case  # noqa: E402
from witness import Witness, WitnessDied, WitnessRefused  # noqa: E402

import lance_arrow  # noqa: E402
from lance_arrow.arrays.column_tree import LeafNode  # noqa: E402
from lance_arrow.errors import UnsupportedError  # noqa: E402
from lance_arrow.scan.legacy.v2_0_row_reader import V20RowReader  # noqa: E402
from lance_arrow.scan.native_take import TakePlan  # noqa: E402
from lance_arrow.scan.row_reader import RowReader  # noqa: E402

VERSIONS = ("2.0", "2.1", "2.2", "2.3")
WAYS = ("scan", "take", "far scan", "far take")
SHOWN_REASONS = 30


@contextmanager
def _left_to_layouts() -> Iterator[dict[int, str]]:
    """Collect the leaves whose pages layouts in Python decode, by physical column, and why."""
    left: dict[int, str] = {}

    def noting(decode: Any) -> Any:
        def noted(reader: RowReader, leaves: Sequence[LeafNode], *rest: Any) -> Any:
            left.update({leaf.column: _reason(reader, leaf) for leaf in leaves})
            return decode(reader, leaves, *rest)

        return noted

    with (
        patch.object(RowReader, "_decode_leaves", noting(RowReader._decode_leaves)),
        patch.object(V20RowReader, "_decode_leaves", noting(V20RowReader._decode_leaves)),
    ):
        yield left


def _reason(reader: RowReader, leaf: LeafNode) -> str:
    """Say what the engine does not take: the leaf, or pages of some layouts."""
    if TakePlan.of(leaf) is None:
        return _kind(leaf)
    (meta,) = reader.metas([leaf])
    layouts = {_layout(reader._bound(leaf, meta, number)) for number in range(len(meta.pages))}
    return f"{_kind(leaf)}: {'; '.join(sorted(layouts))}"


def _layout(layout: Any) -> str:
    """Name a bound layout and what it is made of."""
    parts = [getattr(layout, name, None) for name in ("array", "values", "items")]
    return " ".join([type(layout).__name__, *[_layout(part) for part in parts if part is not None]])


def _read(path: Path, column: str, way: str) -> None:
    filesystem = None
    if way.startswith("far"):
        filesystem = fsspec.filesystem("memory")
        filesystem.pipe_file("/far.lance", path.read_bytes())
    source = "/far.lance" if filesystem is not None else path
    with lance_arrow.LanceFile(source, filesystem=filesystem) as file:
        if way.endswith("scan"):
            file.read(columns=[column])
        else:
            num_rows = file.num_rows
            file.take(sorted({0, num_rows // 3, num_rows - 1}), columns=[column])


def _kind(leaf: LeafNode) -> str:
    """Name what a leaf is, for the table of reasons."""
    storage = leaf.storage
    if pa.types.is_dictionary(storage):
        kind = "dictionary"
    elif leaf.leaf.shape is None:
        kind = "no values"
    else:
        kind = type(leaf.leaf.shape).__name__
    above = sorted({one.name.lower() for one in leaf.leaf.nodes[1:]})
    in_lists_of_2_0 = any(one is not None for one in leaf.list_columns)
    return f"{kind} in {'+'.join(above) or 'nothing'}{' of 2.0' if in_lists_of_2_0 else ''}"


def count(version: str, seeds: Sequence[int], witness: Witness, folder: Path) -> tuple[Counter[str], Counter[str]]:
    """Read the tables of some seeds in every way.

    Returns
    -------
    counts
        Leaves read in each way (``all``), and those that the engine read.
    reasons
        What is left to the layouts, and how often.
    """
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in seeds:
        case = random_case(seed, version)
        path = folder / f"{version}-{seed}.lance"
        try:
            witness.write(case.table, path, version, slices=case.slices, **case.writer_options)
        except (WitnessRefused, WitnessDied):
            continue
        with lance_arrow.LanceFile(path) as file:
            names = file.schema.names if file.num_rows else []
        for name in names:
            _count_column(path, name, version, counts, reasons)
        path.unlink()
    return counts, reasons


def _count_column(path: Path, name: str, version: str, counts: Counter[str], reasons: Counter[str]) -> None:
    with lance_arrow.LanceFile(path) as file:
        nodes = [node for node in file._rows.roots if node.field.name == name]
        leaves = [leaf for node in nodes for leaf in node.leaves()]
    for way in WAYS:
        with _left_to_layouts() as left:
            try:
                _read(path, name, way)
            except UnsupportedError:
                return
        counts["all", way] += len(leaves)
        counts["native", way] += len(leaves) - len(left)
        reasons.update(f"{way}: {reason}" for reason in left.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="append", choices=VERSIONS, help="file version; default all")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=300, help="tables per version")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        witness = Witness(Path(folder), timeout_seconds=60)
        for version in options.version or VERSIONS:
            seeds = range(options.first, options.first + options.count)
            counts, reasons = count(version, seeds, witness, Path(folder))
            print(version, *(f"{way}: {counts['native', way]:,} of {counts['all', way]:,};" for way in WAYS))
            for reason, number in reasons.most_common(SHOWN_REASONS):
                print(f"  {number:6,}  {reason}")
        witness.close()


if __name__ == "__main__":
    main()
