"""Sessions of robustness: damaged files, killed writers, long runs, random filters."""

from __future__ import annotations

import nox

from sessions.common import TEST_EXTRAS, TEST_REQUIREMENTS, install


@nox.session
def fuzz(session: nox.Session) -> None:
    """Read damaged files: right rows or a LanceError; `-- --minutes 30`, or `-- --count 100000 --workers 2`."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/fuzz.py", *session.posargs)


@nox.session
def fuzz_tables(session: nox.Session) -> None:
    """Read and write damaged tables: right rows or a LanceError; `-- --minutes 30`, or `-- --count 10000`."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/fuzz_tables.py", *session.posargs)


@nox.session
def fuzz_written(session: nox.Session) -> None:
    """Flip 2,000 bits of files written here, kill 200 writers: right rows or an error, whole files or none."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/flipped.py", *session.posargs)
    session.run("python", "tests/faults/killed.py", *session.posargs)


@nox.session
def salvaged(session: nox.Session) -> None:
    """Salvage 10,000 damaged files and 1,000 damaged tables: every saved row is the original one, at its place."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    # One seed in five makes a table that its version cannot hold, or leaves nothing to damage.
    session.run("python", "tests/faults/salvaged.py", "--count", "12800")
    session.run("python", "tests/faults/salvaged.py", "--count", "2000", "--without-checksums")
    session.run("python", "tests/faults/salvaged_tables.py", "--count", "1260")


@nox.session
def crashes(session: nox.Session) -> None:
    """Kill every operation of a table at every call to its filesystem; `-- append --step 3` for some."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/faults/crash_points.py", *session.posargs)


@nox.session
def simulate(session: nox.Session) -> None:
    """Play 2,000 histories of each kind of store, and find each deliberate break; `-- --histories 20000` for more."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    options = session.posargs or ["--histories", "2000", "--processes", "2"]
    session.run("python", "tests/simulation/run.py", *options)
    if not session.posargs:
        session.run("python", "tests/simulation/find_breaks.py")


@nox.session
def far_faults(session: nox.Session) -> None:
    """Read 10,000 times and commit 1,000 times through a server that fails, and swap an object 1,000 times."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, "s3fs")
    session.env.update({"PYTHONPATH": "tests/support", "LANCE_ARROW_READ_SECONDS": "10"})
    session.run("python", "tests/stores/failing_stores.py", *session.posargs)
    if not session.posargs:
        session.run("python", "tests/stores/swapped.py")


@nox.session
def soak(session: nox.Session) -> None:
    """Scan 10,000 times with one thread of each kind, in threads, forked and spawned: it ends, and nothing grows."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soak/run.py", *session.posargs)


@nox.session
def mixed_soak(session: nox.Session) -> None:
    """Read and write two tables for an hour, with faults: memory, descriptors, threads stay; `-- --minutes 5`."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soak/mixed.py", *session.posargs)


@nox.session
def floods(session: nox.Session) -> None:
    """Use tables of 100,000 versions, 1,000,000 fragments, 10,000 columns, long names, 63 levels; `-- names`."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soak/floods.py", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Measure lines and branches of pruning, commits and checksums that tests run; `-- checksums` for some."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, "coverage>=7.6")
    session.run("python", "tests/soundness/covered.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Change what prunes in one place at a time: tests notice nine changes in ten; `-- --sample 100` for some."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soundness/mutants.py", *session.posargs)


@nox.session
def soundness(session: nox.Session) -> None:
    """Compare what 100,000 random filters find with Arrow's own answer; `-- --count 500`, `-- --minutes 5` for less.

    With `-- --engines` they are predicates of DuckDB and Polars, by the doors of these.
    """
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/soundness/run.py", *session.posargs)


@nox.session
def promises(session: nox.Session) -> None:
    """Measure what is promised, and write docs/promises.md; `-- histories crashes` for some."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS)
    session.run("python", "tests/promises/measure.py", *session.posargs)
