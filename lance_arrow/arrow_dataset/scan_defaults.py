"""pyarrow's own defaults of a scan, for methods that take the same options."""

BATCH_ROWS = 131_072
BATCH_READAHEAD = 16
FRAGMENT_READAHEAD = 4
