"""Codecs and layouts: each is chosen by default for some column, each can be asked for; the reference reads them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from witness import Witness

import lance_arrow
from lance_arrow.cli.file_view import view_file
from lance_arrow.errors import UnsupportedError
from lance_arrow.structure.description import EncodingReport

pytestmark = pytest.mark.interop

ROWS = 3000
WORDS = ["amber", "birch", "cedar", "delta"]
RNG = np.random.default_rng(1)
PACKED = {"lance-encoding:packed": "true"}
PICKS = [0, 5, 1023, 1024, 2999]


def columns() -> dict[str, pa.Array]:
    chance = random.Random(1)
    numbers = np.arange(ROWS)
    return {
        "random": pa.array(RNG.integers(-(2**63), 2**63 - 1, ROWS)),
        "small": pa.array(RNG.integers(0, 50, ROWS)),
        "runs": pa.array(np.repeat(RNG.integers(0, 9, ROWS // 50), 50).astype(np.int32)),
        "long_runs": pa.array(np.repeat(RNG.integers(0, 9, ROWS // 50), 50) * 10**12),
        "wave": pa.array(np.sin(numbers / 100)),
        "texts": pa.array([f"{chance.choice(WORDS)} {number * 7919}" for number in range(ROWS)]),
        "codes": pa.array([chance.randbytes(9) for _ in range(ROWS)]),
        "few": pa.array([chance.choice(WORDS) for _ in range(ROWS)]),
        "few_ints": pa.array(RNG.integers(0, 9, ROWS).astype(np.int32) * 10**8),
        "few_longs": pa.array(RNG.integers(0, 9, ROWS) * 10**12),
        "decimals": pa.array(RNG.integers(0, 9, ROWS)).cast(pa.decimal128(19, 0)),
        "flags": pa.array(RNG.random(ROWS) < 0.5),
        "vectors": pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(ROWS * 4).astype(np.float32)), 4),
        "wide": pa.FixedSizeListArray.from_arrays(pa.array(RNG.random(ROWS * 80).astype(np.float32)), 80),
        "large": pa.array([chance.randbytes(600) for _ in range(ROWS)]),
        "huge": pa.array([bytes([number % 256]) * 40_000 for number in range(40)]),
        "same": pa.array([7] * ROWS),
        "nulls": pa.nulls(ROWS, pa.int32()),
        "holes": pa.array([None if chance.random() < 0.3 else chance.randrange(1000) for _ in range(ROWS)]),
        "packed": pa.array([{"x": n, "y": float(n % 7)} for n in range(ROWS)]),
        "packed_texts": pa.array([{"x": n, "y": str(n)} for n in range(ROWS)]),
    }


COLUMNS = columns()
VERSIONS = ("2.1", "2.2")


def table_of(name: str) -> pa.Table:
    metadata = PACKED if name.startswith("packed") else None
    array = COLUMNS[name]
    return pa.table([array], schema=pa.schema([pa.field(name, array.type, metadata=metadata)]))


def outline(report: EncodingReport) -> str:
    """``layout(child,child(grandchild))`` of a page, or of a codec."""
    name = report.key.rpartition("/")[2].rpartition(".")[2]
    children = ",".join(outline(child) for _, child in report.children)
    return f"{name}({children})" if children else name


def write(folder: Path, name: str, version: str, **options: object) -> tuple[Path, str]:
    """Write a column; return the file, and what `inspect` shows of its first page."""
    path = folder / "column.lance"
    lance_arrow.write_table(table_of(name), path, file_version=version, **options)
    return path, outline(view_file(path).columns[0].pages[0].encoding)


def check(path: Path, name: str, witness: Witness) -> None:
    table = table_of(name)
    picks = [row for row in PICKS if row < table.num_rows]
    assert lance_arrow.read_table(path).equals(table)
    with lance_arrow.LanceFile(path) as file:
        assert file.take(picks).equals(table.take(picks))
    assert witness.read(path).equals(table)
    assert witness.take(path, picks).equals(table.take(picks))


# Column, preset, what inspect shows in 2.1 and in 2.2 (None: cannot be there). See docs/reference/writing.md.
DEFAULTS = [
    ("flat", "random", "default", "mini_block_layout(flat)", "mini_block_layout(flat)"),
    ("bits", "flags", "default", "mini_block_layout(flat)", "mini_block_layout(flat)"),
    ("inline_bitpacking", "small", "default", *["mini_block_layout(inline_bitpacking)"] * 2),
    (
        "out_of_line_bitpacking",
        "holes",
        "default",
        *["mini_block_layout(out_of_line_bitpacking(flat),inline_bitpacking)"] * 2,
    ),
    ("rle", "runs", "default", *["mini_block_layout(rle(flat,flat))"] * 2),
    ("byte_stream_split", "wave", "compact", *["mini_block_layout(general(ZSTD,byte_stream_split(flat)))"] * 2),
    ("variable", "codes", "default", *["mini_block_layout(variable(flat))"] * 2),
    ("fsst", "texts", "default", *["mini_block_layout(fsst(variable(flat)))"] * 2),
    ("general", "huge", "default", *["full_zip_layout(general(ZSTD,variable(flat)))"] * 2),
    ("dictionary", "few", "default", *["mini_block_layout(inline_bitpacking,variable(flat))"] * 2),
    ("dictionary of numbers", "few_longs", "default", None, "mini_block_layout(inline_bitpacking,flat)"),
    ("dictionary of runs", "long_runs", "default", None, "mini_block_layout(rle(flat,flat),flat)"),
    ("dictionary of decimals", "decimals", "default", *["mini_block_layout(inline_bitpacking,flat)"] * 2),
    ("fixed_size_list", "vectors", "default", *["mini_block_layout(fixed_size_list(flat))"] * 2),
    ("fixed_size_list zipped", "wide", "default", *["full_zip_layout(fixed_size_list(flat))"] * 2),
    ("packed_struct", "packed", "default", *["mini_block_layout(packed_struct(flat))"] * 2),
    (
        "variable_packed_struct",
        "packed_texts",
        "default",
        None,
        "full_zip_layout(variable_packed_struct(FieldEncoding(flat),FieldEncoding(variable(flat))))",
    ),
    ("full_zip", "large", "default", *["full_zip_layout(variable(flat))"] * 2),
    ("constant of a value", "same", "default", None, "constant_layout"),
    ("constant of nulls", "nulls", "default", *["constant_layout"] * 2),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("case", DEFAULTS, ids=[case[0] for case in DEFAULTS])
def test_chosen_by_default(witness: Witness, tmp_path: Path, case: tuple[str, ...], version: str) -> None:
    _, name, preset, *shown = case
    expected = shown[VERSIONS.index(version)]
    if expected is None and name.startswith("packed"):
        with pytest.raises(UnsupportedError):
            write(tmp_path, name, version)
        return
    path, found = write(tmp_path, name, version, preset=preset)
    if expected is not None:
        assert found == expected
    check(path, name, witness)


# Columns, options, what inspect shows.
FORCED = [
    ("random small wave few_ints", {"codec": "flat"}, "mini_block_layout(flat)"),
    ("small few_ints", {"codec": "inline_bitpacking"}, "mini_block_layout(inline_bitpacking)"),
    ("runs random small", {"codec": "rle"}, "mini_block_layout(rle(flat,flat))"),
    ("wave small", {"codec": "byte_stream_split"}, "mini_block_layout(byte_stream_split(flat))"),
    ("texts few", {"codec": "fsst"}, "mini_block_layout(fsst(variable(flat)))"),
    ("texts few codes", {"codec": "variable"}, "mini_block_layout(variable(flat))"),
    ("vectors", {"codec": "fixed_size_list"}, "mini_block_layout(fixed_size_list(flat))"),
    ("packed", {"codec": "packed_struct"}, "mini_block_layout(packed_struct(flat))"),
    ("few", {"codec": "general"}, "mini_block_layout(general(ZSTD,variable(flat)))"),
    ("few", {"codec": "general", "compression": "lz4"}, "mini_block_layout(general(LZ4,variable(flat)))"),
    ("small", {"codec": "general"}, "mini_block_layout(general(ZSTD,inline_bitpacking))"),
    ("few_longs", {"codec": "general"}, "mini_block_layout(general(ZSTD,flat))"),
    ("vectors", {"codec": "general"}, "mini_block_layout(general(ZSTD,fixed_size_list(flat)))"),
    ("huge", {"codec": "general"}, "full_zip_layout(general(ZSTD,variable(flat)))"),
    ("few", {"codec": "dictionary"}, "mini_block_layout(inline_bitpacking,*)"),
    ("few_ints few_longs decimals", {"codec": "dictionary"}, "mini_block_layout(inline_bitpacking,flat)"),
    ("small random texts flags vectors", {"layout": "full_zip"}, "full_zip_layout(*)"),
    ("large wide small", {"layout": "mini_block"}, "mini_block_layout(*)"),
    ("nulls", {"layout": "constant"}, "constant_layout"),
    ("texts", {"layout": "full_zip", "codec": "variable"}, "full_zip_layout(variable(flat))"),
    ("texts", {"layout": "full_zip", "codec": "fsst"}, "full_zip_layout(fsst(variable(flat)))"),
]


def forced() -> Iterator[pytest.ParameterSet]:
    for names, options, expected in FORCED:
        for name in names.split():
            words = " ".join(map(str, options.values()))
            yield pytest.param(name, options, expected, id=f"{words} {name}")


@pytest.mark.cover(1)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("name", "options", "expected"), list(forced()))
def test_asked_for(
    witness: Witness, tmp_path: Path, name: str, options: dict[str, object], expected: str, version: str
) -> None:
    path, found = write(tmp_path, name, version, column_options={name: options})
    start, star, end = expected.partition("*")
    assert found == expected or (star and found.startswith(start) and found.endswith(end)), found
    check(path, name, witness)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("vectors", {"codec": "flat"}),
        ("texts", {"codec": "inline_bitpacking"}),
        ("random", {"codec": "fsst"}),
        # 1024 whole 64-bit numbers and their header are more than a chunk may be.
        ("random", {"codec": "inline_bitpacking"}),
        ("flags", {"codec": "dictionary"}),
        ("vectors", {"codec": "dictionary"}),
        ("random", {"layout": "constant"}),
        ("random", {"layout": "sparse"}),
    ],
)
def test_what_cannot_be(tmp_path: Path, name: str, options: dict[str, object]) -> None:
    with pytest.raises(UnsupportedError) as caught:
        write(tmp_path, name, "2.2", column_options={name: options})
    assert caught.value.column == name
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("version", VERSIONS)
def test_values_too_large_for_chunks_among_small_ones(witness: Witness, tmp_path: Path, version: str) -> None:
    values = [RNG.bytes(40_000) if number % 20 == 7 else b"a" * 50 for number in range(600)]
    table = pa.table({"v": values})
    path = tmp_path / "t.lance"
    for preset in ("fast", "default", "compact"):
        lance_arrow.write_table(table, path, file_version=version, preset=preset)
        assert lance_arrow.read_table(path).equals(table)
        assert witness.read(path).equals(table)
