"""Ask the package and the command line which versions are installed."""

import importlib.metadata
import json
import subprocess
import sys

import pyarrow as pa

import lance_arrow

assert lance_arrow.__version__ == importlib.metadata.version("lance-arrow")

command = [sys.executable, "-m", "lance_arrow.cli", "--version"]
first, second = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
assert first == f"lance-arrow {lance_arrow.__version__}"
assert f"pyarrow {pa.__version__}" in second
assert "native bridge fits" in second

document = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)
assert document["lance_arrow"] == lance_arrow.__version__
assert document["bridge_fits"]
