"""Engines that want more than a pyarrow dataset: one module each, none yet; DuckDB and Polars need none."""
