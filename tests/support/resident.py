"""The first lines of scripts that measure memory: the resident set of their process.

Arrow's pool is the system's allocator. mimalloc and jemalloc keep memory that was released, for a time that depends on
the order of threads: the same scan grew by 11 to 56 MiB, and by 20 to 31 with the system's.
"""

RESIDENT = """
import os
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
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
