"""Pages for tests of writing: random rows as level entries, what layout encoders are given, what they hand back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from second_pages import read_page

from lance_arrow.spi import BlockShape, BlockSlice, EncodeOptions, FixedSizeList, FixedWidth, LeafType, VariableWidth
from lance_arrow.spi.encoders import EncodedPage, PageContent, PendingPage
from lance_arrow.spi.layouts import LayerKind, Levels, NodeKind, RowRanges
from lance_arrow.testing.layout_suite import Entry, LayoutCase, assert_holds
from lance_arrow.testing.round_trip import encode_scope

Rows = tuple[tuple[Entry, ...], ...]
MakeValue = Callable[[random.Random], bytes]
_WITH_NULL = (LayerKind.NULLABLE_ITEM, LayerKind.NULLABLE_LIST, LayerKind.NULL_AND_EMPTY_LIST)
_WITH_EMPTY = (LayerKind.EMPTYABLE_LIST, LayerKind.NULL_AND_EMPTY_LIST)


@dataclass(frozen=True, slots=True)
class Path:
    """Layers of a page, inner-most first; `dimensions` are above 0 for fixed-size lists of structs."""

    layers: tuple[LayerKind, ...]
    dimensions: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.dimensions or (0,) * len(self.layers)

    @property
    def nodes(self) -> tuple[NodeKind, ...]:
        return tuple(
            NodeKind.LIST if layer.is_list else NodeKind.FIXED_SIZE_LIST if size else NodeKind.ITEM
            for layer, size in zip(self.layers, self.sizes, strict=True)
        )

    @property
    def lengths_per_row(self) -> int:
        return int(np.prod([max(1, size) for size in self.sizes]))

    def lists_through(self, place: int) -> int:
        """Lists among the layers up to and with `place`."""
        return sum(layer.is_list for layer in self.layers[: place + 1])

    def first_level(self, place: int) -> int:
        """The first definition level that a layer may use."""
        return 1 + sum(layer.num_def_levels for layer in self.layers[:place])


def random_rows(
    path: Path, num_rows: int, chance: random.Random, make: MakeValue, *, rate: float = 0.2, longest: int = 4
) -> Rows:
    """Rows in which nulls and empty lists occur at every layer that has them, about as often as `rate` says."""
    rows = []
    for _ in range(num_rows):
        row: list[Entry] = []
        _grow(path, len(path.layers) - 1, path.lists_through(len(path.layers)), 0, row, chance, make, rate, longest)
        rows.append(tuple(row))
    return tuple(rows)


def _grow(path, place, rep, level, row, chance, make, rate, longest) -> None:
    if place < 0:
        row.append(Entry(rep, level, make(chance) if level == 0 else None))
        return
    layer, size = path.layers[place], path.sizes[place]
    rest = (row, chance, make, rate, longest)
    if level == 0 and layer in _WITH_NULL and chance.random() < rate:
        level = path.first_level(place)
    if layer.is_list:
        empty = path.first_level(place) + (layer is LayerKind.NULL_AND_EMPTY_LIST)
        is_empty = layer in _WITH_EMPTY and chance.random() < rate
        if level or is_empty:
            row.append(Entry(rep, level or empty))
            return
        for item in range(chance.randint(1, longest)):
            _grow(path, place - 1, rep if item == 0 else path.lists_through(place) - 1, 0, *rest)
        return
    for item in range(max(1, size)):
        inner = rep if item == 0 else min(rep, path.lists_through(place))
        _grow(path, place - 1, inner, level, *rest)


def content_of(rows: Rows, path: Path, shape: BlockShape | None, leaf: LeafType | None = None) -> PageContent:
    """What a layout encoder is given of `rows`: levels, and values whose null slots are zeros or empty."""
    entries = [entry for row in rows for entry in row]
    has_def = any(layer.num_def_levels for layer in path.layers)
    has_rep = any(layer.is_list for layer in path.layers)
    levels = Levels(
        path.layers,
        len(entries),
        np.array([entry.rep for entry in entries], np.uint16) if has_rep else None,
        np.array([entry.def_ for entry in entries], np.uint16) if has_def else None,
    )
    visible = [entry for entry in entries if not has_rep or entry.def_ <= levels.max_visible_def]
    return PageContent(
        num_rows=len(rows),
        levels=levels,
        values=None if shape is None else block_of([entry.value for entry in visible], shape),
        leaf=leaf if leaf is not None else LeafType(shape, path.nodes),
        num_nulls=sum(entry.def_ > 0 for entry in visible),
        dimensions=path.dimensions,
    )


def block_of(values: list[bytes | None], shape: BlockShape) -> BlockSlice:
    """A block of values; a boolean is one byte, None a value of nothing."""
    if isinstance(shape, VariableWidth):
        plain = [value or b"" for value in values]
        # An offset that does not begin at 0, as in slices of larger arrays.
        offsets = np.cumsum([7, *map(len, plain)]).astype(f"<i{shape.offset_bits // 8}")
        return BlockSlice(shape, len(plain), _bytes(b"".join(plain)), offsets=offsets.view(np.uint8))
    if isinstance(shape, FixedSizeList):
        width = shape.leaf.bytes_per_value * shape.items_per_value
        return BlockSlice(shape, len(values), _bytes(b"".join(value or bytes(width) for value in values)))
    assert isinstance(shape, FixedWidth)
    if shape.bits == 1:
        bits = np.array([0, 1, 0, *(int(value == b"\1") for value in values)], np.uint8)
        return BlockSlice(shape, len(values), np.packbits(bits, bitorder="little"), 3)
    return BlockSlice(shape, len(values), _bytes(b"".join(value or bytes(shape.bytes_per_value) for value in values)))


def _bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)


def written(
    rows: Rows, path: Path, page: PageContent, version: str, options: EncodeOptions | None = None
) -> LayoutCase:
    """Write a page by whatever encoders are installed; return what was written beside what it must hold."""
    answer = encode_scope(page.leaf, file_version=version, options=options).layout(page)
    assert not isinstance(answer, PendingPage)
    return case_of(answer, rows, path, page.leaf)


def case_of(answer: EncodedPage, rows: Rows, path: Path, leaf: LeafType) -> LayoutCase:
    """What was written beside what it must hold."""
    buffers = tuple(buffer.tobytes() for buffer in answer.buffers)
    return LayoutCase("written", answer.description, leaf, buffers, rows, path.lengths_per_row)


def assert_reads(case: LayoutCase, chance: random.Random) -> None:
    """Read the whole page, and some runs of rows, as a scan does."""
    everything = RowRanges.one(0, len(case.rows))
    assert_holds(read_page(case, everything), case, everything)
    for _ in range(3):
        edges = sorted(chance.sample(range(len(case.rows) + 1), min(len(case.rows) + 1, 4)))
        edges = edges[: len(edges) // 2 * 2]
        rows = RowRanges(np.array(edges[::2], np.int64), np.array(edges[1::2], np.int64))
        if len(rows):
            assert_holds(read_page(case, rows), case, rows)
