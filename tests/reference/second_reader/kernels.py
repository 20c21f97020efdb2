"""The kernels that the second reader calls, in plain numpy: it shares none with the engine."""

from __future__ import annotations

from numpy_kernels.bits import fill_bits, take_bit_runs
from numpy_kernels.chunk_tables import parse_chunk_headers, parse_chunk_words
from numpy_kernels.gather import clear_null_indices, measure_take_variable, take_fixed, take_runs_fixed, take_variable
from numpy_kernels.interleave import count_entries, read_row_index, unzip_fixed, unzip_rows, unzip_variable
from numpy_kernels.levels import check_levels, check_open_rows, select_rows

__all__ = [
    "check_levels",
    "check_open_rows",
    "clear_null_indices",
    "count_entries",
    "fill_bits",
    "measure_take_variable",
    "parse_chunk_headers",
    "parse_chunk_words",
    "read_row_index",
    "select_rows",
    "take_bit_runs",
    "take_fixed",
    "take_runs_fixed",
    "take_variable",
    "unzip_fixed",
    "unzip_rows",
    "unzip_variable",
]
