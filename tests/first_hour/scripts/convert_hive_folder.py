"""Convert a folder of hive partitions: the keys become columns, as pyarrow.dataset has them."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

import lance_arrow

folder = Path(sys.argv[1])
for year in (2023, 2024):
    for place in ("north", "south"):
        path = folder / "hive" / f"year={year}" / f"place={place}" / "a.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [year, year + 1], "day": ["mon", "tue"]}), path)
command = [sys.executable, "-m", "lance_arrow.cli", "convert", str(folder / "hive"), str(folder / "hive.lance")]
done = subprocess.run(command, capture_output=True, text=True, check=True)
assert "columns from names of folders: year, place" in done.stdout, done.stdout
made = lance_arrow.read_table(folder / "hive.lance")
assert made.column_names == ["id", "day", "year", "place"]
assert made.schema.types[2:] == [pa.int32(), pa.string()]
assert made.equals(pads.dataset(folder / "hive", partitioning="hive").to_table().cast(made.schema))
