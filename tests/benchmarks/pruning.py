"""Time what zone maps save: `python tests/benchmarks/pruning.py [zones] [files] [filters]`; prints, asserts nothing.

zones: a million of them against conditions on two columns. files: a thousand of a thousand rows, opened and asked once,
beside pyarrow's Parquet. filters: rows and counts at three selectivities of a sorted and an unsorted column, beside the
reference with a zone map index, and Vortex. Readers take turns; medians of the clock and of processor time.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pyarrow.parquet as pq

import lance_arrow
from lance_arrow import LanceFile, LanceFormat, write_table
from lance_arrow.libarrow.expressions import native_expressions
from lance_arrow.pruning.zone_pruning import zone_predicate
from lance_arrow.statistics.zone_maps import ZoneMap, zones_schema

NUM_ZONES, ROWS_PER_ZONE = 1_000_000, 8
NUM_FILES, FILE_ROWS = 1000, 1000
NUM_ROWS = 1_000_000
F = pc.field


def compared(name: str, readers: Mapping[str, Callable[[], int]], rounds: int) -> None:
    """Call each reader once per round, after one round that is not counted, and print medians.

    Names of our own readers begin with "ours": each is held against the fastest of the others, but for those whose
    names end in "kept": they have in memory what they read before, and are held against by themselves.
    """
    taken: dict[str, list[tuple[float, float]]] = {one: [] for one in readers}
    answers = {one: read() for one, read in readers.items()}
    if len(set(answers.values())) != 1:
        raise AssertionError(f"{name}: readers disagree: {answers}")
    orders = random.Random(len(readers))
    for _ in range(rounds):
        # In another order each time: who follows a reader of many threads finds cold caches.
        for one in orders.sample(list(readers), len(readers)):
            read = readers[one]
            cpu, begun = time.process_time(), time.perf_counter()
            read()
            taken[one].append((time.perf_counter() - begun, time.process_time() - cpu))
    medians = {one: [statistics.median(side) * 1e3 for side in zip(*all_, strict=True)] for one, all_ in taken.items()}
    print(f"{name}: " + ", ".join(f"{one} {wall:.1f} ms ({cpu:.1f} cpu)" for one, (wall, cpu) in medians.items()))
    kept = {one: sides for one, sides in medians.items() if one.endswith("kept")}
    others = [sides for one, sides in medians.items() if not one.startswith("ours") and one not in kept]
    for one, (wall, cpu) in medians.items():
        if others and one.startswith("ours"):
            best = [min(side) for side in zip(*others, strict=True)]
            beside = "".join(f"; / {name}: {wall / sides[0]:.2f}" for name, sides in kept.items())
            print(
                f"    {one} / best of the others: {wall / best[0]:.2f}, processor {cpu / best[1]:.2f}{beside}",
                flush=True,
            )


def zones(rounds: int) -> None:
    def zone_map(low: np.ndarray, high: np.ndarray) -> ZoneMap:
        same = np.full(NUM_ZONES, ROWS_PER_ZONE, np.int64)
        columns = {"min": low, "max": high, "row_count": same, "value_count": same}
        columns |= dict.fromkeys(("null_count", "nan_count"), np.zeros(NUM_ZONES, np.int64))
        columns |= dict.fromkeys(("min_exact", "max_exact"), np.ones(NUM_ZONES, np.bool_))
        schema = zones_schema(pa.from_numpy_dtype(low.dtype))
        return ZoneMap(pa.record_batch([columns[name] for name in schema.names], schema=schema), ROWS_PER_ZONE, False)

    first = np.arange(NUM_ZONES) * ROWS_PER_ZONE
    random = np.random.default_rng(0).random(NUM_ZONES) * 100
    maps = {("a",): zone_map(first, first + ROWS_PER_ZONE - 1), ("b",): zone_map(random, random + 1)}
    schema = pa.schema([("a", pa.int64()), ("b", pa.float64())])
    for text in ((F("a") >= 5_000_000) & (F("b") < 3.5), F("a").isin([5, 77, 4_000_000]) | (F("b") > 99.5)):
        predicate = zone_predicate(native_expressions, text, schema)
        assert predicate is not None
        judge = predicate.verdicts
        compared(f"{NUM_ZONES:,} zones", {"judged": lambda judge=judge: int(judge(maps, NUM_ZONES).sum())}, rounds)


def files(rounds: int) -> None:
    rng = np.random.default_rng(0)
    condition = (F("id") >= 500_000) & (F("id") < 500_100)
    with tempfile.TemporaryDirectory() as name:
        folders = {"ours": Path(name, "lance"), "parquet": Path(name, "parquet")}
        for folder in folders.values():
            folder.mkdir()
        for number in range(NUM_FILES):
            ids = np.arange(FILE_ROWS) + number * FILE_ROWS
            columns = {f"c{one}": rng.standard_normal(FILE_ROWS) for one in range(8)}
            table = pa.table({"id": ids, **columns, "word": [f"w{one % 97}" for one in ids]})
            write_table(table, folders["ours"] / f"{number:04}.lance")
            pq.write_table(table, folders["parquet"] / f"{number:04}.parquet")
        formats = {"ours": LanceFormat, "parquet": pads.ParquetFileFormat}

        def asked(one: str) -> int:
            return int(pads.dataset(folders[one], format=formats[one]()).to_table(filter=condition).num_rows)

        compared(f"{NUM_FILES:,} files", {one: lambda one=one: asked(one) for one in folders}, rounds)


def filters(rounds: int) -> None:
    import lance  # noqa: PLC0415 - peers, of this part alone
    import vortex  # noqa: PLC0415

    rng = np.random.default_rng(0)
    ids = np.arange(NUM_ROWS)
    columns = {f"x{one}": rng.standard_normal(NUM_ROWS) for one in range(4)}
    columns |= {f"k{one}": rng.integers(0, 1000, NUM_ROWS) for one in range(4)}
    table = pa.table({"sorted": ids, "shuffled": rng.permutation(ids), **columns})
    with tempfile.TemporaryDirectory() as name:
        own, root, other = (str(Path(name, one)) for one in ("own.lance", "table.lance", "table.vortex"))
        write_table(table, own)
        made = lance.write_dataset(table, root)
        for column in ("sorted", "shuffled"):
            made.create_scalar_index(column, "ZONEMAP")
        vortex.io.write(table, other)
        dataset, file = pads.dataset(own, format=LanceFormat()), LanceFile(own)
        mapped, own_dataset = LanceFile(own, memory_map=True), lance_arrow.dataset(own)
        reference = lance.dataset(root)
        opened, kept = vortex.open(other, without_segment_cache=True), vortex.open(other)
        for column in ("sorted", "shuffled"):
            for part in (0.00001, 0.01, 0.5):
                stop = 1000 + int(part * NUM_ROWS)
                condition = (F(column) >= 1000) & (F(column) < stop)
                sql = f"{column} >= 1000 AND {column} < {stop}"
                expression = vortex.expr.and_(vortex.expr.column(column) >= 1000, vortex.expr.column(column) < stop)
                rows = {
                    "ours": lambda c=condition: file.read(filter=c).num_rows,
                    "ours, mapped": lambda c=condition: mapped.read(filter=c).num_rows,
                    "ours by lance_arrow.dataset": lambda c=condition: own_dataset.to_table(filter=c).num_rows,
                    "ours as a dataset": lambda c=condition: dataset.to_table(filter=c).num_rows,
                    "reference": lambda s=sql: reference.to_table(filter=s).num_rows,
                    "vortex": lambda e=expression: len(opened.scan(expr=e).read_all().to_arrow_table()),
                    "vortex kept": lambda e=expression: len(kept.scan(expr=e).read_all().to_arrow_table()),
                }
                counts = {
                    "ours": lambda c=condition: file.count_rows(c),
                    "ours, mapped": lambda c=condition: mapped.count_rows(c),
                    "ours by lance_arrow.dataset": lambda c=condition: own_dataset.count_rows(filter=c),
                    "ours as a dataset": lambda c=condition: dataset.count_rows(filter=c),
                    "reference": lambda s=sql: reference.count_rows(filter=s),
                }
                compared(f"rows, {column}, {part:.3%}", rows, rounds)
                compared(f"count, {column}, {part:.3%}", counts, rounds)


PARTS: dict[str, Callable[[int], None]] = {"zones": zones, "files": files, "filters": filters}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    for part in options.parts or PARTS:
        PARTS[part](options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
