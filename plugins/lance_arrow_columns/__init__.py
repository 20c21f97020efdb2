"""Column encodings, one module per case of `ColumnEncoding`: what wraps the pages of a column."""
