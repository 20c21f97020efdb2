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
A job is imported when its name is first used: tasks and other jobs do without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow.spark.jobs.cleaning import cleanup as cleanup
    from lance_arrow.spark.jobs.compacting import compact as compact
    from lance_arrow.spark.jobs.deleting import delete as delete
    from lance_arrow.spark.jobs.ingesting import ingest as ingest
    from lance_arrow.spark.jobs.merging import merge as merge
    from lance_arrow.spark.jobs.report import JobReport as JobReport
    from lance_arrow.spark.jobs.rewriting import rewrite as rewrite
    from lance_arrow.spark.jobs.verifying import verify as verify
    from lance_arrow.spark.jobs.zone_maps import zones as zones
else:
    __getattr__, __dir__, __all__ = late_names(
        __name__,
        {
            "lance_arrow.spark.jobs.cleaning": ("cleanup",),
            "lance_arrow.spark.jobs.compacting": ("compact",),
            "lance_arrow.spark.jobs.deleting": ("delete",),
            "lance_arrow.spark.jobs.ingesting": ("ingest",),
            "lance_arrow.spark.jobs.merging": ("merge",),
            "lance_arrow.spark.jobs.report": ("JobReport",),
            "lance_arrow.spark.jobs.rewriting": ("rewrite",),
            "lance_arrow.spark.jobs.verifying": ("verify",),
            "lance_arrow.spark.jobs.zone_maps": ("zones",),
        },
    )
