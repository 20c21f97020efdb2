"""CSV, JSON lines, Arrow IPC, ORC and Parquet become Lance; Lance becomes CSV, Arrow IPC and Parquet again."""

import gzip
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, feather, orc

import lance_arrow

folder = Path(sys.argv[1])
rows = pa.table({"id": [1, 2, None], "name": ["a", "b", "ü"], "x": [0.5, None, -2.0]})
csv.write_csv(rows, folder / "rows.csv")
(folder / "rows.csv.gz").write_bytes(gzip.compress((folder / "rows.csv").read_bytes()))
(folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows.to_pylist()))
feather.write_feather(rows, folder / "rows.feather")
orc.write_table(rows, folder / "rows.orc")
pq.write_table(rows, folder / "rows.parquet")
with pa.ipc.new_stream(folder / "rows.arrows", rows.schema) as stream:
    stream.write_table(rows)
for path in sorted(folder.glob("rows.*")):
    target = folder / f"{path.name}.lance"
    report = lance_arrow.convert(path, target)
    assert report.verified
    assert lance_arrow.read_table(target).equals(rows), path

source = folder / "rows.parquet.lance"
readers = {"back.csv": csv.read_csv, "back.feather": feather.read_table, "back.parquet": pq.read_table}
for name, read in readers.items():
    lance_arrow.export(source, folder / name)
    assert read(folder / name).equals(rows), name
