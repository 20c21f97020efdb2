"""`ingest`: Parquet, CSV, JSON, ORC or any data frame into a table; rows that do not fit go to a table of their own.

source ─► records ─► columns cast and computed ─► the problem of each row
                                                     ├─ something ─► quarantine, first
                                                     └─ nothing ───► sorted ─► the table, in one version
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import StringType, StructField, StructType

from lance_arrow.choices import IngestMode
from lance_arrow.errors import InvalidArgumentError, ResourceLimitError
from lance_arrow.manifests.versions import list_manifests
from lance_arrow.spark.clustering import clustered
from lance_arrow.spark.jobs.frames import read_options, written_counts
from lance_arrow.spark.jobs.report import JobReport, OnProgress, Stopwatch
from lance_arrow.spark.jobs.snapshots import address_of
from lance_arrow.spark.options import TableAddress

FORMATS = ("parquet", "csv", "json", "orc")
_RECORD = "_lance_arrow_record"
_PROBLEM = "_lance_arrow_problem"
_FILE = "_lance_arrow_file"


def ingest(
    spark: SparkSession,
    source: DataFrame | str | Sequence[str],
    uri: str,
    *,
    format: str | None = None,
    read: Mapping[str, Any] | None = None,
    schema: str | None = None,
    columns: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    require: Sequence[str] = (),
    quarantine: str | None = None,
    max_quarantined: int | None = None,
    mode: IngestMode = "append",
    cluster_by: Sequence[str] = (),
    partition_by: Sequence[str] = (),
    num_files: int | None = None,
    write: Mapping[str, Any] | None = None,
    message: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
    on_progress: OnProgress | None = None,
) -> JobReport:
    """Write rows of a source into a table, in one version; all of them, or none.

    Parameters
    ----------
    spark
        The session.
    source
        A data frame (of JDBC, say), or paths of files.
    uri, storage_options
        The table; made when there is none.
    format
        Of files: ``"parquet"``, ``"csv"``, ``"json"`` or ``"orc"``; told by the end of the first path when None.
    read
        Options of Spark's reader (``header``, ``sep`` ...).
    schema
        Columns of the source, as DDL (``"id long, name string"``); records of CSV and JSON that do not fit it are bad
        rows. Told by the source when None.
    columns
        Columns of the table, each a SQL expression over the source; the source's own when None.
    types
        Types of columns, as DDL, tried on each value: one that cannot be cast makes a bad row.
    require
        SQL conditions over the columns; a row for which one is not true is bad.
    quarantine
        A table for bad rows: ``problem``, ``record`` (the row as JSON or text), ``file`` and ``job``. Without it, a bad
        row makes the job fail before anything is committed.
    max_quarantined
        How many bad rows are too many: the job fails, with these in quarantine and nothing in the table.
    mode
        ``"append"`` or ``"overwrite"``.
    cluster_by, num_files
        Columns to sort all rows by, and how many files to make, about; see `clustered`.
    partition_by
        Each file holds one combination of values of these columns.
    write
        Further options of ``df.write.format("lance")``.
    message
        Message for the history.
    on_progress
        Told of each step.

    Raises
    ------
    InvalidArgumentError
        An argument makes no sense.
    ResourceLimitError
        There are more bad rows than `max_quarantined`.
    pyspark.errors.PySparkException
        Reading or writing failed, or a row is bad and there is no quarantine; nothing is committed.

    Notes
    -----
    With a quarantine the source is read twice: bad rows first, so that none is lost when the second half fails.
    """
    if mode not in ("append", "overwrite"):
        raise InvalidArgumentError(f"mode is {mode!r}, expected 'append' or 'overwrite'", detail=mode)
    watch = Stopwatch("ingest", on_progress)
    address = address_of(uri, storage_options)
    versions = list_manifests(address.location())
    name = str(uuid.uuid4())
    frame = source if isinstance(source, DataFrame) else _opened(spark, source, format, read or {}, schema)
    judged, names = _judged(frame, columns, types or {}, require)
    num_bad = 0
    if _PROBLEM not in judged.columns:
        good = judged
    elif quarantine is None:
        refused = sf.when(sf.col(_PROBLEM).isNull(), sf.lit(True)).otherwise(sf.raise_error(sf.col(_PROBLEM)))
        good = judged.filter(refused).select(*map(_quoted, names))
    else:
        watch.step(f"bad rows to {quarantine}")
        with watch.shown(spark, address.location().name):
            num_bad = _quarantined(judged, address_of(quarantine, storage_options), name)
        if max_quarantined is not None and num_bad > max_quarantined:
            raise ResourceLimitError(
                f"{num_bad} rows are bad, more than {max_quarantined}; they are in quarantine (job {name}), and "
                "nothing was committed",
                path=quarantine,
                detail=num_bad,
            )
        good = judged.filter(sf.col(_PROBLEM).isNull()).select(*map(_quoted, names))
    if cluster_by:
        good = clustered(good, cluster_by, num_files=num_files)
    elif num_files is not None:
        good = good.repartition(num_files)
    watch.step(f"writing {address.location().name}")
    options = {"jobName": name, "message": message or "", "partitionBy": ",".join(partition_by), **(write or {})}
    with watch.shown(spark, address.location().name):
        good.write.format("lance").mode(mode).options(**read_options(address), **options).save(address.uri)
    version, counts = written_counts(address, name)
    return watch.report(
        address.location().name,
        versions[-1].version if versions else None,
        version,
        {**counts, "rows_quarantined": num_bad},
    )


def _opened(
    spark: SparkSession, source: str | Sequence[str], format: str | None, read: Mapping[str, Any], schema: str | None
) -> DataFrame:
    """Open files; of CSV and JSON with a schema, records that do not fit it are kept as text."""
    paths = [source] if isinstance(source, str) else list(source)
    if not paths:
        raise InvalidArgumentError("there is no path to ingest")
    kind = format if format is not None else _format_of(paths[0])
    if kind not in FORMATS:
        raise InvalidArgumentError(f"format is {kind!r}, expected one of {', '.join(FORMATS)}", detail=kind)
    reader = spark.read.format(kind).options(**read)
    if schema is not None:
        given = _struct(schema)
        if kind in ("csv", "json"):
            given = StructType([*given.fields, StructField(_RECORD, StringType())])
            reader = reader.option("mode", "PERMISSIVE").option("columnNameOfCorruptRecord", _RECORD)
        reader = reader.schema(given)
    frame = reader.load(paths)
    return frame.withColumn(_FILE, sf.col("_metadata.file_path"))


def _struct(schema: str) -> StructType:
    found = StructType.fromDDL(schema)
    if not isinstance(found, StructType):
        raise InvalidArgumentError(f"schema is {schema!r}, expected columns as DDL: 'id long, name string'")
    return found


def _format_of(path: str) -> str:
    name = path.rstrip("/").lower()
    for suffix in (".gz", ".bz2", ".zst"):
        name = name.removesuffix(suffix)
    kind = name.rpartition(".")[2]
    return {"jsonl": "json", "ndjson": "json", "tsv": "csv", "pq": "parquet"}.get(kind, kind)


def _judged(
    frame: DataFrame, columns: Mapping[str, str] | None, types: Mapping[str, str], require: Sequence[str]
) -> tuple[DataFrame, list[str]]:
    """Compute the columns, and a column with the problem of each row if rows can be bad."""
    own = [name for name in frame.columns if name not in (_RECORD, _FILE)]
    made = dict(columns) if columns is not None else {name: f"`{name}`" for name in own}
    unknown = [name for name in types if name not in made]
    if unknown:
        raise InvalidArgumentError(f"types name {unknown[0]!r}; there are {list(made)}", column=unknown[0])
    checked = _RECORD in frame.columns
    problems: list[Column] = []
    if checked:
        problems.append(sf.when(sf.col(f"`{_RECORD}`").isNotNull(), sf.lit("the record does not fit the schema")))
    selected: list[Column] = []
    for name, expression in made.items():
        value = sf.expr(expression)
        if name in types:
            cast = sf.expr(f"try_cast({expression} AS {types[name]})")
            lost = value.isNotNull() & cast.isNull()
            problems.append(sf.when(lost, sf.lit(f"column {name}: the value is no {types[name]}")))
            value = cast
        selected.append(value.alias(name))
    if not (problems or require):
        return frame.select(*selected), list(made)
    record = sf.to_json(sf.struct(*map(_quoted, own)))
    if checked:
        record = sf.coalesce(sf.col(f"`{_RECORD}`"), record)
    file = sf.col(f"`{_FILE}`") if _FILE in frame.columns else sf.lit(None).cast("string")
    first = sf.coalesce(*problems) if problems else sf.lit(None).cast("string")
    found = frame.select(*selected, record.alias(_RECORD), file.alias(_FILE), first.alias(_PROBLEM))
    broken = [sf.when(~sf.coalesce(sf.expr(one), sf.lit(False)), sf.lit(f"not true: {one}")) for one in require]
    return found.withColumn(_PROBLEM, sf.coalesce(sf.col(_PROBLEM), *broken)), list(made)


def _quarantined(judged: DataFrame, address: TableAddress, job: str) -> int:
    """Append bad rows to the table for them, and count these."""
    bad = judged.filter(sf.col(_PROBLEM).isNotNull()).select(
        sf.col(_PROBLEM).alias("problem"),
        sf.col(_RECORD).alias("record"),
        sf.col(_FILE).alias("file"),
        sf.lit(job).alias("job"),
    )
    bad.write.format("lance").mode("append").options(**read_options(address), jobName=job).save(address.uri)
    return written_counts(address, job)[1]["rows_written"]


def _quoted(name: str) -> Column:
    return sf.col(f"`{name}`")
