"""`Plan`: what the tasks of a history do and which calls fail, drawn from a seed; it is one line of JSON."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace

from world import Fault

WRITES = (
    "append", "append", "append", "delete", "update", "merge", "compact", "add_column", "drop_column", "overwrite",
    "restore", "config", "zone_map", "drop_index", "tag", "move_tag", "drop_tag", "branch", "branch_append",
    "drop_branch", "cleanup", "wait",
)  # fmt: skip
# Few kinds of operations meet more often than many do.
THEMES = (
    ("append", "delete", "update", "merge", "compact"),
    ("update", "delete", "merge"),
    ("append", "merge"),
    ("merge",),
    ("cleanup", "wait", "delete", "restore", "append"),
    ("cleanup", "tag", "move_tag", "drop_tag", "compact", "update"),
    ("cleanup", "wait", "branch", "overwrite"),
    ("branch", "branch_append", "drop_branch", "cleanup", "delete"),
    ("add_column", "drop_column", "append", "merge", "update", "compact", "overwrite"),
    ("zone_map", "drop_index", "compact", "update", "delete", "append"),
    ("overwrite", "restore", "append", "config", "delete"),
)
READS = ("read", "read", "count", "take", "travel", "history", "read_tag", "read_branch")
_LONGEST_JUMP_SECONDS = 3 * 86_400
"""Two clocks differ by less than what `cleanup` waits before it removes a file that no version names."""
_FAULT_KINDS = (
    "error", "lost", "again", "late", "twice", "racing", "crash", "crash_after", "jump", "stall", "stall", "stall",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Script:
    """What one task does.

    Parameters
    ----------
    name
        Of the task; what it draws depends on it and on the seed.
    steps
        Operations, each with its own number.
    faults
        Calls that fail.
    """

    name: str
    steps: tuple[tuple[str, int], ...]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """One history.

    Parameters
    ----------
    seed
        What is drawn while it runs, and the order of the tasks.
    kind
        One of `store.KINDS`.
    has_index
        Whether the table begins with an index.
    scripts
        The tasks.
    """

    seed: str
    kind: str
    has_index: bool
    scripts: tuple[Script, ...]

    def to_line(self) -> str:
        """Write the plan as one line."""
        scripts = [
            [one.name, one.steps, [[f.at, f.kind, f.is_publish, f.amount] for f in one.faults]] for one in self.scripts
        ]
        return json.dumps([self.seed, self.kind, self.has_index, scripts], separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> Plan:
        """Read a plan again."""
        seed, kind, has_index, scripts = json.loads(line)
        return cls(
            seed,
            kind,
            has_index,
            tuple(
                Script(name, tuple((do, number) for do, number in steps), tuple(Fault(*one) for one in faults))
                for name, steps, faults in scripts
            ),
        )

    def size(self) -> int:
        """Tasks, operations and faults."""
        return sum(1 + len(one.steps) + len(one.faults) for one in self.scripts)


def plan_of(seed: int, kind: str, *, only: tuple[str, ...] = ()) -> Plan:
    """Draw a plan.

    Parameters
    ----------
    seed
        A number.
    kind
        One of `store.KINDS`.
    only
        Writes to draw from; all when empty.
    """
    chance = random.Random(f"plan {seed} {kind}")
    writes = list(dict.fromkeys(only or WRITES))
    if not only and chance.random() < 0.8:
        writes = list(chance.choice(THEMES)) if chance.random() < 0.7 else chance.sample(writes, chance.randrange(2, 7))
    if kind == "stale-listing":
        # A cleanup trusts the listings of the store.
        writes = [one for one in writes if one not in ("cleanup", "wait", "drop_branch")]
    weighted = [one for one in only or WRITES if one in writes] or ["append"]
    has_faults = chance.random() < 0.7
    number = 0
    scripts = []
    for at in range(chance.choice((2, 2, 3, 4))):
        reads = at > 0 and chance.random() < 0.2
        steps = []
        for _ in range(chance.randrange(1, 4)):
            number += 1
            steps.append((chance.choice(READS) if reads else chance.choice(weighted), number))
        faults = _faults(chance, kind) if has_faults else ()
        scripts.append(Script(f"{'reader' if reads else 'writer'}{at}", tuple(steps), faults))
    return Plan(str(seed), kind, chance.random() < 0.4, tuple(scripts))


def _faults(chance: random.Random, kind: str) -> tuple[Fault, ...]:
    found = []
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        what = chance.choice(_FAULT_KINDS)
        if kind == "stale-listing" and chance.random() < 0.5:
            what = "stale"
        is_publish = what not in ("jump", "stale") and chance.random() < 0.5
        at = chance.randrange(0, 4) if is_publish else chance.randrange(0, 60)
        amount = chance.randrange(1, 40)
        if what in ("stale", "stall"):
            amount = chance.randrange(1, 5)
        if what == "jump":
            amount = chance.randrange(-_LONGEST_JUMP_SECONDS, _LONGEST_JUMP_SECONDS)
        found.append(Fault(at, what, is_publish, amount))
    return tuple(found)


def smaller(plan: Plan) -> list[Plan]:
    """Return plans with one thing less each, the largest things first."""
    found = []
    scripts = plan.scripts
    for at, script in enumerate(scripts):
        if len(scripts) > 1:
            found.append(replace(plan, scripts=scripts[:at] + scripts[at + 1 :]))
        for step in range(len(script.steps)):
            less = replace(script, steps=script.steps[:step] + script.steps[step + 1 :])
            found.append(replace(plan, scripts=(*scripts[:at], less, *scripts[at + 1 :])))
        for fault in range(len(script.faults)):
            less = replace(script, faults=script.faults[:fault] + script.faults[fault + 1 :])
            found.append(replace(plan, scripts=(*scripts[:at], less, *scripts[at + 1 :])))
    if plan.has_index:
        found.append(replace(plan, has_index=False))
    return sorted(found, key=Plan.size)
