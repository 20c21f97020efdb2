"""Column encodings, one module per case of `ColumnEncoding`: wrappers of the pages of a column."""
