"""Processes end with code 0 whatever scans are doing, and forked children scan."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import bridge_exits
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from bridge_toys import toy_format, write_toy

NUM_PROCESSES, NUM_PROCESSES_EVERY_DAY = 50, 2
NUM_FRESH_PROCESSES, NUM_FRESH_PROCESSES_EVERY_DAY = 2, 1
EXITS = Path(bridge_exits.__file__)


def test_processes_end_well(tmp_path: Path, whole_run: bool) -> None:
    count = NUM_PROCESSES if whole_run else NUM_PROCESSES_EVERY_DAY
    bridge_exits.write_file(tmp_path)
    command = [sys.executable, str(EXITS), str(count), str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(bridge_exits.MODES, [0] * count), done.stderr


@pytest.mark.share(2)
@pytest.mark.parametrize("mode", sorted(bridge_exits.MODES))
def test_fresh_processes_end_well(mode: str, tmp_path: Path, whole_run: bool) -> None:
    count = NUM_FRESH_PROCESSES if whole_run else NUM_FRESH_PROCESSES_EVERY_DAY
    script = f"import sys; sys.path.insert(0, {str(EXITS.parent)!r}); import pathlib, bridge_exits as e; "
    bridge_exits.write_file(tmp_path)
    script += f"e.{mode}(pathlib.Path({str(tmp_path)!r}))"
    command = [sys.executable, "-c", script]
    processes = [subprocess.Popen(command, cwd=tmp_path) for _ in range(count)]
    assert [process.wait(60) for process in processes] == [0] * count


@pytest.mark.whole
def test_processes_end_well_that_take_long_to_end(tmp_path: Path) -> None:
    """What C is first told to do at exit comes last: when Arrow's executors are gone, threads have time to use them."""
    script = f"""
import ctypes, pathlib, sys
libc = ctypes.CDLL(None)
at_exit = libc.__cxa_atexit
at_exit.argtypes = [ctypes.c_void_p] * 3
at_exit(ctypes.cast(libc.usleep, ctypes.c_void_p), 4_000_000, None)
sys.path.insert(0, {str(EXITS.parent)!r})
import bridge_exits
bridge_exits.MODES[sys.argv[1]](pathlib.Path({str(tmp_path)!r}))
"""
    bridge_exits.write_file(tmp_path)
    modes = ("early_break", "iterator_alive", "daemon_scan")
    processes = {mode: subprocess.Popen([sys.executable, "-c", script, mode], cwd=tmp_path) for mode in modes}
    assert {mode: process.wait(60) for mode, process in processes.items()} == dict.fromkeys(modes, 0)


def test_bytes_of_a_fragment_are_kept_after_the_end_was_announced(tmp_path: Path) -> None:
    """A thread of Arrow's may be the last to hold them, and releasing them would ask for the GIL."""
    script = f"""
import sys, weakref
sys.path.insert(0, {str(EXITS.parent)!r})
import numpy as np, pyarrow as pa
from bridge_toys import toy_bytes, toy_format
from lance_arrow.arrow_dataset.bridge.loading import bridge

def is_released():
    data = np.frombuffer(toy_bytes(pa.table({{"a": [1]}})), np.uint8).copy()
    fragment = toy_format().make_fragment(pa.py_buffer(data))
    assert fragment.buffer.size == len(data)
    found = weakref.ref(data)
    del data, fragment
    return found() is None

print(is_released(), bridge.close_exit_gate(5.0), is_released())
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True", "False"]


@pytest.mark.parametrize("use_threads", [False, True])
def test_a_scan_after_the_end_was_announced_is_refused(tmp_path: Path, use_threads: bool) -> None:
    script = f"""
import sys
sys.path.insert(0, {str(EXITS.parent)!r})
import atexit
def late():
    try:
        dataset.to_table(use_threads={use_threads})
    except pa.ArrowCancelled as error:
        print(error, flush=True)
atexit.register(late)
import pyarrow as pa, pyarrow.dataset as pads
from bridge_toys import toy_bytes, toy_format
fragment = toy_format().make_fragment(toy_bytes(pa.table({{"a": [1]}})))
dataset = pads.FileSystemDataset([fragment], fragment.physical_schema, fragment.format)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "interpreter is ending" in done.stdout


def test_a_forked_child_scans_even_while_the_parent_does(tmp_path: Path) -> None:
    table = pa.table({"a": list(range(60))})
    write_toy(tmp_path / "f.toy", table, rows_per_batch=2)
    dataset = pads.dataset(str(tmp_path / "f.toy"), format=toy_format(delay_seconds=0.002))
    assert dataset.to_table().equals(table)
    busy = threading.Thread(target=lambda: [dataset.to_table() for _ in range(3)])
    busy.start()
    child = os.fork()
    if child == 0:
        equal = dataset.to_table().equals(table) and dataset.count_rows() == 60
        os._exit(0 if equal else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    busy.join()
