"""Convert a folder whose files have an extra and a retyped column: nothing is lost, or the folder is refused."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow
from lance_arrow.errors import InvalidArgumentError

folder = Path(sys.argv[1])
(folder / "in").mkdir()
pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32())}), folder / "in" / "a.parquet")
pq.write_table(pa.table({"id": [2**40], "note": ["late"]}), folder / "in" / "b.parquet")
report = lance_arrow.convert(folder / "in", folder / "out.lance")
made = lance_arrow.read_table(folder / "out.lance")
assert made.to_pylist() == [{"id": 1, "note": None}, {"id": 2, "note": None}, {"id": 2**40, "note": "late"}]
assert report.sources[0].retyped == {"id": "int32 -> int64"}
assert report.sources[0].filled == ["note"]

pq.write_table(pa.table({"id": ["not a number"], "note": ["x"]}), folder / "in" / "c.parquet")
refusal = None
try:
    lance_arrow.convert(folder / "in", folder / "other.lance")
except InvalidArgumentError as error:
    refusal = error
assert refusal is not None, "text went into a column of integers"
assert refusal.column == "id"
assert refusal.path.endswith("c.parquet")
assert "string" in str(refusal)
assert "int64" in str(refusal)
assert not (folder / "other.lance").exists()
