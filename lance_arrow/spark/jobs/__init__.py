"""Jobs over whole tables, each ``job(spark, ..., **named options) -> JobReport``; also as commands.

| Name | What it does | Module |
|---|---|---|
| `ingest` | Parquet, CSV, JSON, ORC or any data frame into a table; bad rows into another one | `ingesting` |
| `rewrite` | all data files anew: other file version, codecs, order of rows | `rewriting` |
| `compact` | small fragments into large ones, deleted rows out | `compacting` |
| `zones` | zone maps beside files that have none | `zone_maps` |
| `delete`, `merge` | rows by predicate; rows by keys | `deleting`, `merging` |
| `verify` | every checksum, every page, every deletion file | `verifying` |
| `cleanup` | old versions and files that nothing names | `cleaning` |
| `JobReport` | what a job did, as text and as JSON | `report` |

`spread` runs a function over items in tasks; `command` is what ``python -m lance_arrow.spark.jobs`` and
``spark-submit`` start. Every job leaves the table as it was, or makes one version (a compaction two).
"""

from lance_arrow.spark.jobs.cleaning import cleanup
from lance_arrow.spark.jobs.compacting import compact
from lance_arrow.spark.jobs.deleting import delete
from lance_arrow.spark.jobs.ingesting import ingest
from lance_arrow.spark.jobs.merging import merge
from lance_arrow.spark.jobs.report import JobReport
from lance_arrow.spark.jobs.rewriting import rewrite
from lance_arrow.spark.jobs.verifying import verify
from lance_arrow.spark.jobs.zone_maps import zones

__all__ = ["JobReport", "cleanup", "compact", "delete", "ingest", "merge", "rewrite", "verify", "zones"]
