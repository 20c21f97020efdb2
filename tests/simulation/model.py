"""A model of commits: writers that open, check and put, explored breadth first, and replayed on the product.

open    read the newest version                                    one listing
check   list, compare with each version since, maybe start again   one listing
put     create the next manifest if there is none                  one conditional put: done, its answer lost, or failed

An append adds a fragment. An update replaces all fragments of the version it read by one. An overwrite replaces all.
Source of the rules: table-format 7.3; they are written here a second time, and not read from `table.conflicts`.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

Operation = tuple[int, int]
"""Number of a writer, and of one of its operations."""
OPERATIONS = ("append", "update", "overwrite")
PROGRAMS = (("append", "update", "overwrite"), ("update", "append", "update"), ("overwrite", "update", "append"))
OPEN, CHECK, PUT = "open", "check", "put"
# Whether ours may follow theirs: yes, as it is; again, from a newer version; no.
_RULES = {
    ("append", "append"): "yes", ("append", "update"): "yes", ("append", "overwrite"): "no",
    ("update", "append"): "yes", ("update", "update"): "shared", ("update", "overwrite"): "no",
    ("overwrite", "append"): "yes", ("overwrite", "update"): "yes", ("overwrite", "overwrite"): "no",
}  # fmt: skip


class ModelError(AssertionError):
    """A state in which a promise is broken."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version: what made it, the fragments that it removed, those that it has, and the next id of one."""

    kind: str
    made_by: Operation | None
    removed: frozenset[int]
    fragments: frozenset[int]
    next_id: int


