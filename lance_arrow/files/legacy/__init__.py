"""Rows to pages of 2.0 files, in which structs and lists have columns of their own above their items'."""
