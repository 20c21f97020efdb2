"""Native loops: buffers in, buffers out, many chunks or values per call; public to plugin authors.

Every kernel takes contiguous numpy arrays, checks them against each other before or while it runs (no byte outside the
given memory is touched whatever the bytes say), releases the GIL, and never allocates what it returns. Contradicting
bytes raise `CorruptPageError` with the chunk, value or entry as ``detail``; a caller's mistake raises `InternalError`.

| Module | What it does |
|---|---|
| `bits` | unpacks bit-packed integers; copies, selects, fills and counts single bits |
| `gather` | copies, selects and expands fixed- and variable-width values |
| `offsets` | decodes offset-delimited values; checks UTF-8 |
| `runs` | expands runs |
| `streams` | puts byte streams together; splits packed rows into fields |
| `symbols` | expands FSST codes |
| `chunk_tables` | reads chunk words and chunk headers of mini-block pages |
| `levels` | turns repetition and definition levels into rows, offsets and validity |
| `slots` | turns positions of nulls and lists into offsets and validity |
| `interleave` | splits zipped rows |
| `positional` | reads many ranges of a file |
| `native_codecs` | capsules of the C tables of the format's codecs |
| `native` | the engine that reads rows of many leaves by them |
| `native_checks` | calls one such table, for tests |

`reference/` holds a numpy twin of each: its meaning and the oracle of its test, never the way production runs.
"""

from lance_arrow.kernels.bits import (
    copy_bits,
    count_bits,
    fill_bits,
    take_bit_runs,
    unpack_inline,
    unpack_out_of_line,
)
from lance_arrow.kernels.chunk_tables import parse_chunk_headers, parse_chunk_words
from lance_arrow.kernels.gather import (
    clear_null_indices,
    copy_fixed,
    copy_values,
    measure_take_runs_variable,
    measure_take_variable,
    take_fixed,
    take_runs_fixed,
    take_runs_variable,
    take_variable,
)
from lance_arrow.kernels.interleave import count_entries, read_row_index, unzip_fixed, unzip_rows, unzip_variable
from lance_arrow.kernels.levels import (
    check_levels,
    check_open_rows,
    count_rows_and_values,
    measure_layers,
    select_rows,
    unravel,
    validity_from_levels,
)
from lance_arrow.kernels.offsets import (
    check_utf8,
    decode_variable_blocks,
    decode_variable_chunks,
    decode_variable_values,
    locate_variable_blocks,
    locate_variable_chunks,
    measure_variable_blocks,
    measure_variable_chunks,
    measure_variable_values,
)
from lance_arrow.kernels.runs import expand_run_blocks, expand_runs
from lance_arrow.kernels.slots import null_flags, unravel_slots
from lance_arrow.kernels.streams import gather_streams, locate_fields, split_rows
from lance_arrow.kernels.symbols import expand_symbols, measure_symbols

__all__ = [
    "check_levels",
    "check_open_rows",
    "check_utf8",
    "clear_null_indices",
    "copy_bits",
    "copy_fixed",
    "copy_values",
    "count_bits",
    "count_entries",
    "count_rows_and_values",
    "decode_variable_blocks",
    "decode_variable_chunks",
    "decode_variable_values",
    "expand_run_blocks",
    "expand_runs",
    "expand_symbols",
    "fill_bits",
    "gather_streams",
    "locate_fields",
    "locate_variable_blocks",
    "locate_variable_chunks",
    "measure_layers",
    "measure_symbols",
    "measure_take_runs_variable",
    "measure_take_variable",
    "measure_variable_blocks",
    "measure_variable_chunks",
    "measure_variable_values",
    "null_flags",
    "parse_chunk_headers",
    "parse_chunk_words",
    "read_row_index",
    "select_rows",
    "split_rows",
    "take_bit_runs",
    "take_fixed",
    "take_runs_fixed",
    "take_runs_variable",
    "take_variable",
    "unpack_inline",
    "unpack_out_of_line",
    "unravel",
    "unravel_slots",
    "unzip_fixed",
    "unzip_rows",
    "unzip_variable",
    "validity_from_levels",
]
