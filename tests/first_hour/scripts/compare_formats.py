"""Compare formats, as code does that takes datasets of several kinds: the answer is False, not an error."""

import pyarrow.dataset as pads

import lance_arrow

lance = lance_arrow.LanceFormat()
parquet = pads.ParquetFileFormat()
assert lance.equals(parquet) is False
assert lance != parquet
assert parquet != lance
assert lance.equals(lance_arrow.LanceFormat())
assert lance in [parquet, lance_arrow.LanceFormat()]
