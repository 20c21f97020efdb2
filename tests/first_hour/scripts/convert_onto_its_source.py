"""A target that is the source is refused, under any name, also with overwrite; the source stays as it was."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lance_arrow
from lance_arrow.errors import InvalidArgumentError

folder = Path(sys.argv[1])
(folder / "in").mkdir()
source = folder / "in" / "a"
pq.write_table(pa.table({"id": range(100)}), source)
before = source.read_bytes()
command = [sys.executable, "-m", "lance_arrow.cli", "convert", str(source), str(source), "--overwrite"]
done = subprocess.run(command, capture_output=True, text=True, check=False)
assert done.returncode == 1, done.stdout
assert "is the source" in done.stderr, done.stderr

(folder / "soft").symlink_to(source)
os.link(source, folder / "hard")
spelt = folder / "in" / ".." / "in" / "a"
refused = []
for target in (source, spelt, folder / "soft", folder / "hard", folder / "in" / "inside.lance"):
    for table in (False, True):
        try:
            lance_arrow.convert([folder / "in"], target, table=table, overwrite=True)
        except InvalidArgumentError as error:
            refused.append(str(error))
assert len(refused) == 10, refused
assert all("the source" in text for text in refused), refused
assert source.read_bytes() == before