@dataclass(frozen=True, slots=True)
class Writer:
    """Where a writer is: its operation, what it does next, the versions that it read and checked, and outcomes."""

    at: int = 0
    phase: str = OPEN
    read: int = 0
    checked: int = 0
    outcomes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """All versions, and all writers."""

    versions: tuple[Version, ...]
    writers: tuple[Writer, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A writer's turn; `answer` is ``done``, ``lost`` or ``error`` for a put, else ``done``."""

    writer: int
    answer: str = "done"


def start(num_writers: int) -> State:
    """Return the state that all histories begin with: a version of two fragments."""
    return State((Version("", None, frozenset(), frozenset({0, 1}), 2),), (Writer(),) * num_writers)


def steps(state: State, programs: tuple[tuple[str, ...], ...]) -> Iterator[tuple[Step, State]]:
    """Yield what may come next."""
    for number, writer in enumerate(state.writers):
        if writer.at == len(programs[number]):
            continue
        for answer in ("done", "lost", "error") if writer.phase == PUT else ("done",):
            yield Step(number, answer), _after(state, number, programs[number], answer)


def _after(state: State, number: int, program: tuple[str, ...], answer: str) -> State:
    writer, newest = state.writers[number], len(state.versions) - 1
    versions = state.versions
    if writer.phase == OPEN:
        writer = replace(writer, phase=CHECK, read=newest, checked=newest)
    elif writer.phase == CHECK:
        writer = _checked(state, number, program)
    elif writer.checked < newest:
        # There is a manifest of this number, which a writer asks for after an error too.
        writer = replace(writer, phase=CHECK)
    elif answer == "error":
        writer = _ended(writer, "failed")
    else:
        versions = (*versions, _made(state, number, program[writer.at]))
        writer = _ended(writer, "done") if answer == "done" else replace(writer, phase=CHECK)
    writers = (*state.writers[:number], writer, *state.writers[number + 1 :])
    return State(versions, writers)


def _checked(state: State, number: int, program: tuple[str, ...]) -> Writer:
    writer = state.writers[number]
    ours = program[writer.at]
    for version in state.versions[writer.checked + 1 :]:
        if version.made_by == (number, writer.at):
            return _ended(writer, "done")
        rule = _RULES[ours, version.kind]
        if rule == "no":
            return _ended(writer, "refused")
        if rule == "shared" and version.removed & state.versions[writer.read].fragments:
            return replace(writer, phase=OPEN)
    return replace(writer, phase=PUT, checked=len(state.versions) - 1)


def _ended(writer: Writer, outcome: str) -> Writer:
    return Writer(writer.at + 1, outcomes=(*writer.outcomes, outcome))


def _made(state: State, number: int, operation: str) -> Version:
    writer, newest = state.writers[number], state.versions[-1]
    made_by, following = (number, writer.at), newest.next_id
    if operation == "append":
        return Version(operation, made_by, frozenset(), newest.fragments | {following}, following + 1)
    if operation == "overwrite":
        return Version(operation, made_by, newest.fragments, frozenset({following}), following + 1)
    gone = state.versions[writer.read].fragments
    if not gone <= newest.fragments:
        raise ModelError(f"an update of {sorted(gone)} found {sorted(newest.fragments)}")
    return Version(operation, made_by, gone, newest.fragments - gone | {following}, following + 1)


def check(state: State) -> None:
    """Compare what writers were told with the versions.

    Raises
    ------
    ModelError
        An operation is there twice, or is not there although it was acknowledged, or the reverse.
    """
    made = [version.made_by for version in state.versions if version.made_by is not None]
    if len(set(made)) != len(made):
        raise ModelError(f"an operation made two versions: {made}")
    for number, writer in enumerate(state.writers):
        # Of a state that forgot, the last outcomes are known.
        for at, outcome in enumerate(writer.outcomes, start=writer.at - len(writer.outcomes)):
            if ((number, at) in made) != (outcome == "done"):
                raise ModelError(f"operation {number, at} was told {outcome!r}: {made}")


def shortest(state: State) -> State:
    """Forget what no writer looks back at: older versions, outcomes, who made what before, the numbers of fragments."""
    newest = len(state.versions) - 1
    busy = [one for one in state.writers if one.phase != OPEN]
    first = min((min(one.read, one.checked) for one in busy), default=newest)
    current = {(number, one.at) for number, one in enumerate(state.writers) if one.phase != OPEN}
    versions = state.versions[first:]
    known = sorted(set().union(*[one.fragments | one.removed for one in versions]))
    names = {old: new for new, old in enumerate(known)}
    shown = tuple(
        Version(
            one.kind,
            one.made_by if one.made_by in current else None,
            frozenset(names[old] for old in one.removed),
            frozenset(names[old] for old in one.fragments),
            len(names),
        )
        for one in versions
    )
    writers = tuple(
        Writer(one.at) if one.phase == OPEN else Writer(one.at, one.phase, one.read - first, one.checked - first)
        for one in state.writers
    )
    return State(shown, writers)


def explore(programs: tuple[tuple[str, ...], ...] = PROGRAMS) -> tuple[int, int]:
    """Visit every state; returns how many there are, and how many of them are ends."""
    first = shortest(start(len(programs)))
    seen, waiting, ends = {first}, deque([first]), 0
    while waiting:
        state = waiting.popleft()
        following = [after for _, after in steps(state, programs)]
        ends += not following
        for whole in following:
            check(whole)
            after = shortest(whole)
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return len(seen), ends


def schedule(seed: int, programs: tuple[tuple[str, ...], ...] = PROGRAMS) -> tuple[list[Step], State]:
    """Draw one way to an end."""
    chance, state, way = random.Random(f"schedule {seed}"), start(len(programs)), []
    while following := list(steps(state, programs)):
        # Failures are rarer than answers, so that there are versions to meet.
        weights = [4 if step.answer == "done" else 1 for step, _ in following]
        step, state = chance.choices(following, weights)[0]
        way.append(step)
    return way, state


def main() -> int:
    """Explore the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--long", action="store_true", help="three operations of each writer too: takes long")
    arguments = parser.parse_args()
    each = [tuple((one,) for one in three) for three in itertools.product(OPERATIONS, repeat=3)]
    cases = {"one operation each, all 27 programs": each, "two each": [tuple(one[:2] for one in PROGRAMS)]}
    if arguments.long:
        cases["three each"] = [PROGRAMS]
    for name, programs in cases.items():
        begun = time.perf_counter()
        found = [explore(one) for one in programs]
        states, ends = (sum(counts) for counts in zip(*found, strict=True))
        print(f"3 writers, {name}: {states} states, {ends} ends, {time.perf_counter() - begun:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
