"""`World`: tasks of which one runs at a time, a virtual clock, and the faults of calls to a store.

A task is a thread that holds the baton. At each call to the store it may hand the baton on; the seed decides. So the
product's own code runs, blocking as it is, and the same seed gives the same order of calls, byte for byte.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

CALL_SECONDS = 0.002
EPOCH_SECONDS = 1_900_000_000.0
MOST_CALLS = 4_000
"""Calls of one operation; an operation that makes more hangs."""
_MOST_WAITS = 60
"""Seconds without a call to the store."""


class Killed(BaseException):
    """The process of a task is dead, or the history is over."""


class Violation(AssertionError):
    """A promise of the product is broken."""


class InjectedError(ConnectionResetError):
    """What the simulated store raises for a fault."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one call of a task.

    Parameters
    ----------
    at
        Number of the call; of the attempts to publish where `is_publish`.
    kind
        ``error``: no effect, an exception. ``lost``: the effect, an exception. ``again``: the effect, then the same
        call again, whose answer counts. ``late``: an exception, and the effect after calls of others. ``twice``: the
        effect, and once more after calls of others. ``racing``: the store's answer to a competing conditional put.
        ``stale``: a listing of an earlier time. ``crash``, ``crash_after``: the task dies before the effect, or after.
        ``jump``: the clock of the task jumps. ``stall``: the effect, but first others run for seconds.
    amount
        Calls to wait, seconds to wait, or seconds to jump.
    """

    at: int
    kind: str
    is_publish: bool = False
    amount: int = 0


@dataclass(eq=False)
class Task:
    """A writer or reader, with a process of its own: a clock, random numbers, and a view of the store."""

    name: str
    run: Callable[[Task], None]
    random: random.Random
    faults: tuple[Fault, ...] = ()
    priority: float = 0.0
    calls: int = 0
    publishes: int = 0
    operation_calls: int = 0
    """Calls since the operation began."""
    injected: int = 0
    """Faults since the operation began that may make it fail."""
    clock_offset: float = 0.0
    wakes_at: float = 0.0
    is_busy: bool = False
    """Whether an operation has begun and not ended."""
    is_waiting_for_quiet: bool = False
    is_dead: bool = False
    is_done: bool = False
    waits_for: Lock | None = None
    thread: int = 0
    has_baton: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))


class Lock:
    """A lock of writers, as a lock service has it: a dead holder loses it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.holder: Task | None = None

    def __enter__(self) -> None:
        world = self._world
        task = world.current
        if task is None:
            return
        world.pause(task)
        while self.holder is not None and self.holder is not task and not self.holder.is_dead:
            task.waits_for = self
            world.pause(task)
        task.waits_for = None
        self.holder = task

    def __exit__(self, *error: object) -> None:
        if self.holder is self._world.current:
            self.holder = None


