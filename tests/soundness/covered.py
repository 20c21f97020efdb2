"""Measure which lines and branches of pruning, commits and checksums tests run: `python tests/soundness/covered.py`.

Lines are to be 95 % and branches all, in each subject; what is missing is printed by file. `nox -s coverage` runs it.
Native code is not measured: sanitizers and fuzzers run it. Processes that tests start are not measured either.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
LEAST_LINES, LEAST_BRANCHES = 0.95, 1.0


@dataclass(frozen=True)
class Subject:
    """What is measured, and by which tests.

    Parameters
    ----------
    files
        Below the package; a folder counts with all that it has.
    tests
        Below `tests`.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...]


SUBJECTS = {
    "pruning": Subject(
        ("pruning/",),
        ("pruning", "statistics", "soundness/test_soundness.py", "scan/test_late_materialization.py"),
    ),
    "commits": Subject(
        ("table/commit.py", "table/strategies.py", "table/conflicts.py", "manifests/versions.py",
         "manifests/version_files.py", "manifests/version_marks.py", "manifests/writing.py", "io/exclusive.py"),
        ("table/test_conflicts.py", "table/test_strategies.py", "table/test_interleavings.py",
         "table/test_table_edits.py", "table/test_commit_requests.py", "table/test_durability.py",
         "table/test_cleanup.py", "table/test_rare_commits.py", "table/test_many_versions.py",
         "table/test_naming_removed_versions.py", "table/test_version_heads.py", "table/test_far_commits.py",
         "table/test_obstore_tables.py", "manifests", "simulation", "faults/test_hostile_tables.py"),
    ),
    "checksums": Subject(
        ("container/checksums.py", "container/checksum_writer.py", "manifests/seals.py", "files/checksum_audit.py",
         "io/verified_source.py"),
        ("container/test_checksums.py", "container/test_late_checksums.py", "faults/test_checksum_flips.py",
         "faults/test_checks_table.py",
         "faults/test_sealed_tables.py", "files/test_verification.py", "io/test_verified_source.py",
         "faults/test_flipped_files.py", "manifests/test_seals.py"),
    ),
}  # fmt: skip


def measured(tests: Sequence[str], files: Sequence[str], package: Path) -> dict[str, dict]:
    """Run tests, and return what coverage.py says of each file, by its path below the package."""
    with tempfile.TemporaryDirectory() as made:
        data, report = Path(made) / "coverage", Path(made) / "coverage.json"
        run = [sys.executable, "-m", "coverage", "run", "--branch", "--concurrency=thread", f"--data-file={data}"]
        run += [f"--include={','.join(str(package / one) + '/*' * one.endswith('/') for one in files)}", "-m", "pytest"]
        subprocess.run([*run, "-q", "--no-header", *tests], cwd=TESTS, check=True)
        command = [sys.executable, "-m", "coverage", "json", f"--data-file={data}", "-o", str(report)]
        subprocess.run(command, cwd=TESTS, check=True, stdout=subprocess.DEVNULL)
        found = json.loads(report.read_text())["files"]
    return {str(Path(path).relative_to(package)): one for path, one in found.items()}


def told(name: str, found: dict[str, dict]) -> bool:
    """Print shares and gaps; returns whether there is enough."""
    totals = [one["summary"] for one in found.values()]
    lines = sum(one["covered_lines"] for one in totals), sum(one["num_statements"] for one in totals)
    branches = sum(one["covered_branches"] for one in totals), sum(one["num_branches"] for one in totals)
    print(f"{name}: {lines[0]:,} of {lines[1]:,} lines, {branches[0]:,} of {branches[1]:,} branches")
    for path, one in sorted(found.items()):
        gaps = [f"{start} to {'the end' if stop < 0 else stop}" for start, stop in one["missing_branches"]]
        if one["missing_lines"] or gaps:
            print(f"  {path}: lines {one['missing_lines']}, branches {', '.join(gaps) or 'none'}")
    return lines[0] >= LEAST_LINES * lines[1] and branches[0] >= LEAST_BRANCHES * branches[1]


def main() -> int:
    """Measure what is named, or all; 1 if there is too little anywhere."""
    import lance_arrow  # noqa: PLC0415 - only for where it is installed

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("subjects", nargs="*", choices=[*SUBJECTS, []], help=f"some of {', '.join(SUBJECTS)}")
    asked = parser.parse_args().subjects or list(SUBJECTS)
    package = Path(lance_arrow.__file__).parent
    results = {name: measured(SUBJECTS[name].tests, SUBJECTS[name].files, package) for name in asked}
    return int(not all([told(name, found) for name, found in results.items()]))


if __name__ == "__main__":
    sys.exit(main())
