"""Figures of large tables: many fragments, many deleted rows, rows by stable id; beside the reference where it can.

`python tests/benchmarks/table_scale.py` prints one line per figure.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyroaring

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import manifests

from lance_arrow import LanceTable, LanceWriter
from lance_arrow.proto.table_pb2 import IndexSection, Manifest
from lance_arrow.table.method_arguments import INDEX_ROWS_PER_ZONE

FRAGMENTS = 100_000
TAKES = 15


def best(call: Callable[[], object], times: int = 3) -> float:
    """The least seconds that a call took."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)


def many_fragments(path: Path) -> None:
    """A manifest of many fragments that share a file, and an index that says each holds other values."""
    LanceTable.create(path, pa.table({"id": pa.array([0], pa.int64())})).create_zone_map("id")
    place = manifests.newest(path)
    message = manifests.message_of(place)
    (index_file,) = (path / "_indices").rglob("*.lance")
    zones = pa.table(
        {
            "min": pa.array(np.arange(FRAGMENTS)),
            "max": pa.array(np.arange(FRAGMENTS)),
            "null_count": pa.array(np.zeros(FRAGMENTS, np.uint32)),
            "nan_count": pa.array(np.zeros(FRAGMENTS, np.uint32)),
            "fragment_id": pa.array(np.arange(FRAGMENTS, dtype=np.uint64)),
            "zone_start": pa.array(np.zeros(FRAGMENTS, np.uint64)),
            "zone_length": pa.array(np.ones(FRAGMENTS, np.uint64)),
        }
    ).replace_schema_metadata({"rows_per_zone": str(INDEX_ROWS_PER_ZONE)})
    with LanceWriter(index_file, zones.schema, file_version="2.1", rows_per_zone=None, checksums=False) as writer:
        writer.write(zones)
    one = message.fragments[0].SerializeToString()
    del message.fragments[:]
    for number in range(FRAGMENTS):
        message.fragments.add().MergeFromString(one)
        message.fragments[number].id = number
    message.max_fragment_id = FRAGMENTS - 1
    content = place.read_bytes()
    section = IndexSection.FromString(_section(content, message.index_section))
    section.indices[0].fragment_bitmap = bytes(pyroaring.BitMap(range(FRAGMENTS)).serialize())
    section.indices[0].files[0].size_bytes = index_file.stat().st_size
    body = section.SerializeToString()
    head = manifests.SIZE.pack(len(body)) + body
    message.ClearField("transaction_section")
    message.index_section = 0
    place.write_bytes(manifests.file_of(message, head))


def _section(content: bytes, position: int) -> bytes:
    (size,) = manifests.SIZE.unpack_from(content, position)
    start = position + manifests.SIZE.size
    return content[start : start + size]


def main() -> int:
    """Print all figures, or (`--takes`) those of takes."""
    folder = Path(tempfile.mkdtemp())
    try:
        if "--takes" in sys.argv:
            _takes(folder)
            return 0
        path = folder / "many.lance"
        many_fragments(path)
        assert len(Manifest.FromString(LanceTable.open(path).manifest.message_bytes).fragments) == FRAGMENTS
        print(f"open a manifest of {FRAGMENTS:,} fragments: {best(lambda: LanceTable.open(path)):.2f} s")

        def plan() -> None:
            reader = LanceTable.open(path)._reader
            started = time.perf_counter()
            left = reader.numbers_left(reader.filter((pc.field("id") > 500) & (pc.field("id") < 503)))
            plan.seconds = time.perf_counter() - started  # type: ignore[attr-defined]
            assert list(left) == [501, 502]

        best(plan)
        print(f"plan a filtered scan of it: {plan.seconds:.2f} s")  # type: ignore[attr-defined]
        _deletions(folder)
        _takes(folder)
    finally:
        shutil.rmtree(folder)
    return 0


def _deletions(folder: Path) -> None:
    import lance  # noqa: PLC0415 - the reference is not needed by the other figures

    rows, gone = 10_000_000, 1_000_000
    random = np.random.default_rng(1)
    table = pa.table({"id": np.arange(rows), "pick": random.permutation(rows).astype(np.int32)})
    LanceTable.create(folder / "ours.lance", table)
    LanceTable.create(folder / "theirs.lance", table)
    ours = best(lambda: LanceTable.open(folder / "ours.lance").delete(pc.field("pick") < gone), 1)
    theirs = best(lambda: lance.dataset(str(folder / "theirs.lance")).delete(f"pick < {gone}"), 1)
    assert LanceTable.open(folder / "ours.lance").count_rows() == rows - gone
    print(f"delete {gone:,} random rows of {rows:,}: {ours:.2f} s, the reference {theirs:.2f} s")


def _takes(folder: Path) -> None:
    import lance  # noqa: PLC0415 - as above

    path = folder / "take.lance"
    table = pa.table({"id": np.arange(100_000), "s": [f"row {i}" for i in range(100_000)]})
    LanceTable.create(path, table, max_rows_per_file=100, enable_stable_row_ids=True)
    random = np.random.default_rng(2)
    seconds: dict[str, list[list[float]]] = {"opening included": [], "first": [], "again": []}
    for turn in range(TAKES):
        ids = random.permutation(100_000)[:1000]
        mine, other = LanceTable.open(path), lance.dataset(str(path))
        for name, found in seconds.items():
            found.append([0.0, 0.0])
            # By turns: what one warms up, or slows down, it does so for the other as often.
            for side in (0, 1) if turn % 2 else (1, 0):
                started = time.perf_counter()
                if name == "opening included":
                    rows = _ours(LanceTable.open(path), ids) if side == 0 else _theirs(lance.dataset(str(path)), ids)
                else:
                    rows = _ours(mine, ids) if side == 0 else _theirs(other, ids)
                found[-1][side] = time.perf_counter() - started
                assert rows["id"].to_pylist() == ids.tolist()
    for name, found in seconds.items():
        ours, theirs = np.median(np.array(found), axis=0)
        ratio = float(np.median([one / other for one, other in found]))
        what = f"take 1,000 rows by stable row id over 1,000 fragments, {name}"
        print(f"{what}: {ours:.4f} s, the reference {theirs:.4f} s, ratio {ratio:.2f}")


def _ours(table: LanceTable, ids: np.ndarray) -> pa.Table:
    return table.take_row_ids(ids)


def _theirs(dataset: Any, ids: np.ndarray) -> pa.Table:
    return dataset._take_rows(ids.tolist())


if __name__ == "__main__":
    sys.exit(main())
