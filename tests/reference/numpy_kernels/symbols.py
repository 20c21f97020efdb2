"""Numpy twins of ``engine/door/symbols.pxi``."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from itertools import pairwise

import numpy as np

from lance_arrow.errors import CorruptPageError, InternalError
from numpy_kernels.chunks import Bytes, Positions
from numpy_kernels.variable import VariableWriter
from numpy_kernels.variable_chunks import plain_offsets

_TABLE_BYTES = 8 + 256 * 8 + 256
_ESCAPE = 255
_SLOT_FACTOR = 2971215073
_SLOT_SHIFT = 32 - 11
_SLOT_SYMBOLS = 2
_MAX_SYMBOLS = 255
_SEGMENT_BYTES = 512
_NUM_SEGMENTS = 128
_GENERATIONS = (8, 38, 68, 98, 128)
_WHOLE = 128


def _open_table(table: Bytes) -> list[bytes] | None:
    """Return the symbols by code, or None when values are stored as they are."""
    if len(table) != _TABLE_BYTES:
        raise CorruptPageError("a symbol table has the wrong size")
    if table[4:8].tobytes() != b"TSSF":
        raise CorruptPageError("a symbol table has the wrong signature")
    if table[3] > 1:
        raise CorruptPageError("a symbol table's switch is neither 0 nor 1")
    if table[3] == 0:
        return None
    num_symbols = int(table[0])
    symbols = []
    for code in range(num_symbols):
        size = int(table[8 + 8 * num_symbols + code])
        if not 1 <= size <= 8:
            raise CorruptPageError("a symbol's length is not 1..8", detail=code)
        symbols.append(table[8 + 8 * code :][:size].tobytes())
    return symbols


def _expand_value(symbols: list[bytes] | None, codes: bytes, value: int) -> bytes:
    if symbols is None:
        return codes
    out = bytearray()
    position = 0
    while position < len(codes):
        code = codes[position]
        literal = code == _ESCAPE
        if (literal and position + 1 == len(codes)) or (not literal and code >= len(symbols)):
            raise CorruptPageError("a value uses codes without a symbol", detail=value)
        out += codes[position + 1 : position + 2] if literal else symbols[code]
        position += 2 if literal else 1
    return bytes(out)


def _codes(data: Bytes, starts: Positions, sizes: Positions, value: int) -> bytes:
    start, size = int(starts[value]), int(sizes[value])
    if start < 0 or size < 0 or start + size > len(data):
        raise CorruptPageError("a value lies outside its page", detail=value)
    return data[start : start + size].tobytes()


def measure_symbols(table: Bytes, data: Bytes, starts: Positions, sizes: Positions) -> int:
    """Return the bytes that `expand_symbols` will write."""
    if len(starts) != len(sizes):
        raise InternalError("starts and sizes have different lengths")
    symbols = _open_table(table)
    return sum(len(_expand_value(symbols, _codes(data, starts, sizes, value), value)) for value in range(len(starts)))


def expand_symbols(
    table: Bytes,
    data: Bytes,
    starts: Positions,
    sizes: Positions,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> None:
    """Replace each value's codes by their symbols."""
    if len(starts) != len(sizes):
        raise InternalError("starts and sizes have different lengths")
    if out_offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    symbols = _open_table(table)
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    for value in range(len(starts)):
        codes = _codes(data, starts, sizes, value)
        writer.require(1, 0, value)
        expanded = _expand_value(symbols, codes, value)
        writer.require(1, len(expanded), value)
        writer.append(np.frombuffer(expanded, np.uint8))


class _Matcher:
    """Symbols by their bytes; those of three bytes or more only as far as their slots have room."""

    def __init__(self) -> None:
        self._codes: dict[bytes, int] = {}
        self._slots: Counter[int] = Counter()

    def add(self, symbol: bytes, code: int) -> bool:
        if len(symbol) > 2:
            place = (int.from_bytes(symbol[:3], "little") * _SLOT_FACTOR & 0xFFFFFFFF) >> _SLOT_SHIFT
            if self._slots[place] == _SLOT_SYMBOLS:
                return False
            self._slots[place] += 1
            self._codes.setdefault(symbol, code)
        else:
            self._codes[symbol] = code
        return True

    def find(self, rest: bytes) -> tuple[int | None, int]:
        """Code and size of the longest symbol that `rest` begins with; (None, 1) when there is none."""
        for size in range(min(8, len(rest)), 0, -1):
            code = self._codes.get(rest[:size])
            if code is not None:
                return code, size
        return None, 1


