"""A model of commits: writers that open, check and put, explored breadth first, and replayed on the product.

open    read the newest version                                    one listing
check   list, compare with each version since, maybe start again   one listing
put     create the next manifest if there is none                  one conditional put: done, its answer lost, or failed

An append adds a fragment. An update replaces all fragments of the version it read by one. An overwrite replaces all.
States are equal if all that comes is equal. What comes depends on what each writer does next, on what its next check
will say, and on which fragments are in what it read and in the newest version, not on their number (`canonical`).
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
ANY = "any"
"""An operation that is chosen when the writer opens."""
Programs = tuple[tuple[str, ...], ...]
"""Operations of each writer, in order."""
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
    kind: str = ""
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
    """A writer's turn: what it opens for, or the answer to a put, which is ``done``, ``lost`` or ``error``."""

    writer: int
    answer: str = "done"
    kind: str = ""


def start(num_writers: int) -> State:
    """Return the state that all histories begin with: a version of two fragments."""
    return State((Version("", None, frozenset(), frozenset({0, 1}), 2),), (Writer(),) * num_writers)


def steps(state: State, programs: Programs) -> Iterator[tuple[Step, State]]:
    """Yield what may come next."""
    for number, (writer, program) in enumerate(zip(state.writers, programs, strict=True)):
        if writer.at == len(program):
            continue
        if writer.phase == OPEN:
            # An operation that begins again is the same one.
            planned = writer.kind or program[writer.at]
            for kind in OPERATIONS if planned == ANY else (planned,):
                yield Step(number, kind=kind), _after(state, number, "done", kind)
        else:
            for answer in ("done", "lost", "error") if writer.phase == PUT else ("done",):
                yield Step(number, answer), _after(state, number, answer, writer.kind)


def _after(state: State, number: int, answer: str, kind: str) -> State:
    writer, newest = state.writers[number], len(state.versions) - 1
    versions = state.versions
    if writer.phase == OPEN:
        writer = replace(writer, phase=CHECK, kind=kind, read=newest, checked=newest)
    elif writer.phase == CHECK:
        writer = _checked(state, number)
    elif writer.checked < newest:
        # There is a manifest of this number, which a writer asks for after an error too.
        writer = replace(writer, phase=CHECK)
    elif answer == "error":
        writer = _ended(writer, "failed")
    else:
        versions = (*versions, _made(state, number, kind))
        writer = _ended(writer, "done") if answer == "done" else replace(writer, phase=CHECK)
    writers = (*state.writers[:number], writer, *state.writers[number + 1 :])
    return State(versions, writers)


def _checked(state: State, number: int) -> Writer:
    writer, verdict = state.writers[number], _verdict(state, number)
    if verdict in ("done", "refused"):
        return _ended(writer, verdict)
    if verdict == "again":
        return replace(writer, phase=OPEN)
    return replace(writer, phase=PUT, checked=len(state.versions) - 1)


def _verdict(state: State, number: int) -> str:
    """What a check says now: how it ends, or whether there are new versions that the operation may follow."""
    writer = state.writers[number]
    new = state.versions[writer.checked + 1 :]
    for version in new:
        if version.made_by == (number, writer.at):
            return "done"
        rule = _RULES[writer.kind, version.kind]
        if rule == "no":
            return "refused"
        if rule == "shared" and version.removed & state.versions[writer.read].fragments:
            return "again"
    return "new" if new else "none"


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
        for at, outcome in enumerate(writer.outcomes):
            if ((number, at) in made) != (outcome == "done"):
                raise ModelError(f"operation {number, at} was told {outcome!r}: {made}")


def canonical(state: State, *, are_alike: bool) -> tuple[object, ...]:
    """Return what is equal for states from which the same may come.

    Parameters
    ----------
    state
        Any state.
    are_alike
        Whether all writers have one program, so that states are equal too if the writers change places.
    """
    newest = state.versions[-1].fragments
    reads = [frozenset() if one.phase == OPEN else state.versions[one.read].fragments for one in state.writers]
    # Who has a fragment: each writer in what it read, and the newest version.
    owners = {tuple(fragment in one for one in (*reads, newest)) for fragment in newest.union(*reads)}
    writers = [
        (one.at, one.phase, one.kind, "" if one.phase == OPEN else _verdict(state, number))
        for number, one in enumerate(state.writers)
    ]
    places = range(len(writers))
    return min(
        (tuple(writers[at] for at in order), tuple(sorted((*[has[at] for at in order], has[-1]) for has in owners)))
        for order in (itertools.permutations(places) if are_alike else [tuple(places)])
    )


@dataclass(frozen=True, slots=True)
class Explored:
    """All states: how many, how many steps they have, and how many are ends."""

    states: int
    steps: int
    ends: int


def explore(programs: Programs) -> Explored:
    """Visit a state of each kind (`canonical`) and all its steps, and check what each leads to."""
    are_alike = len(set(programs)) == 1
    first = start(len(programs))
    seen, waiting = {canonical(first, are_alike=are_alike)}, deque([first])
    num_steps = ends = 0
    while waiting:
        state = waiting.popleft()
        following = [after for _, after in steps(state, programs)]
        ends += not following
        num_steps += len(following)
        for after in following:
            check(after)
            kind = canonical(after, are_alike=are_alike)
            if kind not in seen:
                seen.add(kind)
                waiting.append(after)
    return Explored(len(seen), num_steps, ends)


def schedule(seed: int) -> tuple[Programs, list[Step], State]:
    """Draw programs of three operations for three writers, and one way to an end."""
    chance = random.Random(f"schedule {seed}")
    programs = tuple(tuple(chance.choices(OPERATIONS, k=3)) for _ in range(3))
    state, way = start(len(programs)), []
    while following := list(steps(state, programs)):
        # Failures are rarer than answers, so that there are versions to meet.
        weights = [4 if step.answer == "done" else 1 for step, _ in following]
        step, state = chance.choices(following, weights)[0]
        way.append(step)
    return programs, way, state


def main() -> int:
    """Explore the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--operations", type=int, default=3, help="of each of three writers, each any of the three kinds"
    )
    most = parser.parse_args().operations
    for number in range(1, most + 1):
        begun = time.process_time()
        found = explore(((ANY,) * number,) * 3)
        print(
            f"3 writers, any {number} operations each: {found.states} states, {found.steps} steps, {found.ends} ends, "
            f"0 broken promises, {time.process_time() - begun:.0f} s of processor time",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
