"""Small whole tables for `fuzz_tables.py`: written here, whose names begin with ``ours``, and by the reference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from witness import Witness

from lance_arrow import LanceTable

OURS = "ours"
SOURCE = "source"
"""What clones read; not damaged itself."""


def rows(count: int, start: int = 0) -> pa.Table:
    """Rows with an ascending key, of a few kinds of column."""
    keys = np.arange(start, start + count)
    return pa.table(
        {
            "key": pa.array(keys, pa.int64()),
            "text": [None if key % 11 == 0 else f"text {key * 7919 % 97}" for key in keys.tolist()],
            "real": keys / 7,
            "lists": [[key] * (key % 4) for key in keys.tolist()],
        }
    )


def write_tables(folder: Path, witness: Witness | None) -> int:
    """Write all tables into a folder, those of the reference where it is there; returns how many there are."""
    for version in ("2.1", "2.2", "2.3"):
        _edited(folder / f"{OURS}-edited-{version}.lance", version)
    _many_deleted(folder / f"{OURS}-bitmap.lance")
    _stable(folder / f"{OURS}-stable.lance")
    _cloned(folder)
    if witness is not None:
        for version in ("2.0", "2.1", "2.2"):
            for stable in (False, True):
                _theirs(folder / f"theirs-{version}-{stable}.lance", version, witness, stable=stable)
    return len(list(folder.glob("*.lance")))


def _edited(path: Path, version: str) -> None:
    table = LanceTable.create(path, rows(130), file_version=version, max_rows_per_file=70, message="made")
    table.append(rows(45, 130), message="more")
    table.delete((pc.field("key") < 7) | (pc.field("key") == 131))
    table.create_zone_map("key")
    table.tags.create("early", 2)
    # Columns in files of their own.
    table.add_columns({"twice": pc.multiply(pc.field("key"), 2)})
    table.branches.create("side")
    LanceTable.open(path, branch="side").delete(pc.field("key") > 150)
    table.update_config({"kept": "yes"})
    table.update_metadata({"about": "fuzz"})
    table.delete(pc.field("key") == 20, message="one less")


def _many_deleted(path: Path) -> None:
    """Enough deleted rows for a bitmap, in an odd number of runs."""
    numbers = pa.table({"key": pa.array(range(12_300), pa.int64()), "text": ["x"] * 12_300})
    table = LanceTable.create(path, numbers, max_rows_per_file=6500)
    table.delete((pc.field("key") < 6500) & (pc.bit_wise_and(pc.field("key"), 7) != 3))
    table.delete(pc.field("key") > 12_200)
    table.create_zone_map("key")


def _stable(path: Path) -> None:
    """Ids in ranges, with holes, and listed: rows were moved by an update and by compaction."""
    table = LanceTable.create(path, rows(90), max_rows_per_file=50, enable_stable_row_ids=True)
    table.append(rows(33, 90))
    table.update({"real": pc.scalar(1.5)}, pc.field("key") == 10)
    table.update({"real": pc.scalar(2.5)}, pc.bit_wise_and(pc.field("key"), 15) == 3)
    table.delete(pc.field("key") < 9)
    table.compact(target_rows_per_fragment=80, materialize_deletions_threshold=0.0)
    table.append(rows(21, 123))
    table.create_zone_map("key")
    table.delete(pc.field("key") == 125)
    table.restore(table.version)


def _cloned(folder: Path) -> None:
    source = LanceTable.create(folder / SOURCE, rows(60), max_rows_per_file=35)
    source.delete(pc.field("key") == 4)
    clone = source.shallow_clone(folder / f"{OURS}-clone.lance")
    clone.append(rows(20, 60))
    clone.delete((pc.field("key") == 5) | (pc.field("key") == 61))


def _theirs(path: Path, version: str, witness: Witness, *, stable: bool) -> None:
    witness.write_directory(
        rows(130), path, version, max_rows_per_file=70, enable_stable_row_ids=stable,
        enable_v2_manifest_paths=version != "2.0",
    )  # fmt: skip
    witness.change_table(
        path,
        {"do": "append", "rows": rows(45, 130)},
        {"do": "delete", "predicate": "key < 7 or key = 131"},
        {"do": "tag", "name": "early", "version": 2},
        {"do": "add_columns", "transforms": {"twice": "key * 2"}},
        {"do": "update", "updates": {"real": "1.5"}, "where": "key % 16 = 3"},
        {"do": "branch", "name": "side"},
    )
    witness.make_indices(path, [("key", "BTREE", {}), ("text", "BITMAP", {}), ("real", "ZONEMAP", {})])
    witness.change_table(path, {"do": "delete", "predicate": "key = 20"})
