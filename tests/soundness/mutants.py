"""Change one operator, name or constant and see if tests notice: `python tests/soundness/mutants.py`.

What is changed prunes, commits, or checks sums of bytes.

Each mutant is a process that imports the changed module in place of the true one and runs the tests named in `SUITES`.
One that no test notices is printed, with its line; fewer than 92 in 100 noticed are a failure.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Loaded once, before any fork: all that is slow to import and is not what is changed.
import hypothesis
import numpy as np  # noqa: F401
import pandas as pd  # noqa: F401
import pyarrow as pa  # noqa: F401
import pyarrow.compute as pc  # noqa: F401
import pyarrow.dataset as pads  # noqa: F401
import pyarrow.parquet as pq  # noqa: F401
import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PREDICATES = (
    "pruning/test_zone_programs.py",
    "pruning/test_zone_precision.py",
    "soundness/test_soundness.py::test_filters_find_the_same_rows_by_every_door[0]",
    "pruning/test_zone_predicates.py",
)
# The shortest first: a run ends at the first failure.
COMMITS = (
    "table/test_conflicts.py",
    "table/test_rare_commits.py",
    "table/test_version_heads.py",
    "table/test_far_commits.py",
    "table/test_strategies.py",
    "table/test_interleavings.py",
    "table/test_commit_requests.py",
    "table/test_table_edits.py",
    "table/test_durability.py",
    "table/test_many_versions.py",
    "table/test_naming_removed_versions.py",
    "table/test_cleanup.py",
    "table/test_obstore_tables.py",
    "manifests",
    "simulation",
)
CHECKSUMS = (
    "manifests/test_seals.py",
    "io/test_verified_source.py",
    "container/test_checksums.py",
    "container/test_late_checksums.py",
    "files/test_verification.py",
    "faults/test_checks_table.py",
    "faults/test_flipped_files.py",
    "faults/test_sealed_tables.py",
    "faults/test_checksum_flips.py",
)
SUITES: dict[str, tuple[str, ...]] = {
    "lance_arrow.pruning.zone_values": PREDICATES,
    "lance_arrow.pruning.zone_programs": PREDICATES,
    "lance_arrow.pruning.zone_predicates": PREDICATES,
    "lance_arrow.pruning.zone_pruning": PREDICATES,
    "lance_arrow.pruning.file_pruner": ("pruning/test_file_pruner.py", "pruning", "arrow_dataset/test_bridge_scan.py"),
    "lance_arrow.pruning.described_file": ("pruning/test_file_pruner.py", "pruning"),
    "lance_arrow.statistics.legacy.v0_1_zones": ("statistics/test_v0_1_zones.py",),
    "lance_arrow.statistics.zone_joining": ("statistics/test_zone_joining.py",),
    "lance_arrow.statistics.zone_bounds": ("statistics/test_zone_builder.py", "pruning/test_zone_precision.py"),
    "lance_arrow.table.commit": COMMITS,
    "lance_arrow.table.strategies": COMMITS,
    "lance_arrow.table.conflicts": COMMITS,
    "lance_arrow.manifests.versions": ("manifests/test_versions.py", *COMMITS),
    "lance_arrow.manifests.version_files": ("manifests/test_version_files.py", *COMMITS),
    "lance_arrow.manifests.version_marks": ("manifests/test_newest_names.py", *COMMITS),
    "lance_arrow.manifests.writing": ("manifests/test_versions.py", *COMMITS),
    "lance_arrow.io.exclusive": ("table/test_strategies.py", "io", *COMMITS),
    "lance_arrow.manifests.seals": CHECKSUMS,
    "lance_arrow.container.checksums": CHECKSUMS,
    "lance_arrow.container.checksum_writer": CHECKSUMS,
    "lance_arrow.container.file_checks": CHECKSUMS,
    "lance_arrow.files.checksum_audit": CHECKSUMS,
    "lance_arrow.io.verified_source": CHECKSUMS,
}
PASSING = 0.92

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
_PAIRS = (
    ("low", "high"),
    ("true", "false"),
    ("value", "null"),
    ("less", "less_equal"),
    ("greater", "greater_equal"),
    ("left", "right"),
    ("starts", "stops"),
    ("NO", "ALL"),
    ("then", "otherwise"),
    ("mins", "maxs"),
    ("min_exact", "max_exact"),
    ("and_kleene", "and_strict"),
    ("_MATCH_NULLS", "_SKIP_NULLS"),
    ("may", "always"),
    ("never", "always"),
    ("has_low", "has_high"),
)
_OTHER_NAME: dict[str, str] = {}
for _one, _two in _PAIRS:
    _OTHER_NAME.setdefault(_one, _two)
    _OTHER_NAME.setdefault(_two, _one)


_NEVER = (ast.Import, ast.ImportFrom, ast.Raise, ast.JoinedStr)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one module."""

    module: str
    line: int
    change: str
    tree: ast.Module

    def __str__(self) -> str:
        return f"{self.module.rpartition('.')[2]}.py:{self.line}: {self.change}"


def mutants_of(module: str) -> Iterator[Mutant]:
    """Yield every mutant of a module's source."""
    tree = ast.parse((ROOT / (module.replace(".", "/") + ".py")).read_text())
    for path in _changeable(tree):
        node = _at(tree, path)
        for change in _changes(node):
            changed = copy.deepcopy(tree)
            before = ast.unparse(node)
            after = _replaced(changed, path, change)
            ast.fix_missing_locations(changed)
            yield Mutant(module, getattr(node, "lineno", 0), f"{before}  ->  {after}"[:150], changed)


