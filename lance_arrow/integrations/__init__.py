"""Engines that need more than a pyarrow dataset: one module each, with an extra of the same name.

| Module | What it gives |
|---|---|
| `polars` | `scan`: a `LazyFrame` whose projection, predicate and number of rows arrive in the scan |
| `dask` | `read`: a `dask.dataframe`, a partition for each share of the rows |
| `ray` | `read`: a `ray.data.Dataset`, a read task for each share of the rows |
| `huggingface` | `LanceBuilder`, `load`: a `datasets.Dataset`, or a stream of its rows |
| `pytorch` | `RowDataset` (map-style, takes rows) and `BatchDataset` (iterable, scans shares) |
| `wanted_rows` | what all of them do first: open the dataset, check columns and filter, divide the rows |

DuckDB, DataFusion and pandas need no module: see docs/engines.
"""
