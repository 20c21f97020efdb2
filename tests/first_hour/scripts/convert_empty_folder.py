"""A folder without files is an error, not a file of no rows."""

import subprocess
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(folder / "in").mkdir()
(folder / "in" / "_SUCCESS").touch()
command = [sys.executable, "-m", "lance_arrow.cli", "convert", str(folder / "in"), str(folder / "out.lance")]
done = subprocess.run(command, capture_output=True, text=True, check=False)
assert done.returncode == 1
assert "no files to convert" in done.stderr, done.stderr
assert not (folder / "out.lance").exists()
