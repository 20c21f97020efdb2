"""`replay`: a schedule of the model, done by the product; each turn of a writer ends before its next listing or put."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
from model import Operation, Programs, Step
from seams import simulated
from store import SimulatedFileSystem, Store
from world import InjectedError, Task, World

from lance_arrow import LanceTable
from lance_arrow.errors import CommitConflictError

PATH = "/t.lance"
_runs = itertools.count(1_000_000)


class ScheduledWorld(World):
    """A world whose order is given.

    Parameters
    ----------
    way
        Turns of the tasks, by their numbers.
    """

    def __init__(self, way: list[Step]) -> None:
        super().__init__("model")
        self._way = iter(way)
        self._at_gate: set[str] = set()
        self._answer = "done"

    def call(
        self, text: str, effect: Callable[[], Any], *, changes: bool, is_publish: bool, allowed: frozenset[str]
    ) -> Any:
        """Make one call; those that the model knows wait for their turn."""
        task = self.current
        is_gate = text.endswith("/_versions") or (text.endswith(".manifest") and is_publish)
        if task is None or not is_gate:
            return super().call(text, effect, changes=changes, is_publish=is_publish, allowed=allowed)
        self._at_gate.add(task.name)
        self.pause(task)
        answer = self._answer
        if answer == "error":
            raise InjectedError("no effect")
        try:
            return effect()
        finally:
            if answer == "lost":
                # The answer is lost, a refusal too.
                raise InjectedError("no answer")

    def _choose(self, task: Task | None) -> Task | None:
        living = [one for one in self.tasks if not one.is_done]
        if self.is_over or not living:
            return living[0] if living else None
        moving = [one for one in living if one.name not in self._at_gate]
        if moving:
            return moving[0]
        step = next(self._way, None)
        following = next((one for one in living if step is not None and one.name == f"w{step.writer}"), None)
        if step is None or following is None:
            self.fail(AssertionError(f"the product makes other calls than the model: {step}"))
            return living[0]
        self._answer = step.answer
        self._at_gate.discard(following.name)
        return following


def rows(*ids: int) -> pa.Table:
    """Rows that an update changes."""
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([0] * len(ids), pa.int64())})


def _write(
    kinds: tuple[str, ...], number: int, filesystem: SimulatedFileSystem, outcomes: list[str], task: Task
) -> None:
    for at, kind in enumerate(kinds):
        message = f"{number} {at}"
        try:
            table = LanceTable.open(PATH, filesystem=filesystem)
            if kind == "append":
                table.append(rows(100 * number + at), message=message)
            elif kind == "update":
                table.update({"n": "n + 1"}, message=message)
            else:
                table.overwrite(rows(1000 * number + at), message=message)
        except CommitConflictError:
            outcomes.append("refused")
        except InjectedError:
            outcomes.append("failed")
        else:
            outcomes.append("done")


def replay(way: list[Step], programs: Programs) -> tuple[list[Operation], list[tuple[str, ...]], list[int]]:
    """Let the product follow a schedule.

    Returns
    -------
    list of Operation
        What made each version but the first.
    list of tuple
        Outcomes of each writer.
    list of int
        Fragments of each version.
    """
    world = ScheduledWorld(way)
    held = Store(world, next(_runs))
    plain = SimulatedFileSystem(held, "put-if-absent")
    outcomes: list[list[str]] = [[] for _ in programs]
    with simulated(world, "put-if-absent", lambda: plain, seed="model"):
        LanceTable.create(PATH, rows(1, 2), max_rows_per_file=1, enable_stable_row_ids=True, filesystem=plain)
        tasks = [
            Task(
                f"w{number}",
                partial(_write, kinds, number, SimulatedFileSystem(held, "put-if-absent"), outcomes[number]),
                random.Random(number),
            )
            for number, kinds in enumerate(programs)
        ]
        world.run(tasks)
        if world.violation is not None:
            raise world.violation
        with contextlib.suppress(StopIteration):
            raise AssertionError(f"the product made fewer calls than the model: {next(world._way)}")
        history = LanceTable.open(PATH, filesystem=plain).history()[::-1]
    made = []
    for one in history[1:]:
        assert one.message is not None
        number, at = one.message.split()
        made.append((int(number), int(at)))
    return made, [tuple(one) for one in outcomes], [one.num_fragments for one in history]
