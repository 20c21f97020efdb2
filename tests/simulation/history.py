"""`play`: run one plan, and tell what broke, if anything did."""

from __future__ import annotations

import itertools
import random
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from operations import FIRST_KEYS, Player, rows_of
from plans import Plan, smaller
from referee import PATH, Referee
from seams import simulated
from store import Object, SimulatedFileSystem, Store, kind_of
from world import Killed, Task, World

from lance_arrow import LanceTable

VERIFIED_OF = 4
"""Of so many histories one is verified at its end."""
_runs = itertools.count(1)
Break = Callable[[], AbstractContextManager[object]]


@dataclass(frozen=True, slots=True)
class Result:
    """How a history ended.

    Parameters
    ----------
    violation
        What broke; None when nothing did.
    num_commits, num_calls
        Versions made, and calls to the store.
    trace
        The calls, if they were asked for.
    """

    violation: BaseException | None
    num_commits: int
    num_calls: int
    trace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Start:
    objects: dict[str, Object]
    referee: Referee


_starts: dict[bool, _Start] = {}


def _start(has_index: bool) -> _Start:
    """Make the table that histories begin with, once."""
    if has_index not in _starts:
        world = World("start")
        held = Store(world, 0)
        filesystem = SimulatedFileSystem(held, "put-if-absent")
        referee = Referee(world, held, "put-if-absent")
        referee.watch()
        with simulated(world, "put-if-absent", lambda: filesystem, seed=f"start {has_index}"):
            table = LanceTable.create(
                PATH,
                rows_of(list(FIRST_KEYS), 0),
                message='{"do": "create"}',
                max_rows_per_file=4,
                enable_stable_row_ids=True,
                filesystem=filesystem,
            )
            table.delete("id = 5", message='{"do": "delete", "by": 1000, "rest": 5}')
            if has_index:
                table.create_zone_map("id", rows_per_zone=2, message='{"do": "zone_map"}')
        if world.violation is not None:
            raise world.violation
        _starts[has_index] = _Start(held.objects, referee)
    return _starts[has_index]


def play(plan: Plan, *, keeps_trace: bool = False, broken: Break = nullcontext) -> Result:
    """Run a plan.

    Parameters
    ----------
    plan
        The tasks and their faults.
    keeps_trace
        Whether the result has the calls.
    broken
        Breaks the product while the plan runs.
    """
    start = _start(plan.has_index)
    world = World(plan.seed, keeps_trace=keeps_trace)
    held = Store(world, next(_runs), start.objects)
    held.keeps_past = plan.kind == "stale-listing"
    referee = Referee(world, held, plan.kind)
    known = start.referee
    referee.states.update(known.states)
    referee.newest.update(known.newest)
    referee.times.update(known.times)
    referee.named.update(known.named)
    referee.read.update(known.read)
    referee.owners.update({line: dict(owners) for line, owners in known.owners.items()})
    referee.watch()
    filesystems: dict[Task, SimulatedFileSystem] = {}
    tasks = []
    for at, script in enumerate(plan.scripts):
        filesystem = kind_of(plan.kind)(held, plan.kind)
        player = Player(world, referee, filesystem, script, is_only_writer=at == 0)
        task = Task(script.name, player.run, random.Random(f"{plan.seed} {script.name}"), script.faults)
        filesystems[task] = filesystem
        tasks.append(task)
    plain = kind_of(plan.kind)(held, plan.kind)
    with (
        simulated(
            world, plan.kind, lambda: plain if world.current is None else filesystems[world.current], seed=plan.seed
        ),
        broken(),
    ):
        world.run(tasks)
        if world.violation is None:
            try:
                referee.finish(verifies=zlib.crc32(plan.seed.encode()) % VERIFIED_OF == 0)
            except Killed:
                pass
            except Exception as error:  # noqa: BLE001 - told as the result of the history
                world.fail(error)
    return Result(world.violation, referee.num_commits, world.steps, tuple(world.trace or ()))


def shrink(plan: Plan, *, broken: Break = nullcontext, most_runs: int = 400) -> Plan:
    """Remove tasks, operations and faults while the plan still fails; other orders of the tasks are tried too."""
    runs = 0
    while True:
        for less in smaller(plan):
            for seed in (plan.seed, *(f"{plan.seed.partition('+')[0]}+{extra}" for extra in range(4))):
                if runs >= most_runs:
                    return plan
                runs += 1
                candidate = Plan(seed, less.kind, less.has_index, less.scripts)
                if play(candidate, broken=broken).violation is not None:
                    plan = candidate
                    break
            else:
                continue
            break
        else:
            return plan
