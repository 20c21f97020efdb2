"""`convert x.lance y.parquet` is refused and names `export`, which writes Parquet."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow

folder = Path(sys.argv[1])
rows = pa.table({"id": range(1000), "name": [f"n{row % 7}" for row in range(1000)]})
lance_arrow.write_table(rows, folder / "x.lance")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in the folder."""
    command = [sys.executable, "-m", "lance_arrow.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


source, target = str(folder / "x.lance"), str(folder / "y.parquet")
refused = run("convert", source, target)
assert refused.returncode == 1
assert "export" in refused.stderr, refused.stderr
assert not Path(target).exists()
done = run("export", source, target, "--row-group-size", "300")
assert done.returncode == 0, done.stderr
assert pq.read_table(target).equals(rows)
assert pq.read_metadata(target).num_row_groups == 4
assert run("export", source, target).returncode == 1
assert run("export", source, target, "--overwrite", "--columns", "name", "--filter", "id >= 990").returncode == 0
assert pq.read_table(target).to_pydict() == {"name": rows["name"].to_pylist()[990:]}
