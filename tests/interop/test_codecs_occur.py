"""The matrix is not a coincidence: each layout and codec of flat files is written by a named column of it."""

from __future__ import annotations

import re
from pathlib import Path

import columns
import pyarrow as pa
import pytest
from witness import Witness

pytestmark = pytest.mark.interop

MINI, ZIP, CONSTANT = "MiniBlockLayout", "FullZipLayout", "ConstantLayout"
RLE = r"Rle\(values=Flat\(\d+\), run_lengths=Flat\(8\)\)"
VARIABLE = r"Variable\(offsets=Flat\((?:32|64)\)\)"

# What occurs: column, file version, rows, nulls, pattern of the page's description, buffers of the page (or None).
OCCURRENCES = [
    ("mini flat", "fixed", "int32_random", "2.1", 1024, "none", rf"{MINI}\(value_compression=Flat\(32\)", 2),
    ("mini flat large chunk", "fixed", "int32_random", "2.2", 1024, "none", r"Flat\(32\).*has_large_chunk", 2),
    ("mini bits", "fixed", "bool_random", "2.2", 1024, "some", r"value_compression=Flat\(1\)", 2),
    ("inline bitpacking", "fixed", "uint16_small", "2.1", 1024, "none", r"InlineBitpacking\(16\)", 2),
    ("levels flat", "fixed", "int8_random", "2.1", 1, "all", rf"{CONSTANT}.*NullableItem", 0),
    ("levels inline", "fixed", "bool_random", "2.1", 1024, "some", r"def_compression=InlineBitpacking\(16\)", 2),
    ("levels out of line", "fixed", "int32_small", "2.1", 100_000, "some", r"def_compression=OutOfLineBitpacking", 2),
    ("levels rle", "fixed", "int32_small", "2.2", 1024, "some", rf"def_compression={RLE}", 2),
    ("rle", "fixed", "int8_runs", "2.1", 1024, "none", rf"value_compression={RLE}", 2),
    ("rle of floats", "fixed", "float_runs", "2.1", 1024, "none", r"Rle\(values=Flat\(32\)", 2),
    ("variable", "text", "string_unique", "2.1", 1024, "none", rf"{MINI}\(value_compression={VARIABLE}", 2),
    ("variable 64", "text", "large_binary_unique", "2.2", 1024, "none", r"Variable\(offsets=Flat\(64\)\)", 2),
    ("fsst", "text", "string_words", "2.1", 100_000, "none", rf"value_compression=Fsst\(symbol_table.*{VARIABLE}", 2),
    ("dictionary", "text", "string_few", "2.1", 1024, "none", rf"dictionary={VARIABLE}", 3),
    ("dictionary lz4", "text", "string_few", "2.2", 1024, "none", r"dictionary=General\(compression=lz4", 3),
    ("dictionary of numbers", "fixed", "int64_few", "2.2", 1024, "none", r"dictionary=.*Flat\(64\)", 3),
    ("dictionary zstd", "options", "large_dictionary", "2.2", 1024, "none", r"dictionary=General\(compression=zstd", 3),
    ("dictionary with rle", "text", "string_runs", "2.2", 1024, "none", rf"value_compression={RLE}, dictionary=", 3),
    ("dictionary type", "dictionary", "dictionary_int8_string", "2.1", 1024, "some", r"dictionary=", 3),
    ("mini lz4", "options", "string_lz4", "2.1", 1024, "none", rf"General\(compression=lz4, values={VARIABLE}", 2),
    ("mini zstd", "options", "double_zstd", "2.2", 1024, "none", r"General\(compression=zstd, values=Flat\(64\)", 2),
    ("mini lz4 rle", "options", "int64_lz4", "2.1", 100_000, "none", rf"General\(compression=lz4, values={RLE}", 2),
    ("lz4 bitpacking", "options", "rounded_lz4", "2.1", 1024, "none", r"lz4, values=InlineBitpacking\(64\)", 2),
    (
        "byte streams",
        "options",
        "double_streams",
        "2.1",
        1024,
        "none",
        r"lz4, values=ByteStreamSplit\(values=Flat\(64",
        2,
    ),
    ("packed struct", "options", "packed", "2.1", 1024, "some", rf"{MINI}\(.*value_compression=PackedStruct\(", 2),
    ("zip packed struct", "options", "packed_mixed", "2.2", 1024, "some", rf"{ZIP}.*VariablePackedStruct\(", 2),
    ("list", "nested", "fsl2_int8_none", "2.1", 1024, "none", r"FixedSizeList\(2, values=Flat\(8\)", 2),
    ("list validity", "nested", "fsl2_int8_some", "2.1", 1024, "none", r"FixedSizeList\(2, has_validity", 2),
    ("list all null", "nested", "fsl2_int8_all", "2.2", 1024, "none", r"has_validity, values=Constant\(", 1),
    ("list of list", "nested", "fsl_fsl_both_nulls", "2.2", 1024, "none", r"(FixedSizeList\(\d, has_validity.*){2}", 2),
    ("zip fixed", "temporal", "binary300_random", "2.1", 1024, "none", rf"{ZIP}.*Flat\(2400\).*AllValidItem", 1),
    ("zip fixed nullable", "options", "int32_zip", "2.2", 1024, "some", rf"{ZIP}.*Flat\(32\).*NullableItem", 1),
    ("zip variable", "options", "string_zip", "2.1", 1024, "some", rf"{ZIP}.*{VARIABLE}.*NullableItem", 2),
    ("zip fsst", "options", "large_nodict", "2.1", 1024, "none", rf"{ZIP}\(value_compression=Fsst", 2),
    ("zip zstd", "options", "long_nodict", "2.1", 1024, "none", rf"{ZIP}.*General\(compression=zstd", 2),
    ("zip zstd asked", "options", "string_zip_zstd", "2.2", 100_000, "none", rf"{ZIP}.*General\(compression=zstd", 2),
    ("zip list", "options", "fsl_zip", "2.1", 1024, "none", rf"{ZIP}.*FixedSizeList\(4, values=Flat", 1),
    ("zip list validity", "options", "fsl_zip_nulls", "2.1", 1024, "some", rf"{ZIP}.*has_validity.*Nullable", 1),
    (
        "zip list of bits",
        "options",
        "fsl_bool_zip",
        "2.2",
        1024,
        "none",
        rf"{ZIP}.*FixedSizeList\(8, values=Flat\(1\)",
        1,
    ),
    ("constant inline", "fixed", "int64_constant", "2.2", 1024, "none", rf"{CONSTANT}.*inline_value", 0),
    ("constant inline levels", "fixed", "int64_constant", "2.2", 1024, "some", rf"{CONSTANT}.*inline_value", 2),
    ("constant buffer", "text", "string_constant", "2.2", 1024, "none", rf"{CONSTANT}\(layers=AllValidItem\)", 1),
    ("constant buffer levels", "text", "string_constant", "2.2", 1024, "some", rf"{CONSTANT}\(layers=Null", 3),
    ("all null", "text", "binary_words", "2.1", 1023, "all", rf"{CONSTANT}\(layers=NullableItem\)", 0),
    ("null struct levels", "nested", "struct_all", "2.1", 1024, "some", rf"{CONSTANT}\(layers=Null.*\+Null", 2),
    ("null struct packed levels", "nested", "struct_all", "2.2", 100_000, "some", rf"{CONSTANT}.*def_compression=", 2),
    ("struct layers", "nested", "struct_deep", "2.2", 1024, "some", r"layers=(NullableItem\+){3}NullableItem", 2),
]


@pytest.mark.parametrize(
    ("group", "name", "version", "num_rows", "nulls", "pattern", "num_buffers"),
    [pytest.param(*row[1:], id=row[0]) for row in OCCURRENCES],
)
def test_occurs(
    witness: Witness,
    tmp_path: Path,
    group: str,
    name: str,
    version: str,
    num_rows: int,
    nulls: str,
    pattern: str,
    num_buffers: int | None,
) -> None:
    assert num_rows in columns.ROW_COUNTS
    (case,) = (case for case in columns.cases(group, version, num_rows, nulls) if case.name == name)
    array = case.build(num_rows, nulls)
    table = pa.table([array], schema=pa.schema([case.field_for(array, nulls)]))
    path = witness.write(table, tmp_path / "one.lance", version)
    pages = [page for column in witness.describe(path)["columns"] for page in column]
    found = [page for page in pages if re.search(pattern, page["encoding"])]
    assert found, [page["encoding"] for page in pages]
    if num_buffers is not None:
        assert num_buffers in {len(page["buffers"]) for page in found}
