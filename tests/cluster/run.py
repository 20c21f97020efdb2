"""Scenarios on a cluster of Spark: a master and two workers as processes on loopback, tables on an S3 server.

``python run.py [NAME ...] [--list] [--outage-seconds 20] [--keep FOLDER]``: a line for each scenario: name, outcome,
seconds. Exits 1 when one failed.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "support"))

import faults
import healthy
from processes import Cluster, DriverError
from storage import Storage
from world import World, Wrong

SCENARIOS: dict[str, Callable[[World], str]] = {
    "batch": healthy.batch,
    "sql": healthy.sql,
    "stream": healthy.stream,
    "jobs": healthy.all_jobs,
    **faults.SCENARIOS,
    "archives": healthy.archives,
    "other_version": healthy.other_version,
    "connect": healthy.connect,
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all when there is none")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--outage-seconds", type=float, default=20)
    parser.add_argument("--keep", type=Path, help="a new folder for logs of all processes")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in SCENARIOS]
    if unknown:
        parser.error(f"there is no scenario {unknown[0]!r}; there are {', '.join(SCENARIOS)}")
    if given.list:
        for name, scenario in SCENARIOS.items():
            print(f"{name:24} {(scenario.__doc__ or '').splitlines()[0]}")
        return 0
    failed = 0
    # All processes end, however this one is told to.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        if given.keep is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        else:
            folder = given.keep
            folder.mkdir(parents=True)
        storage = stack.enter_context(Storage())
        begun = time.monotonic()
        cluster = stack.enter_context(Cluster(folder))
        world = World(storage, cluster, given.outage_seconds)
        stack.callback(world.stop_driver)
        # Not a scenario, but a part of what it takes.
        assert world.driver
        print(f"{'start of the cluster':24} {time.monotonic() - begun:6.1f} s", flush=True)
        for name in given.names or SCENARIOS:
            begun = time.monotonic()
            try:
                outcome = f"ok      {SCENARIOS[name](world)}"
            except (Wrong, DriverError) as error:
                failed, outcome = failed + 1, f"FAILED  {error}"
            print(f"{name:24} {time.monotonic() - begun:6.1f} s  {outcome}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
