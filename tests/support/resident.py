"""Scripts that measure memory: the resident set of their process, and allocators that return what is released."""

# mimalloc and jemalloc keep released memory for a time that depends on the order of threads: the same scan grew by 11
# to 56 MiB. The C library keeps large blocks once one was released, unless its threshold is fixed.
RETURNING = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_MMAP_THRESHOLD_": "131072"}

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
