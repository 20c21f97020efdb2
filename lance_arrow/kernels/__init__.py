"""Native loops: buffers in, buffers out, many chunks or values per call; public to plugin authors.

Every kernel takes contiguous numpy arrays, checks them against each other before or while it runs (no byte outside the
given memory is touched whatever the bytes say), releases the GIL, and never allocates what it returns. Contradicting
bytes raise `CorruptPageError` with the chunk, value or entry as ``detail``; a caller's mistake raises `InternalError`.

| Module | What it does |
|---|---|
| `bits` | unpacks bit-packed integers; copies, selects, fills and counts single bits |
| `bounds` | finds smallest and greatest values of runs, for zone maps |
| `gather` | copies, selects and expands fixed- and variable-width values |
| `offsets` | decodes offset-delimited values; checks UTF-8 |
| `runs` | expands runs |
| `rows` | puts fields together to packed rows; spreads bits over whole bytes |
| `symbols` | expands FSST codes; chooses symbols and encodes with them |
| `variable_chunks` | cuts variable-width values into chunks |
| `packing` | packs integers to the bits they need |
| `run_encoding` | finds runs |
| `summaries` | measures what encodings are chosen by |
| `streams` | puts byte streams together and takes them apart; splits packed rows into fields |
| `chunk_tables` | reads chunk words and chunk headers of mini-block pages |
| `levels` | turns repetition and definition levels into rows, offsets and validity |
| `slots` | turns positions of nulls and lists into offsets and validity |
| `shred` | turns Arrow's validity and offsets into levels; drops what nulls hide |
| `interleave` | splits zipped rows |
| `checksums` | CRC32C of blocks, and which blocks were compared with theirs |
| `chunk_writing` | puts mini-block chunks together |
| `zipping` | puts levels and values together, entry by entry |
| `file_tables` | reads what describes many small files |
| `distinct` | numbers distinct values in order of first appearance |
| `positional` | reads many ranges of a file, and many small files |
| `native_codecs` | capsules of the C tables of the format's codecs |
| `native` | the engine that reads rows of many leaves by them |
| `native_page` | pages as that engine takes them |
| `native_blobs` | blobs laid out and read |
| `native_checks` | calls one such table, for tests |
| `array_trees` | makes a batch of what the engine laid out |
| `frames` | finds the sizes that compressed frames decode to |
| `row_order` | finds the order that row offsets come in |
| `refusals` | errors of what a kernel refused |

`reference/` holds a numpy twin of each: its meaning and the oracle of its test, never the way production runs.
"""

from lance_arrow.kernels.bits import (
    copy_bits,
    count_bits,
    count_marked_runs,
    fill_bit_runs,
    fill_bits,
    mark_runs,
    take_bit_runs,
    unpack_inline,
    unpack_out_of_line,
)
from lance_arrow.kernels.bounds import bound_fixed, bound_variable
from lance_arrow.kernels.checksums import BlockChecks, crc32c, crc32c_blocks, crc32c_of
from lance_arrow.kernels.chunk_tables import parse_chunk_headers, parse_chunk_words, parse_many_chunk_words
from lance_arrow.kernels.chunk_writing import cut_levels, write_chunks
from lance_arrow.kernels.distinct import index_fixed, index_variable
from lance_arrow.kernels.gather import (
    clear_null_indices,
    copy_fixed,
    copy_values,
    measure_take_runs_variable,
    measure_take_variable,
    take_fixed,
    take_marked_fixed,
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
from lance_arrow.kernels.packing import pack_inline, pack_out_of_line
from lance_arrow.kernels.row_order import smallest_step
from lance_arrow.kernels.rows import join_fields, join_rows, spread_bits
from lance_arrow.kernels.run_encoding import count_run_entries, encode_run_blocks, encode_runs
from lance_arrow.kernels.runs import expand_run_blocks, expand_runs
from lance_arrow.kernels.shred import (
    clear_null_values,
    fill_null_bits,
    renumber_levels,
    shred_bytes,
    shred_levels,
    shred_offsets,
)
from lance_arrow.kernels.slots import null_flags, unravel_slots
from lance_arrow.kernels.streams import gather_streams, locate_fields, scatter_streams, split_rows
from lance_arrow.kernels.summaries import all_equal, measure_groups
from lance_arrow.kernels.symbols import compress_symbols, expand_symbols, measure_symbols, train_symbols
from lance_arrow.kernels.variable_chunks import plan_variable_chunks, write_variable_chunks
from lance_arrow.kernels.zipping import zip_entries

__all__ = [
    "BlockChecks",
    "all_equal",
    "bound_fixed",
    "bound_variable",
    "check_levels",
    "check_open_rows",
    "check_utf8",
    "clear_null_indices",
    "clear_null_values",
    "compress_symbols",
    "copy_bits",
    "copy_fixed",
    "copy_values",
    "count_bits",
    "count_entries",
    "count_marked_runs",
    "count_rows_and_values",
    "count_run_entries",
    "crc32c",
    "crc32c_blocks",
    "crc32c_of",
    "cut_levels",
    "decode_variable_blocks",
    "decode_variable_chunks",
    "decode_variable_values",
    "encode_run_blocks",
    "encode_runs",
    "expand_run_blocks",
    "expand_runs",
    "expand_symbols",
    "fill_bit_runs",
    "fill_bits",
    "fill_null_bits",
    "gather_streams",
    "index_fixed",
    "index_variable",
    "join_fields",
    "join_rows",
    "locate_fields",
    "locate_variable_blocks",
    "locate_variable_chunks",
    "mark_runs",
    "measure_groups",
    "measure_layers",
    "measure_symbols",
    "measure_take_runs_variable",
    "measure_take_variable",
    "measure_variable_blocks",
    "measure_variable_chunks",
    "measure_variable_values",
    "null_flags",
    "pack_inline",
    "pack_out_of_line",
    "parse_chunk_headers",
    "parse_chunk_words",
    "parse_many_chunk_words",
    "plan_variable_chunks",
    "read_row_index",
    "renumber_levels",
    "scatter_streams",
    "select_rows",
    "shred_bytes",
    "shred_levels",
    "shred_offsets",
    "smallest_step",
    "split_rows",
    "spread_bits",
    "take_bit_runs",
    "take_fixed",
    "take_marked_fixed",
    "take_runs_fixed",
    "take_runs_variable",
    "take_variable",
    "train_symbols",
    "unpack_inline",
    "unpack_out_of_line",
    "unravel",
    "unravel_slots",
    "unzip_fixed",
    "unzip_rows",
    "unzip_variable",
    "validity_from_levels",
    "write_chunks",
    "write_variable_chunks",
    "zip_entries",
]
