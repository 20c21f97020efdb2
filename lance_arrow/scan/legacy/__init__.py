"""Rows of 2.0 and 0.1 files (`v2_0_row_reader`), and what 0.1 files tell of their batches (`v0_1_statistics`)."""
