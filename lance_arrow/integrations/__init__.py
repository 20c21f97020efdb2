"""Engines that need more than a pyarrow dataset: one module each, with an extra of the same name.

| Module | Content |
|---|---|
| `polars` | `scan`: a `LazyFrame` with pushdown of projection, predicate and number of rows |
| `duckdb` | `relation`, `register`: dictionaries, filters applied once, counts that read no column |
| `dask` | `read`: a `dask.dataframe`, a partition for each share of the rows |
| `ray` | `read`: a `ray.data.Dataset`, a read task for each share of the rows |
| `huggingface` | `LanceBuilder`, `load`: a `datasets.Dataset`, or a stream of its rows |
| `pytorch` | `RowDataset` (map-style, takes rows) and `BatchDataset` (iterable, scans shares) |
| `engine_rows` | rows for engines that pull batches, by our own scan where it has all of the dataset |
| `wanted_rows` | shared first steps: open the dataset, check columns and filter, divide the rows |

DataFusion and pandas need no module: see docs/engines.
"""
