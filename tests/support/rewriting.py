"""Workers of pytest-xdist share the rewriting of assertions: each worker would rewrite every module of a new checkout.

Each rewrites its share before it collects, and finds the rest as cached bytecode. pytest has no public name for this.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def rewrite_share(config: pytest.Config, folder: Path) -> None:
    """Rewrite the share of this worker; does nothing without workers, or where Python writes no bytecode."""
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    first, step = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    state = config.stash[rewrite.assertstate_key]
    for source in sorted(folder.rglob("test_*.py"))[first::step]:
        cached = rewrite.get_cache_dir(source) / (source.stem + rewrite.PYC_TAIL)
        if rewrite._read_pyc(source, cached) is None and rewrite.try_makedirs(cached.parent):
            stat, code = rewrite._rewrite_test(source, config)
            rewrite._write_pyc(state, code, stat, cached)
