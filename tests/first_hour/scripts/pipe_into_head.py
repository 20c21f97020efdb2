"""Pipe rows into `head -1`: the exit code says that the reader left, and nothing is printed about it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

path = Path(sys.argv[1]) / "rows.lance"
lance_arrow.write_table(pa.table({"id": range(50_000), "name": [f"name {row}" for row in range(50_000)]}), path)
for flag in ("", "--json"):
    command = shlex.join([sys.executable, "-m", "lance_arrow.cli", "head", "-n", "50000", str(path)])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} {flag} | head -1"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 141, (flag, done.returncode)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
