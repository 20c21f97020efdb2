"""Data source for Spark, which searches modules named ``pyspark_*`` for a `DefaultSource`."""

from lance_arrow.spark.source import LanceDataSource as DefaultSource

__all__ = ["DefaultSource"]
