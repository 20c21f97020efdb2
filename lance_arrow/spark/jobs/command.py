"""Jobs as commands: arguments, progress on stderr, the report on stdout or in a file; exit 1 when something is wrong.

``spark-submit "$(python -m lance_arrow.spark.jobs --path)" ingest flights.csv flights.lance --report report.json``
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lance_arrow.errors import LanceError
from lance_arrow.spark import jobs
from lance_arrow.spark.environment import why_not
from lance_arrow.spark.jobs.report import JobReport
from lance_arrow.spark.source import register

_SHOWN = 4000


def main(arguments: Sequence[str]) -> int:
    """Run a job; 0 when all is well, 1 when not, 2 for arguments that make no sense."""
    given = _parser().parse_args(arguments)
    if given.job is None:
        _parser().print_usage(sys.stderr)
        return 2
    reason = why_not() if given.job != "cleanup" else None
    if reason is not None:
        return _failed(given, "UnsupportedError", reason)
    try:
        report = _run(given)
    except LanceError as error:
        return _failed(given, type(error).__name__, str(error))
    except PySparkException as error:
        return _failed(given, type(error).__name__, str(error)[:_SHOWN])
    except OSError as error:
        return _failed(given, type(error).__name__, str(error))
    _told(given, report.as_dict(), str(report))
    return 0 if report.ok else 1


def _run(given: argparse.Namespace) -> JobReport:
    common: dict[str, Any] = {
        "storage_options": json.loads(given.storage_options) if given.storage_options else None,
        "on_progress": _say,
    }
    if given.job == "cleanup":
        if given.older_than_days is not None:
            common["older_than"] = datetime.timedelta(days=given.older_than_days)
        return jobs.cleanup(
            None, given.table, retain_versions=given.retain_versions, delete_unverified=given.delete_unverified,
            dry_run=not given.remove, **common,
        )  # fmt: skip
    spark = SparkSession.builder.appName(f"lance-arrow {given.job}").getOrCreate()
    try:
        # Found by name as well, unless the installation is an editable one.
        register(spark)
        return _run_on(spark, given, common)
    finally:
        spark.stop()


def _run_on(spark: SparkSession, given: argparse.Namespace, common: dict[str, Any]) -> JobReport:
    job = given.job
    if job == "ingest":
        return jobs.ingest(
            spark, given.source, given.table, format=given.format, read=dict(given.read), schema=given.schema,
            columns=dict(given.column) or None, types=dict(given.type), require=given.require,
            quarantine=given.quarantine, max_quarantined=given.max_quarantined, mode=given.mode,
            cluster_by=_listed(given.cluster_by), partition_by=_listed(given.partition_by), num_files=given.num_files,
            write=dict(given.write), message=given.message, **common,
        )  # fmt: skip
    if job == "rewrite":
        return jobs.rewrite(
            spark, given.table, file_version=given.file_version, preset=given.preset,
            cluster_by=_listed(given.cluster_by), num_files=given.num_files, drop_indices=given.drop_indices,
            message=given.message, **common,
        )  # fmt: skip
    if job == "compact":
        return jobs.compact(
            spark, given.table, target_rows_per_fragment=given.target_rows, drop_indices=given.drop_indices,
            message=given.message, **common,
        )  # fmt: skip
    if job == "zones":
        return jobs.zones(
            spark, given.table, columns=_listed(given.columns) or None, rows_per_zone=given.rows_per_zone, **common
        )
    if job == "delete":
        return jobs.delete(spark, given.table, given.where, message=given.message, **common)
    if job == "merge":
        source = spark.read.format(given.format).options(**dict(given.read)).load(given.source)
        return jobs.merge(
            spark, source, given.table, _listed(given.on), matched=given.matched, not_matched=given.not_matched,
            not_matched_by_source=given.not_matched_by_source, message=given.message, **common,
        )  # fmt: skip
    return jobs.verify(spark, given.table, version=given.version, **common)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lance_arrow.spark.jobs", description="Jobs over whole Lance tables.")
    parser.add_argument("--path", action="version", version=str(Path(__file__).with_name("__main__.py")))
    commands = parser.add_subparsers(dest="job", metavar="JOB")

    def add(
        name: str, said: str, *, has_source: bool = False, has_message: bool = True, drops_indices: bool = False
    ) -> argparse.ArgumentParser:
        one = commands.add_parser(name, help=said, description=said)
        if has_source:
            one.add_argument("source")
        one.add_argument("table")
        one.add_argument("--storage-options", metavar="JSON")
        one.add_argument("--report", metavar="FILE", help="where the JSON report goes; stdout gets text then")
        if has_message:
            one.add_argument("--message")
        return _with_drop_indices(one) if drops_indices else one

    one = add("ingest", "Parquet, CSV, JSON or ORC into a table", has_source=True)
    one.add_argument("--format", choices=("parquet", "csv", "json", "orc"))
    one.add_argument("--schema", help="of the source, as DDL")
    for name, said in (
        ("--read", "NAME=VALUE of Spark's reader"),
        ("--write", "NAME=VALUE of format lance"),
        ("--column", "NAME=SQL"),
        ("--type", "NAME=TYPE"),
    ):
        one.add_argument(name, action="append", default=[], type=_pair, help=said)
    one.add_argument("--require", action="append", default=[], help="SQL condition")
    one.add_argument("--quarantine", metavar="TABLE")
    one.add_argument("--max-quarantined", type=int)
    one.add_argument("--mode", choices=("append", "overwrite"), default="append")
    one.add_argument("--cluster-by", metavar="COLUMNS")
    one.add_argument("--partition-by", metavar="COLUMNS")
    one.add_argument("--num-files", type=int)
    one = add("rewrite", "all data files anew", drops_indices=True)
    one.add_argument("--file-version")
    one.add_argument("--preset", default="default")
    one.add_argument("--cluster-by", metavar="COLUMNS")
    one.add_argument("--num-files", type=int)
    one = add("compact", "small fragments into large ones", drops_indices=True)
    one.add_argument("--target-rows", type=int, default=1 << 20)
    one = add("zones", "zone maps beside files that have none", has_message=False)
    one.add_argument("--columns")
    one.add_argument("--rows-per-zone", type=int, default=8192)
    one = add("delete", "rows by predicate")
    one.add_argument("--where", required=True, metavar="SQL")
    one = add("merge", "rows by keys", has_source=True)
    one.add_argument("--on", required=True, metavar="COLUMNS")
    one.add_argument("--format", default="parquet")
    one.add_argument("--read", action="append", default=[], type=_pair, help="NAME=VALUE of Spark's reader")
    one.add_argument("--matched", choices=("update", "delete", "keep"), default="update")
    one.add_argument("--not-matched", choices=("insert", "ignore"), default="insert")
    one.add_argument("--not-matched-by-source", choices=("keep", "delete"), default="keep")
    one = add("verify", "every checksum and every page of a version", has_message=False)
    one.add_argument("--version", type=int)
    one = add("cleanup", "old versions and files that nothing names; only tells unless --remove", has_message=False)
    one.add_argument("--older-than-days", type=float)
    one.add_argument("--retain-versions", type=int)
    one.add_argument("--delete-unverified", action="store_true")
    one.add_argument("--remove", action="store_true")
    return parser


def _with_drop_indices(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument(
        "--drop-indices", action="store_true", help="drop those that keep fragments from being rewritten"
    )
    return parser


def _pair(given: str) -> tuple[str, str]:
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise argparse.ArgumentTypeError(f"expected NAME=VALUE, not {given!r}")
    return name, value


def _listed(given: str | None) -> list[str]:
    return [] if given is None else [one.strip() for one in given.split(",") if one.strip()]


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _told(given: argparse.Namespace, facts: dict[str, Any], text: str) -> None:
    if given.report is None:
        print(json.dumps(facts, allow_nan=False))
        return
    Path(given.report).write_text(json.dumps(facts, allow_nan=False, indent=1) + "\n")
    print(text)


def _failed(given: argparse.Namespace, kind: str, message: str) -> int:
    _say(f"{given.job}: {message}")
    _told(given, {"job": given.job, "ok": False, "error": {"type": kind, "message": message}}, f"{given.job} failed")
    return 1
