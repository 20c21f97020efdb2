"""Writes the seed corpora of the native fuzz targets: `python seeds.py FOLDER` makes one folder per target.

Each seed is a well-formed input, encoded as the target reads it (`input.hpp`), so that a fuzzer begins where decoders
do their work. Most hold the numbers 0 to 255, or the words of `WORDS`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("support", "reference")]

import numpy as np
import zstandard
from forged import lz4
from forged_arrays import symbols
from numpy_kernels.packing import pack_inline, pack_out_of_line

from lance_arrow.proto.file_v2_pb2 import ColumnMetadata
from lance_arrow.proto.rowids_pb2 import RowIdSequence
from lance_arrow.proto.table_pb2 import Manifest

COUNT = 256
SYMBOLS = (b"ab", b"c", b"defghijk", b"the ")
WORDS = (b"", b"abc", b"the defghijk", b"c", bytes(range(200, 255)), b"ab" * 40)
FLAT, INLINE, OUT_OF_LINE, RUNS, VARIABLE, STREAMS, COMPRESSED, FSST, LISTS, DELTA, ENCODED_RUNS, PARTS = range(12)
FLAT_BITS = (1, 8, 16, 32, 64, 24, 128, 2048)
WORD_BITS = (8, 16, 32, 64)


class Seed:
    """One input, number by number."""

    def __init__(self) -> None:
        self.content = b""

    def number(self, value: int, low: int, high: int) -> Seed:
        width = next(width for width in (1, 2, 4, 8) if high - low < 1 << (8 * width))
        return self.bytes((value - low).to_bytes(width, "little"))

    def numbers(self, values: list[int], low: int, high: int) -> Seed:
        for value in values:
            self.number(value, low, high)
        return self

    def flag(self, value: bool) -> Seed:
        return self.bytes(bytes([value]))

    def bytes(self, content: bytes) -> Seed:
        self.content += content
        return self

    def counted(self, content: bytes) -> Seed:
        return self.number(len(content), 0, 0xFFFF).bytes(content)


def _codes(words: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """FSST codes of words, longest symbols first; what is in no symbol is escaped."""
    found = []
    for word in words:
        codes, at = b"", 0
        while at < len(word):
            code = next((code for code in (2, 3, 0, 1) if word.startswith(SYMBOLS[code], at)), None)
            codes += bytes([255, word[at]]) if code is None else bytes([code])
            at += 1 if code is None else len(SYMBOLS[code])
        found.append(codes)
    return tuple(found)


def _variable(words: tuple[bytes, ...], width: int) -> bytes:
    ends = np.cumsum([width * (len(words) + 1), *map(len, words)])
    return ends.astype(f"<u{width}").tobytes() + b"".join(words)


def _variable_block(words: tuple[bytes, ...], width: int) -> bytes:
    head = [8 * width, width * (len(words) + 3)]
    ends = np.cumsum([0, *map(len, words)])
    return np.array([*head, *ends]).astype(f"<u{width}").tobytes() + b"".join(words)


def chunk_codecs() -> Iterator[tuple[str, bytes]]:
    def seed(tree: Seed, count: int, *buffers: bytes) -> bytes:
        tree.number(count, 1, 4096).number(2, 0, 12)
        tree.number(1, 0, min(count - 1, 300)).number(3, 2, min(count, 601))
        tree.number(4, 3, min(count - 1, 303)).number(5, 5, min(count, 604))
        first, *others = buffers
        for buffer in others:
            tree.counted(buffer)
        return tree.bytes(first).content

    def codec(kind: int) -> Seed:
        return Seed().number(kind, 0, 11)

    for index, bits in enumerate(FLAT_BITS):
        yield f"flat-{bits}", seed(codec(FLAT).number(index, 0, 7), 16, bytes(range(256)) * (bits // 64 + 1))
    for index, bits in enumerate(WORD_BITS):
        values, starts = np.arange(COUNT).astype(f"<u{bits // 8}").view(np.uint8), np.array([0, COUNT])
        packed = np.zeros(bits // 8 + 128 * 8, np.uint8)
        pack_inline(values, starts, bits, np.array([8]), packed)
        yield f"inline-{bits}", seed(codec(INLINE).number(index, 0, 3), COUNT, packed.tobytes())
        block = np.zeros(min(128 * 8, COUNT * bits // 8), np.uint8)
        pack_out_of_line(values, starts, bits, 8, block)
        yield (
            f"out-of-line-{bits}",
            seed(codec(OUT_OF_LINE).number(index, 0, 3).number(8, 0, bits), COUNT, block.tobytes()),
        )
        runs, lengths = np.arange(8).astype(f"<u{bits // 8}").tobytes(), bytes([1, 2, 3, 255, 4, 5, 6, 7])
        total = sum(lengths)
        yield f"runs-{bits}", seed(codec(RUNS).flag(False).number(index, 0, 3), total, runs, lengths)
        together = len(runs).to_bytes(8, "little") + runs + lengths
        yield f"run-block-{bits}", seed(codec(RUNS).flag(True).number(index, 0, 3), total, together)
    words, codes, table = WORDS * 3, _codes(WORDS * 3), symbols(*SYMBOLS)[:64]
    for index, width in enumerate((4, 8)):
        streams = np.arange(64).astype(f"<u{width}").view(np.uint8).reshape(-1, width).T.tobytes()
        yield f"streams-{width}", seed(codec(STREAMS).number(index, 0, 1), 64, streams)
        yield (
            f"variable-{width}",
            seed(codec(VARIABLE).flag(False).number(index, 0, 1), len(words), _variable(words, width)),
        )
        block = _variable_block(words, width)
        yield f"variable-block-{width}", seed(codec(VARIABLE).flag(True).number(index, 0, 1), len(words), block)
        child = codec(FSST).number(VARIABLE, 0, 11).flag(False).number(index, 0, 1).counted(table)
        yield f"fsst-{width}", seed(child, len(codes), _variable(codes, width))
        child = codec(COMPRESSED).number(VARIABLE, 0, 11).flag(False).number(index, 0, 1)
        yield f"compressed-{width}", seed(child, len(words), lz4(_variable(words, width)))
    lists = (
        codec(LISTS).flag(True).number(FLAT, 0, 11).number(1, 0, 7).number(3, 1, 20).number(1, 0, 2).number(3, 1, 100)
    )
    delta = codec(DELTA).number(FLAT, 0, 11).number(3, 0, 7).number(5, 0, 1 << 20)
    yield "delta", seed(delta, 16, bytes(range(64)))
    encoded = codec(ENCODED_RUNS).flag(False).number(2, 0, 3).number(0, 0, 3).flag(True)
    yield "encoded-runs", seed(encoded, 10, bytes(range(16)), bytes([1, 2, 3, 4]))
    parts = codec(PARTS).number(0, 0, 2).flag(False).number(FLAT, 0, 11).number(3, 0, 7)
    yield "parts", seed(parts, 4, np.arange(0, 20, 4, "<u4").tobytes(), bytes(range(16)))
    yield "lists", seed(lists, 16, bytes(range(6)), bytes(range(48)))
    child = codec(FSST).number(COMPRESSED, 0, 11).number(VARIABLE, 0, 11).flag(False).number(0, 0, 1).counted(table)
    yield "fsst-compressed", seed(child, len(codes), lz4(_variable(codes, 4)))


def value_codecs() -> Iterator[tuple[str, bytes]]:
    def places(seed: Seed, words: tuple[bytes, ...]) -> bytes:
        starts = np.cumsum([0, *map(len, words[:-1])])
        seed.number(len(words), 1, 64)
        for start, word in zip(starts, words, strict=True):
            seed.numbers([int(start), len(word)], 0, 0xFFFF)
        return seed.bytes(b"".join(words)).content

    expand = 1
    yield "plain", places(Seed().number(expand, 0, 7).number(0, 0, 7).flag(False), WORDS)
    table = symbols(*SYMBOLS)[:64]
    yield "fsst", places(Seed().number(expand, 0, 7).number(0, 0, 7).flag(True).counted(table), _codes(WORDS))
    for index, width in enumerate((1, 2, 4, 8, 16, 3), 2):
        words = tuple(bytes([number]) * width for number in range(5))
        yield f"fixed-{width}", places(Seed().number(expand, 0, 7).number(index, 0, 7), words)
    content = 300
    frame = content.to_bytes(8, "little") + b"\x28\xb5\x2f\xfd\x60" + (content - 256).to_bytes(2, "little")
    frame += (content << 3 | 1).to_bytes(3, "little")
    stored = Seed().number(0, 0, 7).number(1 << 19, 0, 1 << 20).number(len(frame) + content, 0, 1 << 18)
    yield "stored-zstd", stored.bytes(frame).content


def zipped_pages() -> Iterator[tuple[str, bytes]]:
    def seed(levels: tuple[int, int, int], width: int, rows: int, stream: bytes, index: bytes = b"") -> bytes:
        max_rep, max_def, visible = levels
        made = Seed().number(max_rep, 0, 2).number(max_def, 0, 3)
        if max_rep:
            made.number(visible, 0, max_def)
        made.number(width, 0, 3)
        if width < 2:
            made.flag(False)
        made.number(rows, 1, 1000).flag(True)
        if width < 2 or max_rep:
            made.number(len(stream), 0, 0xFFFF).number(len(index), 0, 0xFFFF)
        return made.bytes(stream + index).content

    yield "words", seed((0, 0, 0), 3, 3, bytes(range(12)))
    yield "nulls", seed((0, 1, 0), 2, 3, bytes([0, 7, 1, 0, 0, 9]))
    yield "texts", seed((0, 0, 0), 0, 2, b"\2\0\0\0ab\1\0\0\0c", bytes([0, 6, 11]))
    yield "some texts", seed((0, 1, 0), 0, 2, b"\0\2\0\0\0ab\1\0\0\0\0", bytes([0, 7, 12]))
    yield "lists", seed((1, 1, 0), 2, 2, bytes([1, 5, 0, 6, 1, 7]), bytes([0, 4, 6]))


def constant_pages() -> Iterator[tuple[str, bytes]]:
    def seed(width: int, scalar: bool, levels: tuple[int, ...], rows: int, *buffers: bytes) -> bytes:
        made = Seed().number(width, 0, 7).flag(False)
        if width >= 2:
            made.flag(scalar)
        max_rep, max_def, visible = levels
        made.number(max_rep, 0, 2).number(max_def, 0, 4)
        if max_rep:
            made.number(visible, 0, 4)
        if width:
            made.flag(True)
        made.number(len(buffers), 0, 3).number(rows, 1, 1000)
        for buffer in buffers:
            made.number(len(buffer), 0, 0xFFFF)
        return made.bytes(b"".join(buffers)).content

    def words(*levels: int) -> bytes:
        return np.array(levels, "<u2").tobytes()

    lists = words(1, 0, 1, 1, 1), words(0, 1, 2, 3, 0)
    text = bytes.fromhex("02000000 08000000 05000000 00000000 05000000 68656c6c6f")
    yield "inline", seed(4, True, (0, 1, 0), 9)
    yield "nulls", seed(4, False, (0, 1, 0), 9)
    yield "levels", seed(4, True, (0, 1, 0), 5, b"", words(0, 1, 0, 1, 0))
    yield "lists", seed(5, True, (1, 3, 1), 4, *lists)
    yield "text", seed(1, False, (0, 1, 0), 9, text)
    yield "text-lists", seed(1, False, (1, 3, 1), 4, text, *lists)
    yield "nothing", seed(0, False, (0, 1, 0), 3, b"", words(1, 0, 1))


def list_pages() -> Iterator[tuple[str, bytes]]:
    def ends(*lists: int | None) -> bytes:
        end, adjustment = 0, 100
        stored = []
        for size in lists:
            end += size or 0
            stored.append(end + (adjustment if size is None else 0))
        return np.array(stored, "<u8").tobytes()

    lists = (3, 0, None, 2, 5, None, 1)
    for kind, name in ((1, "lists"), (2, "strings")):
        seed = Seed().number(len(lists), 1, 500).number(kind, 0, 2).number(100, 0, 0xFFFF)
        if kind == 1:
            seed.number(11, 0, 0xFFFF)
        yield name, seed.bytes(ends(*lists)).content
    rng = np.random.default_rng(23)
    for number in range(12):
        seed = Seed().number(int(rng.integers(1, 60)), 1, 500).number(0, 0, 2).number(0, 0, 0xFFFF)
        yield f"sparse-{number}", seed.number(number % 5, 0, 4).bytes(rng.bytes(300)).content


def array_pages() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(29)
    for kind, name in enumerate(("indexed", "strings", "lists", "spread")):
        for number in range(12):
            seed = Seed().number(int(rng.integers(1, 60)), 1, 500).number(kind, 0, 3)
            yield f"{name}-{number}", seed.bytes(rng.integers(0, 4, 40, np.uint8).tobytes() + rng.bytes(400)).content


def lz4_frames() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(18)
    contents = {
        "zeros": bytes(3000),
        "words": b"".join(WORDS) * 5,
        "noise": rng.integers(0, 256, 400, np.uint8).tobytes(),
        "pairs": b"ab" * 700,
        "short": b"abc",
        "repeats": b"0123456789abcdef" * 3 + b"0123456789" * 30 + b"end of it",
    }
    for name, content in contents.items():
        yield name, lz4(content)


def zstd_frames() -> Iterator[tuple[str, bytes]]:
    for name, content in {"short": b"abc", "words": b"".join(WORDS) * 5, "zeros": bytes(300_000)}.items():
        for form in ({}, {"write_checksum": True}, {"write_content_size": False}):
            frame = zstandard.ZstdCompressor(**form).compress(content)
            yield f"{name}-{next(iter(form), 'usual')}", frame
            yield f"{name}-{next(iter(form), 'usual')}-size", len(content).to_bytes(8, "little") + frame


def symbol_tables() -> Iterator[tuple[str, bytes]]:
    codes = _codes(WORDS * 4)
    for name, table in (("told", symbols(*SYMBOLS)[:64]), ("plain", b"\0\0\0\0TSSF")):
        seed = Seed().number(1, 0, 31).flag(False).counted(table).number(len(codes), 1, 40).flag(True)
        yield f"stream-{name}", seed.numbers([len(one) for one in codes], 0, 100).bytes(b"".join(codes)).content
    seed = Seed().number(1, 0, 31).flag(True).number(255, 0, 255).bytes(bytes(range(8))).number(3, 1, 40).flag(False)
    for start, size in ((0, 200), (100, 900), (40, 3)):
        seed.number(start, -1, 0x7FFF).number(size, 0, 0xFFF)
    yield "values", seed.flag(True).bytes(bytes(range(254)) * 4).content


def level_streams() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(18)
    layers = {"items": [3], "lists": [3, 6], "nested": [3, 5, 1, 4], "structs": [1, 3, 3]}
    for name, kinds in layers.items():
        num_lists = sum(kind not in (1, 3) for kind in kinds)
        for count in (5, 63, 200):
            seed = Seed().number(2, 0, 3).number(len(kinds), 1, 8).numbers(kinds, 0, 7).flag(False)
            seed.flag(num_lists > 0).flag(True).number(count, 0, 400)
            if num_lists:
                seed.bytes(bytes(num_lists if row % 3 == 0 else 0 for row in range(count)))
            seed.bytes(bytes(int(level) for level in rng.integers(0, 2, count)))
            yield f"{name}-{count}", seed.number(3, 0, 9).flag(True).content
    tuples = Seed().number(2, 0, 3).number(2, 1, 8).numbers([3, 3], 0, 7).flag(True).numbers([0, 4], -1, 6)
    yield "tuples", tuples.flag(False).flag(True).number(64, 0, 400).bytes(bytes(64)).content
    rows = Seed().number(0, 0, 3).number(1, -1, 6).number(0, -1, 6).number(3, 1, 6)
    rows.numbers([0, 40, 80, 120], -1, 400).numbers([0] * 4, -1, 400).numbers([0] * 6, -1, 12).flag(True)
    rows.number(1, 0, 12).number(3, 0, 300).number(6, 4, 603).flag(True).flag(True).number(120, 0, 400)
    yield "rows", rows.bytes(bytes([1, 0, 0] * 40)).bytes(bytes([0, 1, 0, 0] * 30)).content
    bitmap = Seed().number(1, 0, 3).number(1, -1, 8).number(5, -1, 70).number(30, 0, 64).flag(False).flag(True)
    yield "bitmap", bitmap.number(200, 0, 400).bytes(bytes([0, 1] * 100)).content


def variable_chunks() -> Iterator[tuple[str, bytes]]:
    for width in (4, 8):
        chunk = _variable(WORDS, width)
        ends = np.cumsum([0, *map(len, WORDS)]).astype(f"<u{width}").tobytes()
        head = np.array([8 * width, 2 * width + len(ends)], f"<u{width}").tobytes()
        for is_block, content in ((False, chunk), (True, head + ends + b"".join(WORDS))):
            seed = Seed().number(2, 0, 4)
            for _ in range(2):
                seed.number(0, -1, 1000).number(len(content), -1, 1000).number(len(WORDS), 0, 60)
            seed.flag(width == 8).flag(width == 4).flag(is_block).flag(False)
            yield f"{'block' if is_block else 'chunk'}-{width}", seed.bytes(content).content
    words = "aé€😀".encode() * 3
    offsets = np.linspace(0, len(words), len(words) // 4 - 1).astype("<u4").tobytes()
    seed = Seed().number(0, 0, 4).flag(False).flag(False).flag(False).flag(True)
    yield "text", seed.bytes(offsets.ljust(len(words), b"\0")[: len(words)] + words).content


def chunk_tables() -> Iterator[tuple[str, bytes]]:
    for is_large in (False, True):
        width = 4 if is_large else 2
        sizes = [8, 16]
        fixed = np.array([4, 4], "<u2").tobytes() + np.array(sizes, f"<u{width}").tobytes()
        chunk = fixed.ljust(-(-len(fixed) // 8) * 8, b"\0") + bytes(range(4)).ljust(8, b"\0") + bytes(range(24))
        words = np.array([(len(chunk) // 8 - 1) << 4 | 6, (len(chunk) // 8 - 1) << 4], f"<u{width}").tobytes()
        seed = Seed().flag(True).flag(True).flag(False).flag(is_large).number(2, 0, 4).number(100, 0, 100000)
        yield f"chunks-{width}", seed.number(len(words), 0, 64).bytes(words).bytes(chunk * 2).content
    row = b"\3\0\0\0abc" + b"\1" + b"\7\0\0\0"
    seed = Seed().flag(False).number(3, 1, 4).numbers([0, 2, 3], 0, 6).number(4, 1, 20)
    for start, size in ((0, len(row)), (0, 0), (len(row), len(row)), (0, len(row))):
        seed.number(start, -1, 300).number(size, -1, 80)
    yield "rows", seed.bytes(row * 2).content


def column_metadata() -> Iterator[tuple[str, bytes]]:
    described = ColumnMetadata.Page(encoding={"direct": {"encoding": b"\n\5a/b.C"}}).encoding
    pages = [
        ColumnMetadata.Page(buffer_offsets=[0, 64], buffer_sizes=[60, 7], length=5, encoding=described),
        ColumnMetadata.Page(buffer_offsets=[128], buffer_sizes=[900], length=3, encoding=described),
        ColumnMetadata.Page(length=9, encoding={"indirect": {"buffer_location": 64, "buffer_length": 7}}),
    ]
    for name, message in {
        "pages": ColumnMetadata(encoding=described, pages=pages, buffer_offsets=[1], buffer_sizes=[9]),
        "bare": ColumnMetadata(encoding=described),
    }.items():
        seed = Seed().flag(True).number(5000, 0, 1 << 20).number(64, 0, 1 << 20)
        yield name, seed.bytes(message.SerializeToString()).content


def manifest_fragments() -> Iterator[tuple[str, bytes]]:
    file = {"fields": [0, -2], "column_indices": [0, 1], "file_major_version": 2, "file_minor_version": 1}
    message = Manifest(version=3)
    message.fields.add(name="n", id=0, parent_id=-1, logical_type="int64")
    deleted = {"file_type": 1, "read_version": 2, "id": 5, "num_deleted_rows": 3}
    ids = RowIdSequence()
    ids.segments.add(range_with_holes={"end": 4, "holes": {"u16_array": {"base": 1, "offsets": bytes(2)}}})
    ids.segments.add(range_with_bitmap={"start": 8, "end": 12, "bitmap": b"\x09"})
    ids.segments.add(array={"u64_array": {"values": bytes(8)}})
    ids.segments.add(range={"start": 20, "end": 23})
    sequence = ids.SerializeToString()
    message.fragments.add(id=1, physical_rows=9, files=[{"path": "a.lance", **file}], inline_row_ids=sequence)
    message.fragments.add(id=2, physical_rows=9, files=[{"path": "b", "base_id": 7, **file}], deletion_file=deleted)
    message.fragments.add(id=3, physical_rows=9, files=[{"path": "c/d", **file}])
    for trusts_counts in (False, True):
        for has_row_ids in (False, True):
            seed = Seed().flag(trusts_counts).flag(has_row_ids)
            yield f"{trusts_counts}-{has_row_ids}", seed.bytes(message.SerializeToString()).content


def zone_files() -> Iterator[tuple[str, bytes]]:
    less, equal, both = 3, 5, 7
    for kind, letter in enumerate("iuf"):
        for has_sums in (False, True):
            low, high = np.array([10, 30], f"<{letter}8").tobytes(), np.array([20, 40], f"<{letter}8").tobytes()
            rows = np.array([5, 3], "<u4").tobytes()
            literal = np.array([5], f"<{letter}8").tobytes()
            seed = Seed().number(1, 1, 2).flag(True).flag(has_sums).number(kind, 0, 6).number(kind, 0, 6)
            seed.flag(False).number(1, 0, 4).number(len(literal), 0, 64).bytes(literal)
            seed.number(5, 5, 64).number(1, 1, 2).number(4, 0, 7).number(3, 0, 8)
            for step in (less, equal, both):
                seed.number(step, -1, 13).number(0, -3, 3).number(-1, -3, 3).number(0, 0, 1)
            seed.number(5, 1, 50).number(2, 1, 4).number(3, 1, 5)
            stream = low + high + rows + bytes(8)
            seed.number(len(stream), 0, 160).bytes(stream).number(2, 0, 8).number(1, 0, 31).number(1, 0, 31)
            seed.number(1, 0, 15).number(4, 0, 7)
            for place in (0, 16):
                seed.numbers([-1, -1, place, 16], -1, 120)
            for place in (32, -1, 40, -1):
                seed.number(place, -1, 120).number(3 if place == 32 else 1, 0, 7)
            yield f"{letter}-{'sums' if has_sums else 'plain'}", seed.number(0, 0, 3).number(1, 0, 15).content


def zone_programs() -> Iterator[tuple[str, bytes]]:
    for kind, name in enumerate(("signed", "unsigned", "floats", "texts", "booleans")):
        last = {1: 4, 4: 1}.get(kind, 5)
        for step in range(1, 7):
            seed = Seed().numbers([kind, kind], 0, 4).number(2, 1, 4)
            for value in (1, 0, 1, 1):
                seed.number(2, 0, 7).number(value, 0, last)
            seed.numbers([1, 1, 1, 1], 0, 7).numbers([1, 1], 0, 15)
            seed.number(0, 0, 1).number(1, 1, 4).number(1, 0, 3).number(2, 0, 7).number(0, 0, last)
            seed.number(2, 1, 12).number(step, 1, 12).number(0, 0, 1).number(0, -1, 1)
            seed.number(0 if step == 6 else -1, 0 if step == 6 else -1, 0 if step == 6 else 1)
            yield f"{name}-{step}", seed.number(9, 1, 12).number(0, 0, 1).content


TARGETS = {
    "chunk_codecs": chunk_codecs,
    "value_codecs": value_codecs,
    "lz4": lz4_frames,
    "zstd_frames": zstd_frames,
    "constant_pages": constant_pages,
    "zipped_pages": zipped_pages,
    "list_pages": list_pages,
    "array_pages": array_pages,
    "symbols": symbol_tables,
    "levels": level_streams,
    "offsets": variable_chunks,
    "chunk_tables": chunk_tables,
    "column_metadata": column_metadata,
    "manifest_fragments": manifest_fragments,
    "zone_files": zone_files,
    "zone_programs": zone_programs,
}


def write(folder: Path) -> None:
    """Write the seeds of every target below `folder`."""
    for target, seeds in TARGETS.items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for name, content in seeds():
            (folder / target / name).write_bytes(content)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
