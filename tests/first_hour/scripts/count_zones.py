"""Ask in several places how many zones a filter has: the same number everywhere."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import lance_arrow

path = Path(sys.argv[1]) / "rows.lance"
rows = 200_000
columns = {
    "id": range(rows),
    "flag": [row % 3 == 0 for row in range(rows)],
    "text": [f"n {row}" for row in range(rows)],
}
lance_arrow.write_table(pa.table(columns), path, rows_per_zone=1000)
command = [sys.executable, "-m", "lance_arrow.cli", "zones", "show", str(path), "--json"]
shown = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
num_zones = {one["path"]: one["num_zones"] for one in shown["maps"]}
# Columns have zones of different lengths.
assert len(set(num_zones.values())) > 1
data = lance_arrow.dataset(path)
plans = {
    "id": data.explain(filter=pc.field("id") < 10),
    "flag": data.explain(filter=pc.field("flag")),
    "text": data.explain(filter=pc.field("text") == "n 7"),
}
assert {name: plan.total("zones") for name, plan in plans.items()} == num_zones
assert plans["id"].total("zones_pruned") == num_zones["id"] - 1
both = data.explain(filter=(pc.field("id") < 10) & (pc.field("text") > "m"))
assert both.total("zones") == max(num_zones["id"], num_zones["text"])
