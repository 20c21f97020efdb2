"""Zipped rows read entry by entry: the meaning of ``engine/door/interleave.pxi``. Source: spec section 6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lance_arrow.errors import CorruptPageError, InternalError

Bytes = NDArray[np.uint8]
Positions = NDArray[np.int64]
LevelArray = NDArray[np.uint16] | None


class Form(NamedTuple):
    """How an entry is written."""

    bits_rep: int
    bits_def: int
    bytes_per_value: int
    bits_per_offset: int
    max_visible: int

    def check(self) -> None:
        if not (0 <= self.bits_rep <= 16 and 0 <= self.bits_def <= 16 and self.max_visible >= -1):
            raise InternalError("levels have at most 16 bits")
        if self.bits_per_offset not in (0, 32, 64) or (self.bits_per_offset == 0) == (self.bytes_per_value == -1):
            raise InternalError("values have either a width or a length of 32 or 64 bits")
        if self.bytes_per_value < -1 or (self.bytes_per_value == 0 and self.control_bytes == 0):
            raise InternalError("entries have no bytes")

    @property
    def control_bytes(self) -> int:
        """Bytes of the control word."""
        bits = self.bits_rep + self.bits_def
        return 0 if bits == 0 else 1 if bits <= 8 else 2 if bits <= 16 else 4


class Entry(NamedTuple):
    """One entry: its region, its levels and, when visible, where its value lies."""

    region: int
    rep: int
    def_: int
    value: tuple[int, int] | None


def _entries(data: Bytes, starts: Positions, stops: Positions, form: Form) -> Iterator[Entry]:
    form.check()
    if len(starts) != len(stops):
        raise InternalError("region_starts and region_stops have different lengths")
    for region, (start, stop) in enumerate(zip(starts.tolist(), stops.tolist(), strict=True)):
        if not 0 <= start <= stop <= data.size:
            raise InternalError("a region lies outside the data", detail=region)
        at = start
        while at < stop:
            at, entry = _entry(data, at, stop, form, region)
            yield entry


def _entry(data: Bytes, at: int, stop: int, form: Form, region: int) -> tuple[int, Entry]:
    word = _number(data, at, form.control_bytes, stop, region)
    at += form.control_bytes
    if word >> (form.bits_rep + form.bits_def):
        raise CorruptPageError("a control word has bits beyond its levels", detail=region)
    rep, def_ = word >> form.bits_def, word & ((1 << form.bits_def) - 1)
    if form.max_visible >= 0 and def_ > form.max_visible:
        return at, Entry(region, rep, def_, None)
    size = form.bytes_per_value
    if form.bits_per_offset:
        size = 0
        if def_ == 0:
            size = _number(data, at, form.bits_per_offset // 8, stop, region)
            at += form.bits_per_offset // 8
    if at + size > stop:
        raise CorruptPageError("a value leaves its region", detail=region)
    return at + size, Entry(region, rep, def_, (at, size))


def _number(data: Bytes, at: int, num_bytes: int, stop: int, region: int) -> int:
    if at + num_bytes > stop:
        raise CorruptPageError("a region ends inside an entry", detail=region)
    return int.from_bytes(data[at : at + num_bytes].tobytes(), "little")


def count_entries(
    data: Bytes,
    region_starts: Positions,
    region_stops: Positions,
    bits_rep: int,
    bits_def: int,
    bytes_per_value: int,
    bits_per_offset: int,
    max_visible: int,
    out_region_entries: Positions,
) -> tuple[int, int]:
    """Count entries in all and per region, and entries that own a value."""
    form = Form(bits_rep, bits_def, bytes_per_value, bits_per_offset, max_visible)
    if len(out_region_entries) != len(region_starts):
        raise InternalError("out_region_entries and the regions differ in number")
    entries = list(_entries(data, region_starts, region_stops, form))
    out_region_entries[:] = np.bincount([entry.region for entry in entries], minlength=len(out_region_entries))
    return len(entries), sum(entry.value is not None for entry in entries)


def unzip_fixed(
    data: Bytes,
    region_starts: Positions,
    region_stops: Positions,
    bits_rep: int,
    bits_def: int,
    bytes_per_value: int,
    max_visible: int,
    rep_out: LevelArray,
    def_out: LevelArray,
    out_value_starts: Positions,
) -> tuple[int, int]:
    """Split entries of one width into levels and places of values."""
    form = Form(bits_rep, bits_def, bytes_per_value, 0, max_visible)
    return _unzip(data, region_starts, region_stops, form, rep_out, def_out, out_value_starts, None)


def unzip_variable(
    data: Bytes,
    region_starts: Positions,
    region_stops: Positions,
    bits_rep: int,
    bits_def: int,
    bits_per_offset: int,
    max_visible: int,
    rep_out: LevelArray,
    def_out: LevelArray,
    out_value_starts: Positions,
    out_value_sizes: Positions,
) -> tuple[int, int]:
    """Split entries that carry their length into levels and places of values; null values have size 0."""
    form = Form(bits_rep, bits_def, -1, bits_per_offset, max_visible)
    return _unzip(data, region_starts, region_stops, form, rep_out, def_out, out_value_starts, out_value_sizes)


def _unzip(
    data: Bytes,
    region_starts: Positions,
    region_stops: Positions,
    form: Form,
    rep_out: LevelArray,
    def_out: LevelArray,
    value_starts: Positions,
    value_sizes: Positions | None,
) -> tuple[int, int]:
    if rep_out is not None and def_out is not None and len(rep_out) != len(def_out):
        raise InternalError("rep_out and def_out have different lengths")
    if value_sizes is not None and len(value_sizes) != len(value_starts):
        raise InternalError("out_value_starts and out_value_sizes have different lengths")
    num_entries = num_values = 0
    for entry in _entries(data, region_starts, region_stops, form):
        for levels, level in ((rep_out, entry.rep), (def_out, entry.def_)):
            if levels is not None:
                if num_entries == len(levels):
                    raise InternalError("the outputs are too small for the entries")
                levels[num_entries] = level
        num_entries += 1
        if entry.value is None:
            continue
        if num_values == len(value_starts):
            raise InternalError("the outputs are too small for the entries")
        value_starts[num_values] = entry.value[0]
        if value_sizes is not None:
            value_sizes[num_values] = entry.value[1]
        num_values += 1
    return num_entries, num_values


def read_row_index(index: Bytes, num_rows: int, stream_bytes: int, out: Positions) -> None:
    """Widen the row offsets of a stream to 64 bits."""
    if num_rows < 0 or stream_bytes < 0 or len(out) != num_rows + 1:
        raise InternalError("the output has another length than the rows plus one")
    width, rest = divmod(index.size, num_rows + 1)
    if rest or width not in (1, 2, 4, 8):
        raise CorruptPageError("the row index does not have 1, 2, 4 or 8 bytes for each row and the end")
    offsets = np.frombuffer(index.tobytes(), f"<u{width}").tolist()
    if offsets[0] != 0 or offsets[-1] != stream_bytes or offsets != sorted(offsets):
        raise CorruptPageError("the row index does not lead from 0 to the end of the stream")
    out[:] = offsets


def unzip_rows(
    data: Bytes,
    borders: Positions,
    bits_def: int,
    bits_per_offset: int,
    def_out: LevelArray,
    out_value_starts: Positions,
    out_value_sizes: Positions,
) -> bool:
    """Split entries of one row each whose borders an index tells; False where the entries disagree with them."""
    if not 0 <= bits_def <= 16 or bits_per_offset not in (32, 64):
        raise InternalError("levels have at most 16 bits, lengths 32 or 64")
    num_rows = len(borders) - 1
    if num_rows < 0 or not len(out_value_starts) == len(out_value_sizes) == num_rows:
        raise InternalError("outputs and rows differ in number")
    if (def_out is None) != (bits_def == 0) or (def_out is not None and len(def_out) != num_rows):
        raise InternalError("def_out and rows differ in number")
    if borders[0] < 0 or borders[-1] > len(data) or (borders[:-1] > borders[1:]).any():
        return False
    form = Form(0, bits_def, -1, bits_per_offset, -1)
    for row, (start, stop) in enumerate(zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)):
        try:
            end, entry = _entry(data, start, stop, form, row)
        except CorruptPageError:
            return False
        if end != stop or entry.value is None:
            return False
        if def_out is not None:
            def_out[row] = entry.def_
        out_value_starts[row], out_value_sizes[row] = entry.value
    return True