class World:
    """Runs tasks by turns.

    Parameters
    ----------
    seed
        What the order of the tasks is drawn from.
    keeps_trace
        Whether calls are written down.
    """

    def __init__(self, seed: str, *, keeps_trace: bool = False) -> None:
        self.random = random.Random(f"order {seed}")
        self.now = EPOCH_SECONDS
        self.steps = 0
        self.tasks: list[Task] = []
        self.current: Task | None = None
        self.is_over = False
        self.violation: BaseException | None = None
        self.trace: list[str] | None = [] if keeps_trace else None
        self.late: list[tuple[int, str, Callable[[], Any]]] = []
        self._all_done = threading.Semaphore(0)
        # By turns at random, or the task of the highest priority, with a few changes of priorities.
        self._stays = self.random.choice((0.0, 0.5, 0.8, 0.95))
        self._by_priority = self.random.random() < 0.5
        self._changes = {self.random.randrange(1, 150) for _ in range(self.random.randrange(1, 6))}

    def run(self, tasks: list[Task]) -> None:
        """Run all tasks to their end, then the late effects; `violation` says what broke."""
        self.tasks = tasks
        for task in tasks:
            task.priority = self.random.random()
        threads = [threading.Thread(target=self._thread, args=(task,), daemon=True) for task in tasks]
        for thread in threads:
            thread.start()
        self._hand_on(None)
        self._wait()
        for thread in threads:
            thread.join()
        self.current = None
        with contextlib.suppress(Killed):
            self.flush()

    def _wait(self) -> None:
        # Many short waits, since one long one is over too when the process was stopped meanwhile.
        steps, waits = self.steps, 0
        while not self._all_done.acquire(timeout=1.0):
            waits = waits + 1 if steps == self.steps else 0
            steps = self.steps
            if waits >= _MOST_WAITS:
                waiting = [one.name for one in self.tasks if not one.is_done]
                raise RuntimeError(f"a task waits for a lock of this process: {waiting}")

    def _thread(self, task: Task) -> None:
        task.thread = threading.get_ident()
        task.has_baton.acquire()
        try:
            if not self.is_over:
                task.run(task)
        except Killed:
            pass
        except BaseException as error:  # noqa: BLE001 - told as the result of the history
            self.fail(error)
        task.is_done = True
        task.is_busy = False
        self._hand_on(None)

    def fail(self, error: BaseException) -> None:
        """End the history."""
        if self.violation is None:
            self.violation = error
        self.is_over = True

    def note(self, text: str) -> None:
        """Write down what happened."""
        if self.trace is not None:
            name = "-" if self.current is None else self.current.name
            self.trace.append(f"{self.steps} {name} {text}")

    def time(self) -> float:
        """Return what the clock of the current task shows, in seconds."""
        return self.now + (0.0 if self.current is None else self.current.clock_offset)

    def sleep(self, seconds: float) -> None:
        """Let others run until a time has passed."""
        task = self.current
        if task is None:
            return
        task.wakes_at = self.now + max(seconds, 0.0)
        self.pause(task)

    def pause(self, task: Task) -> None:
        """Let the next task run, which may be this one."""
        self.check_alive(task)
        self._count(task)
        following = self._choose(task)
        if following is not task:
            self.current = following
            following.has_baton.release()
            task.has_baton.acquire()
        self.check_alive(task)

    def _count(self, task: Task) -> None:
        self.steps += 1
        self.now += CALL_SECONDS
        task.operation_calls += 1
        if task.operation_calls > MOST_CALLS:
            self.fail(Violation(f"{task.name} hangs: more than {MOST_CALLS} calls in one operation"))
            raise Killed
        if self.late:
            self.flush(due=self.steps)

    def flush(self, due: int | None = None) -> None:
        """Let late effects happen; all of them when `due` is None."""
        ready = [one for one in self.late if due is None or one[0] <= due]
        if not ready:
            return
        self.late = [one for one in self.late if due is not None and one[0] > due]
        for _, text, effect in ready:
            self.note(f"late {text}")
            try:
                effect()
            except OSError as error:
                self.note(f"late answer {type(error).__name__}")

    def check_alive(self, task: Task) -> None:
        """End the task where its process, or the history, is over."""
        if self.is_over or task.is_dead:
            raise Killed

    def _hand_on(self, task: Task | None) -> None:
        following = self._choose(task)
        self.current = following
        if following is None:
            self._all_done.release()
        else:
            following.has_baton.release()

    def _choose(self, task: Task | None) -> Task | None:
        living = [one for one in self.tasks if not one.is_done]
        if not living:
            return None
        if self.is_over:
            return living[0]
        while True:
            ready = [one for one in living if self._is_ready(one, living)]
            if ready:
                break
            sleeping = [one.wakes_at for one in living if one.wakes_at > self.now]
            if not sleeping:
                self.fail(Violation(f"deadlock of {[one.name for one in living]}"))
                return living[0]
            self.now = min(sleeping)
        if self._by_priority:
            if self.steps in self._changes:
                max(ready, key=lambda one: one.priority).priority = -self.random.random()
            return max(ready, key=lambda one: one.priority)
        if task in ready and self.random.random() < self._stays:
            return task
        return ready[self.random.randrange(len(ready))]

    def _is_ready(self, task: Task, living: list[Task]) -> bool:
        if task.wakes_at > self.now:
            return False
        lock = task.waits_for
        if lock is not None and lock.holder is not None and not lock.holder.is_dead:
            return False
        others = (one for one in living if one is not task and one.is_busy and not one.is_waiting_for_quiet)
        return not (task.is_waiting_for_quiet and any(others))

    def wait_quietly(self, seconds: float) -> None:
        """Let a long time pass while no task is in the middle of an operation, and nothing is under way."""
        task = self.current
        assert task is not None
        task.is_waiting_for_quiet = True
        self.pause(task)
        task.is_waiting_for_quiet = False
        self.flush()
        self.now += seconds

    def call(
        self, text: str, effect: Callable[[], Any], *, changes: bool, is_publish: bool, allowed: frozenset[str]
    ) -> Any:
        """Make one call to the store for the current task; faults that are not of `allowed` do not happen."""
        task = self.current
        if task is None:
            return effect()
        if threading.get_ident() != task.thread:
            self.fail(RuntimeError(f"a thread of the product calls the store, in no certain order: {text}"))
        self.pause(task)
        number, task.calls = task.calls, task.calls + 1
        turn = task.publishes
        task.publishes += is_publish
        for fault in task.faults:
            at = turn if fault.is_publish else number
            if fault.at == at and fault.kind != "stale" and (is_publish or not fault.is_publish):
                break
        else:
            return self._answered(text, effect)
        return self._faulty(task, fault, text, effect, changes=changes, is_publish=is_publish, allowed=allowed)

    def _faulty(
        self,
        task: Task,
        fault: Fault,
        text: str,
        effect: Callable[[], Any],
        *,
        changes: bool,
        is_publish: bool,
        allowed: frozenset[str],
    ) -> Any:
        kind = fault.kind
        if kind == "stall":
            self.note("fault stall")
            self.sleep(float(fault.amount))
            return self._answered(text, effect)
        if kind == "jump":
            task.clock_offset = float(fault.amount)
            self.note(f"clock jumps by {fault.amount}")
            return self._answered(text, effect)
        if kind not in allowed or (kind == "racing" and not is_publish):
            kind = "error"
        if not changes and kind in ("late", "twice", "again"):
            kind = "error"
        self.note(f"fault {kind}")
        if kind in ("crash", "crash_after"):
            task.is_dead = True
            if kind == "crash_after":
                self._answered(text, effect)
            raise Killed
        task.injected += 1
        if kind == "again":
            self._answered(text, effect)
            return self._answered(text, effect)
        if kind == "twice":
            answer = self._answered(text, effect)
            self.late.append((self.steps + 1 + fault.amount, text, effect))
            return answer
        if kind == "late":
            self.late.append((self.steps + 1 + fault.amount, text, effect))
        if kind == "lost":
            self._answered(text, effect)
        if kind == "racing":
            raise OSError("ConditionalRequestConflict: another conditional put is in progress")
        raise InjectedError("the connection was closed")

    def _answered(self, text: str, effect: Callable[[], Any]) -> Any:
        try:
            answer = effect()
        except OSError as error:
            self.note(f"{text} -> {type(error).__name__}")
            raise
        self.note(text)
        return answer
