"""What Spark looks for: a module whose name begins with ``pyspark_`` and that has a `DefaultSource`."""

from lance_arrow.spark.source import LanceDataSource as DefaultSource

__all__ = ["DefaultSource"]
