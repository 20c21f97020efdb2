"""Native kernels: buffers in, buffers out, many chunks or values per call; public to plugin authors.

Every kernel takes contiguous numpy arrays, and checks them against each other before or while it runs. It never
accesses bytes outside of the given memory, for any input. It releases the GIL, and never allocates its result.
Contradicting bytes raise `CorruptPageError` with the chunk, value or entry as ``detail``. A caller's mistake raises
`InternalError`.

- single bits: `copy_bits`, `take_bit_runs`, `fill_bits`, `fill_bit_runs`, `count_bits`, `count_marked_runs`,
  `mark_runs`, `spread_bits`
- values of one width: `copy_fixed`, `copy_values`, `take_fixed`, `take_runs_fixed`, `take_marked_fixed`,
  `clear_null_indices`
- values of any width: `take_variable`, `take_runs_variable`, `measure_take_variable`, `measure_take_runs_variable`
- values of any length, anywhere in their data: `decode_variable_values`, `measure_variable_values`, `check_utf8`
- packed structs: `split_rows`, `locate_fields`, `join_rows`, `join_fields`
- properties for choosing encodings: `index_fixed`, `index_variable`, `measure_groups`, `all_equal`
- smallest and greatest values, for zone maps: `bound_fixed`, `bound_variable`
- mini-block chunks: `parse_chunk_words`, `parse_chunk_headers`, `cut_levels`,
  `measure_chunks`, `write_chunks`
- zipped rows: `zip_entries`, `unzip_fixed`, `unzip_variable`, `unzip_rows`, `read_row_index`, `count_entries`
- levels to rows, offsets and validity: `select_rows`, `unravel`, `measure_layers`, `check_levels`, `check_open_rows`,
  `count_rows_and_values`, `validity_from_levels`, `unravel_slots`, `null_flags`
- Arrow's validity and offsets to levels: `number_levels`, `shred_levels`, `end_levels`, `shred_offsets`,
  `shred_bytes`, `clear_null_values`, `fill_null_bits`
- CRC32C: `crc32c`, `crc32c_blocks`, `crc32c_of`, `BlockChecks`
- the order of row offsets: `smallest_step`

`native_codecs` has the C tables of the format's codecs. The kernels are C++ in `lance_arrow.engine`.
``tests/reference`` has a numpy twin of each, which defines its result and is the oracle of its test.
"""

from __future__ import annotations

import sys
import warnings
from types import ModuleType

from lance_arrow.engine._engine import (
    BlockChecks,
    all_equal,
    bound_fixed,
    bound_variable,
    check_levels,
    check_open_rows,
    check_utf8,
    clear_null_indices,
    clear_null_values,
    copy_bits,
    copy_fixed,
    copy_values,
    count_bits,
    count_entries,
    count_marked_runs,
    count_rows_and_values,
    crc32c,
    crc32c_blocks,
    crc32c_of,
    crc32c_portable,
    cut_levels,
    decode_variable_values,
    end_levels,
    fill_bit_runs,
    fill_bits,
    fill_null_bits,
    index_fixed,
    index_variable,
    is_accelerated,
    join_fields,
    join_rows,
    locate_fields,
    mark_runs,
    measure_chunks,
    measure_groups,
    measure_layers,
    measure_take_runs_variable,
    measure_take_variable,
    measure_variable_values,
    null_flags,
    number_levels,
    parse_chunk_headers,
    parse_chunk_words,
    read_row_index,
    select_rows,
    shred_bytes,
    shred_levels,
    shred_offsets,
    smallest_step,
    split_rows,
    spread_bits,
    take_bit_runs,
    take_fixed,
    take_marked_fixed,
    take_runs_fixed,
    take_runs_variable,
    take_variable,
    unravel,
    unravel_slots,
    unzip_fixed,
    unzip_rows,
    unzip_variable,
    validity_from_levels,
    write_chunks,
    zip_entries,
)

_FORMER_MODULES = frozenset(
    (
        "bits",
        "bounds",
        "checksums",
        "chunk_tables",
        "chunk_writing",
        "distinct",
        "gather",
        "interleave",
        "levels",
        "offsets",
        "row_order",
        "rows",
        "shred",
        "slots",
        "streams",
        "summaries",
        "zipping",
    )
)


def __getattr__(name: str) -> ModuleType:
    """Return this package for the former module names of its kernels."""
    if name not in _FORMER_MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"lance_arrow.kernels.{name} is now lance_arrow.kernels", DeprecationWarning, stacklevel=2)
    return sys.modules[__name__]


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
    "copy_bits",
    "copy_fixed",
    "copy_values",
    "count_bits",
    "count_entries",
    "count_marked_runs",
    "count_rows_and_values",
    "crc32c",
    "crc32c_blocks",
    "crc32c_of",
    "crc32c_portable",
    "cut_levels",
    "decode_variable_values",
    "end_levels",
    "fill_bit_runs",
    "fill_bits",
    "fill_null_bits",
    "index_fixed",
    "index_variable",
    "is_accelerated",
    "join_fields",
    "join_rows",
    "locate_fields",
    "mark_runs",
    "measure_chunks",
    "measure_groups",
    "measure_layers",
    "measure_take_runs_variable",
    "measure_take_variable",
    "measure_variable_values",
    "null_flags",
    "number_levels",
    "parse_chunk_headers",
    "parse_chunk_words",
    "read_row_index",
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
    "unravel",
    "unravel_slots",
    "unzip_fixed",
    "unzip_rows",
    "unzip_variable",
    "validity_from_levels",
    "write_chunks",
    "zip_entries",
]