def train_symbols(offsets: Bytes, offset_bits: int, data: Bytes, out_table: Bytes) -> None:
    """Choose the symbols that save most on a sample."""
    if len(out_table) != _TABLE_BYTES:
        raise InternalError("a symbol table has the wrong size")
    sample = _sample(plain_offsets(offsets, offset_bits, len(data)), data.tobytes())
    symbols: list[bytes] = []
    for part in _GENERATIONS:
        symbols = _next_generation(symbols, sample, part)
    out_table[:] = 0
    out_table[0], out_table[3] = len(symbols), 1
    out_table[4:8] = np.frombuffer(b"TSSF", np.uint8)
    for code, symbol in enumerate(symbols):
        out_table[8 + 8 * code :][: len(symbol)] = np.frombuffer(symbol, np.uint8)
        out_table[8 + 8 * len(symbols) + code] = len(symbol)


def _sample(ends: list[int], data: bytes) -> list[list[bytes]]:
    total, last = ends[-1], len(ends) - 1
    count = min(_NUM_SEGMENTS, -(-total // _SEGMENT_BYTES))
    sample = []
    for number in range(count):
        place = number * _SEGMENT_BYTES if count < _NUM_SEGMENTS else total * number // count
        value = max(0, bisect_right(ends, place, 0, last) - 1)
        begin = ends[value]
        if ends[value + 1] - begin > _SEGMENT_BYTES:
            begin = place
        room, parts = _SEGMENT_BYTES, []
        while value < last and room > 0:
            end = min(ends[value + 1], begin + room)
            parts.append(data[begin:end])
            room -= end - begin
            begin, value = end, value + 1
        sample.append(parts)
    return sample


def _next_generation(symbols: list[bytes], sample: list[list[bytes]], part: int) -> list[bytes]:
    matcher = _Matcher()
    for code, symbol in enumerate(symbols):
        matcher.add(symbol, code)
    singles: Counter[tuple[bytes, bool]] = Counter()
    pairs: Counter[tuple[tuple[bytes, bool], tuple[bytes, bool]]] = Counter()
    for number, values in enumerate(sample):
        if number * 37 % _WHOLE >= part and number:
            continue
        for value in values:
            before = None
            position = 0
            while position < len(value):
                code, size = matcher.find(value[position : position + 8])
                # A byte without a code and a symbol of that one byte count apart.
                found = value[position : position + size], code is not None
                first = value[position : position + 1], False
                for one in (found, first) if size > 1 else (found,):
                    singles[one] += 1
                    if before is not None:
                        pairs[before, one] += 1
                before, position = found, position + size
    least = max(1, 5 * part // _WHOLE)
    gains: Counter[bytes] = Counter()
    for (symbol, _), times in singles.items():
        if times >= least:
            gains[symbol] += times * len(symbol) * (8 if len(symbol) == 1 else 1)
    if part < _WHOLE:
        for ((first_symbol, _), (second, _)), times in pairs.items():
            if times >= least and len(first_symbol) < 8:
                joined = (first_symbol + second)[:8]
                gains[joined] += times * len(joined)
    return _best(gains)


def _best(gains: Counter[bytes]) -> list[bytes]:
    matcher = _Matcher()
    chosen: list[bytes] = []
    for symbol in sorted(gains, key=lambda one: (-gains[one], -len(one), int.from_bytes(one, "little"))):
        if len(chosen) == _MAX_SYMBOLS:
            break
        if matcher.add(symbol, len(chosen)):
            chosen.append(symbol)
    return chosen


def compress_symbols(
    table: Bytes,
    offsets: Bytes,
    offset_bits: int,
    data: Bytes,
    out_offsets: Bytes,
    out_offset_bits: int,
    out_data: Bytes,
) -> int:
    """Replace the longest symbols by their codes."""
    symbols = _open_table(table)
    if symbols is None:
        raise InternalError("a symbol table that is switched off")
    matcher = _Matcher()
    for code, symbol in enumerate(symbols):
        matcher.add(symbol, code)
    if offset_bits not in (32, 64) or out_offset_bits not in (32, 64):
        raise InternalError("offset_bits is neither 32 nor 64")
    ends = plain_offsets(offsets, offset_bits, len(data))
    writer = VariableWriter(out_offsets, out_offset_bits, out_data)
    writer.require(len(ends) - 1, 2 * ends[-1], None)
    total = 0
    for begin, end in pairwise(ends):
        codes = _encode_value(matcher, data[begin:end].tobytes())
        writer.append(np.frombuffer(codes, np.uint8))
        total += len(codes)
    return total


def _encode_value(matcher: _Matcher, value: bytes) -> bytes:
    codes = bytearray()
    position = 0
    while position < len(value):
        code, size = matcher.find(value[position : position + 8])
        codes += bytes([_ESCAPE, value[position]]) if code is None else bytes([code])
        position += size
    return bytes(codes)
