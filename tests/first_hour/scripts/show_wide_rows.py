"""Print 20,000 rows of 6 columns, and 16 columns on a terminal of 80 characters, without waiting or broken words."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

folder = Path(sys.argv[1])
many, wide = folder / "many.lance", folder / "wide.lance"
rows = range(20_000)
lance_arrow.write_table(pa.table({f"column_{at}": [f"value {row}" for row in rows] for at in range(6)}), many)
lance_arrow.write_table(pa.table({f"measurement_{at}": [100 * at, 100 * at + 1] for at in range(16)}), wide)
command = [sys.executable, "-m", "lance_arrow.cli", "head"]


def seconds_of(*arguments: str) -> float:
    """Processor time of a command line, and what it wrote into a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(folder / "out.txt", "w") as out:
        subprocess.run([*command, *arguments], stdout=out, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime


start = seconds_of(str(many), "-n", "1")
all_rows = seconds_of(str(many), "-n", "20000")
assert len((folder / "out.txt").read_text().splitlines()) == 20_002
# It takes about 0.3 s; a busy machine may count more.
assert all_rows - start < 3, (start, all_rows)

# As on a terminal of 80 characters.
show = (
    "import os, sys; from lance_arrow.cli.app import run; sys.stdout.isatty = lambda: True; sys.exit(run(sys.argv[1:]))"
)
environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
shown = subprocess.run(
    [sys.executable, "-c", show, "head", str(wide)], env=environment, capture_output=True, text=True, check=True
).stdout
assert max(map(len, shown.splitlines())) <= 80
words = shown.split()
assert all(f"measurement_{at}" in words and str(100 * at + 1) in words for at in range(16)), shown
