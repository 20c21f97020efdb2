"""Spark: Lance tables and files as a data source of PySpark, and jobs over whole tables; no jar.

In: options of ``spark.read``/``df.write`` as text, and Arrow batches. Out: partitions, Arrow batches of Spark's types,
data files, and one commit on the driver.

driver: options ─► version pinned ─► fragments, pruned by zones ─► partitions ──┐
tasks:            partition ─► rows of fragments ─► filter ─► Spark's types ◄───┘
tasks:            rows ─► sorted runs ─► data files ─► message ─┐
driver:           one commit, or the job's files removed again ◄┘

| Module | Open it for |
|---|---|
| `source` | `LanceDataSource`: start here; the class that ``format("lance")`` finds |
| `options` | the options by name, and what each may be |
| `type_mapping`, `fitting` | Lance types as Spark's and back; batches of one as batches of the other |
| `reader`, `planning` | batch reads: partitions |
| `file_reader` | the same for files without a table |
| `writer`, `write_plans` | batch writes; what their steps hand to each other |
| `write_planning`, `task_files`, `committing` | these steps: before the tasks, in tasks, after them |
| `stream_offsets`, `stream_reader`, `stream_writer` | versions as offsets; exactly one commit for each micro-batch |
| `environment` | checks of Java and PySpark, and a Spark home that starts sooner |
| `same_version` | rejects pickles from another version of this package |
| `clustering` | rows brought into an order that makes zone maps selective |
| `jobs` | whole tables: ingest, rewrite, compact, zones, delete, merge, verify, cleanup |

Everything here is imported on the driver and by the Python workers of executors: both need this package.
Forbidden here: bytes of files and contents of versions; `lance_arrow.table` and `scan` read these.
"""