def _changeable(tree: ast.Module) -> Iterator[tuple[tuple[str, int | None], ...]]:
    """Yield paths of nodes that run: no annotation, docstring, import, decorator, text of an error, or `strict` of zip.

    Nor what is imported for types alone. What is zipped here is of one length, so that `strict` never shows.
    """
    waiting: list[tuple[ast.AST, tuple[tuple[str, int | None], ...]]] = [(tree, ())]
    while waiting:
        node, path = waiting.pop()
        if path:
            yield path
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "ctx") or isinstance(value, _NEVER):
                continue
            children = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for number, child in children:
                is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
                is_alias = isinstance(child, ast.AnnAssign) and ast.unparse(child.annotation) == "TypeAlias"
                is_strict = isinstance(child, ast.keyword) and child.arg == "strict"
                is_of_types = isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"
                is_idle = is_text or is_alias or is_strict or is_of_types or isinstance(child, _NEVER)
                if isinstance(child, ast.AST) and not is_idle:
                    waiting.append((child, (*path, (name, number))))


def _at(tree: ast.AST, path: Sequence[tuple[str, int | None]]) -> ast.AST:
    node = tree
    for name, number in path:
        value = getattr(node, name)
        node = value if number is None else value[number]
    return node


def _replaced(tree: ast.AST, path: Sequence[tuple[str, int | None]], new: ast.AST) -> str:
    parent = _at(tree, path[:-1])
    name, number = path[-1]
    if number is None:
        setattr(parent, name, new)
    else:
        getattr(parent, name)[number] = new
    return ast.unparse(new)


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in a node's place."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OPERATORS:
        yield ast.Compare(node.left, [_OPERATORS[type(node.ops[0])]()], node.comparators)  # type: ignore[list-item]
    elif isinstance(node, (ast.BinOp, ast.AugAssign, ast.BoolOp)) and type(node.op) in _OPERATORS:
        other = copy.copy(node)
        other.op = _OPERATORS[type(node.op)]()  # type: ignore[assignment]
        yield other
        if isinstance(node, ast.AugAssign):
            yield ast.Pass()
        elif isinstance(node, ast.BinOp):
            yield node.left
        else:
            yield node.values[0]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
        elif isinstance(node.value, str):
            yield ast.Constant(_OTHER_NAME.get(node.value, f"not {node.value}"))
    elif isinstance(node, ast.Attribute) and node.attr in _OTHER_NAME:
        yield ast.Attribute(node.value, _OTHER_NAME[node.attr], node.ctx)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in _OTHER_NAME:
        yield ast.Name(_OTHER_NAME[node.id], node.ctx)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(node.test, node.orelse, node.body)
    elif isinstance(node, ast.If):
        yield ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        yield ast.Return(ast.Constant(None))


class _Changed(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives a changed module in place of the true one."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(self, fullname: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.util.spec_from_loader(fullname, self) if fullname == self._mutant.module else None

    def exec_module(self, module: object) -> None:
        exec(compile(self._mutant.tree, self._mutant.module, "exec"), module.__dict__)


def begin(module: str, mutant: Mutant | None, limit_seconds: int) -> int:
    """Fork a process that runs the tests of a module; it ends with 0 when none of them failed."""
    process = os.fork()
    if process:
        return process
    signal.alarm(limit_seconds)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Changed(mutant))
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    os.chdir(TESTS)
    suites = [str(TESTS / one) for one in SUITES[module]]
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(ROOT), "-x", "-q", "-p", "no:cacheprovider"]
    options += ["-o", "timeout=0", "--hypothesis-profile", "mutants"]
    os._exit(int(pytest.main([*options, *suites])))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", choices=[one.rpartition(".")[2] for one in SUITES], action="append")
    parser.add_argument("--sample", type=int, help="as many, chosen by a seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", type=int, help="only mutants of this line")
    parser.add_argument("--limit-seconds", type=int, default=120, help="of the tests of one mutant; more beside others")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 4))
    options = parser.parse_args()
    modules = [one for one in SUITES if not options.module or one.rpartition(".")[2] in options.module]
    for module in modules:
        if os.waitstatus_to_exitcode(os.waitpid(begin(module, None, options.limit_seconds), 0)[1]):
            print(f"the tests of {module} fail without any change")
            return 2
    waiting = [one for module in modules for one in mutants_of(module) if options.line in (None, one.line)]
    if options.sample is not None and options.sample < len(waiting):
        waiting = random.Random(options.seed).sample(waiting, options.sample)
    total, missed, num_endless = len(waiting), list[Mutant](), 0
    started, running = time.perf_counter(), dict[int, Mutant]()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            mutant = waiting.pop()
            running[begin(mutant.module, mutant, options.limit_seconds)] = mutant
        process, status = os.wait()
        mutant = running.pop(process)
        code = os.waitstatus_to_exitcode(status)
        # Tests that do not end notice a change, too; on a busy machine they may just be slow.
        num_endless += code == -signal.SIGALRM
        if code == 0:
            missed.append(mutant)
            print(f"missed {mutant}", flush=True)
    share = 1 - len(missed) / max(1, total)
    for module in modules:
        of_module = sum(one.module == module for one in missed)
        print(f"{module}: {of_module} missed")
    seconds, num_noticed = time.perf_counter() - started, total - len(missed)
    print(f"{num_noticed} of {total} mutants noticed, {share:.1%}, {num_endless} by the limit, in {seconds:.0f} s")
    return 0 if total and share >= PASSING else 1


if __name__ == "__main__":
    sys.exit(main())
