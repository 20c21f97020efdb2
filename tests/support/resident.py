"""What scripts of memory tests begin with: the resident set of their process."""

RESIDENT = """
from pathlib import Path

def resident(what):
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what)]
    return int(line.split()[1]) * 1024

def growth(done):
    # Growth of the largest resident set while something is done, in bytes.
    Path("/proc/self/clear_refs").write_text("5")
    before = resident("VmRSS")
    done()
    return resident("VmHWM") - before
"""
