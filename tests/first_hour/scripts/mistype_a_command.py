"""Misspell commands and options, leave the file out, interrupt: each says what to do, and ends as documented."""

import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow

path = Path(sys.argv[1]) / "rows.lance"
lance_arrow.write_table(pa.table({"id": range(10)}), path)
command = [sys.executable, "-m", "lance_arrow.cli"]

for arguments, hint in (
    (["inspct", str(path)], "Did you mean 'inspect'?"),
    (["head", "--row", "3", str(path)], "did you mean --rows?"),
    (["head"], "Missing argument 'FILE|TABLE' (see lance-arrow head --help)"),
    (["zones", "show"], "(see lance-arrow zones show --help)"),
):
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done
    assert hint in done.stderr, done.stderr
    assert done.stderr.count("\n") == 1

done = subprocess.run(
    [*command, "head", str(path), "--storage-option", "oops"], capture_output=True, text=True, check=False
)
assert done.returncode == 1
assert "KEY=VALUE" in done.stderr

# Interrupted while it reads: quiet, and 130.
slow = """
import signal, sys, time
import lance_arrow.files.lance_file as files
from lance_arrow.cli.app import run
signal.signal(signal.SIGINT, signal.default_int_handler)

def take(*_, **__):
    print("ready", file=sys.stderr, flush=True)
    # A signal that comes just before a sleep begins is seen when that sleep ends.
    for _ in range(600):
        time.sleep(0.1)

files.LanceFile.take = take
sys.exit(run(sys.argv[1:]))
"""
process = subprocess.Popen(
    [sys.executable, "-c", slow, "head", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
)
assert process.stderr.readline() == "ready\n"
process.send_signal(signal.SIGINT)
assert process.communicate(timeout=60) == ("", "")
assert process.returncode == 130
