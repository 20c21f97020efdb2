"""What each process that Spark makes for a read or a write imports: modules are counted, never time.

Spark plans, runs tasks and commits in processes of their own, which hand pickles to each other, as here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from outside import run

pytest.importorskip("pyspark")

SCRIPT = """
import importlib, json, sys
from pathlib import Path
import numpy, pyarrow
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict
from pyspark.sql.types import LongType, StringType, StructField, StructType

folder, module = Path(sys.argv[1]), sys.argv[2]
importlib.import_module(module)
schema = StructType([StructField("id", LongType()), StructField("s", StringType())])
with pyarrow.ipc.open_stream(folder / "rows.arrows") as stream:
    batch = stream.read_next_batch()

def load(name):
    return cloudpickle.loads((folder / name).read_bytes())

def save(name, value):
    (folder / name).write_bytes(cloudpickle.dumps(value))

def source():
    from lance_arrow.spark.source import LanceDataSource
    return LanceDataSource(CaseInsensitiveDict({"path": str(folder / "table.lance")}))

before = set(sys.modules)
STEP
print(json.dumps(sorted(set(sys.modules) - before)))
"""
TASK = "pyspark.worker"
# Which module Spark runs, what the source does there, and how many modules of this package that may take.
STEPS = {
    "begin a write": ("create_data_source", "save('source', source())", 10),
    "plan a write": ("write_into_data_source", "save('writer', load('source').writer(schema, False))", 119),
    "write": (TASK, "save('message', load('writer').write(iter([batch])))", 233),
    "commit": ("commit_data_source_write", "load('writer').commit([load('message')])", 102),
    "begin a read": ("create_data_source", "made = source(); made.schema(); save('source', made)", 98),
    "plan a read": (
        "plan_data_source_read",
        "made = load('source').reader(schema); save('parts', made.partitions()); save('reader', made)",
        98,
    ),
    "read": (TASK, "assert sum(one.num_rows for one in load('reader').read(load('parts')[0])) == 1000", 190),
}


def test_each_step_imports_what_it_needs(tmp_path: Path) -> None:
    rows = pa.record_batch({"id": pa.array(range(1000), pa.int64()), "s": [f"text {n * n}" for n in range(1000)]})
    with pa.ipc.new_stream(tmp_path / "rows.arrows", rows.schema) as stream:
        stream.write_batch(rows)
    counts = {}
    for name, (module, step, _) in STEPS.items():
        done = run(SCRIPT.replace("STEP", step), tmp_path, module if "." in module else f"pyspark.sql.worker.{module}")
        assert done.returncode == 0, (name, done.stderr)
        modules = json.loads(done.stdout.splitlines()[-1])
        unwanted = ("pandas", "pyarrow.dataset", "lance_arrow.scan.legacy", "lance_arrow.files.legacy")
        assert not [one for one in modules if one.startswith(unwanted)], name
        counts[name] = sum(one.startswith("lance_arrow") for one in modules)
    assert {name: count for name, count in counts.items() if count > STEPS[name][2]} == {}, counts
