"""Pages for the forge, written from the specification: levels of lists, chunks, zipped entries, constants, planes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from forge import Forged, Page

from lance_arrow.proto import encodings_v21_pb2 as pb
from lance_arrow.proto import encodings_v23_pb2 as planar

ITEM, ALL_LISTS, NULLABLE, NULLABLE_LIST, EMPTYABLE_LIST, ANY_LIST = range(1, 7)
LIST_LAYERS = (NULLABLE, ANY_LIST)
VALUES, ZIP_VALUES = "mini_block_layout.value_compression", "full_zip_layout.value_compression"


@dataclass(frozen=True)
class Entry:
    """One level entry; `value` is None where it owns no value slot, or a null one."""

    rep: int = 0
    def_: int = 0
    value: bytes | None = None


Rows = Sequence[Sequence[Entry]]
Codec = pb.CompressiveEncoding
Store = Callable[[list[bytes | None]], list[bytes]]


def flat(bits: int) -> Codec:
    return Codec(flat=pb.Flat(bits_per_value=bits))


def variable(bits: int = 32) -> Codec:
    return Codec(variable=pb.Variable(offsets=flat(bits)))


def general(values: Codec, scheme: int) -> Codec:
    return Codec(general=pb.General(compression=pb.BufferCompression(scheme=scheme), values=values))


def words(numbers: Sequence[int], width: int = 2) -> bytes:
    return np.array(numbers, f"<u{width}").tobytes()


def int32(value: int) -> bytes:
    return value.to_bytes(4, "little", signed=True)


def flat_rows(values: Sequence[bytes | None]) -> Rows:
    """Rows of plain values; None is null."""
    return [[Entry(0, int(value is None), value)] for value in values]


def list_rows(rows: Sequence[Sequence[bytes | None] | None]) -> Rows:
    """Rows of nullable lists of nullable items: def 1 null item, 2 null list, 3 empty list."""
    found: list[list[Entry]] = []
    for row in rows:
        if not row:
            found.append([Entry(1, 2 if row is None else 3)])
            continue
        found.append([Entry(int(n == 0), int(item is None), item) for n, item in enumerate(row)])
    return found


def max_visible(layers: Sequence[int]) -> int:
    """Largest definition level of an entry that owns a value slot."""
    level = 0
    for layer in layers:
        if layer not in (ITEM, NULLABLE):
            return level
        level += layer == NULLABLE
    return 0xFFFF


def has_lists(layers: Sequence[int]) -> bool:
    return any(layer not in (ITEM, NULLABLE) for layer in layers)


def has_nulls(layers: Sequence[int]) -> bool:
    return any(layer not in (ITEM, ALL_LISTS) for layer in layers)


def visible(rows: Rows, layers: Sequence[int]) -> list[Entry]:
    return [entry for row in rows for entry in row if entry.def_ <= max_visible(layers)]


def padded(part: bytes) -> bytes:
    return part + b"\xfe" * (-len(part) % 8)


def fixed(width: int) -> Store:
    return lambda values: [b"".join(bytes(width) if value is None else value for value in values)]


def strings(values: list[bytes | None]) -> list[bytes]:
    data = [value or b"" for value in values]
    offsets = words(np.cumsum([4 * (len(data) + 1), *map(len, data)]).tolist(), 4)
    body = offsets + b"".join(data)
    return [body + b"\x48" * (-len(body) % 4)]


def block_of_strings(items: Sequence[bytes]) -> bytes:
    offsets = words(np.cumsum([0, *map(len, items)]).tolist(), 4)
    return words([32, 8 + len(offsets)], 4) + offsets + b"".join(items)


def chunk_of(entries: Sequence[Entry], streams: tuple[bool, bool], buffers: Sequence[bytes], large: bool) -> bytes:
    """One chunk: header, level streams, value buffers, each padded to 8 bytes."""
    levels = [words([e.rep for e in entries])] * streams[0] + [words([e.def_ for e in entries])] * streams[1]
    header = words([len(entries) if levels else 0, *map(len, levels)])
    header += words([len(buffer) for buffer in buffers], 4 if large else 2)
    return b"".join(map(padded, [header, *levels, *buffers]))


def cut(rows: Rows, layers: Sequence[int], counts: Sequence[int]) -> list[list[Entry]]:
    """Entries of each chunk: until `counts` values were taken; the last chunk takes the rest."""
    entries = [entry for row in rows for entry in row]
    chunks, position, visible = [], 0, max_visible(layers)
    for count in counts:
        start, left = position, count
        while left > 0:
            left -= entries[position].def_ <= visible
            position += 1
        chunks.append(entries[start:position])
    return [*chunks, entries[position:]]


def repetition_index(rows: Rows, chunks: Sequence[Sequence[Entry]]) -> list[int]:
    """Per chunk, rows that finish in it and entries left over."""
    ends, table, position = set(np.cumsum([len(row) for row in rows]).tolist()), [], 0
    for chunk in chunks:
        finished = [place for place in range(position + 1, position + len(chunk) + 1) if place in ends]
        start, position = position, position + len(chunk)
        table += [len(finished), position - (finished[-1] if finished else start)]
    return table


def mini_block(
    rows: Rows,
    layers: Sequence[int],
    codec: Codec,
    store: Store,
    *,
    counts: Sequence[int] = (),
    large: bool = True,
    dictionary: tuple[Codec, int, bytes] | None = None,
) -> Page:
    """A mini-block page with plain levels; `store` turns the values of a chunk into its buffers."""
    streams = has_lists(layers), has_nulls(layers)
    pieces, table, chunks = [], [], cut(rows, layers, counts)
    for number, entries in enumerate(chunks):
        buffers = store([entry.value for entry in entries if entry.def_ <= max_visible(layers)])
        pieces.append(chunk_of(entries, streams, buffers, large))
        log = 0 if number == len(counts) else counts[number].bit_length() - 1
        table.append((len(pieces[-1]) // 8 - 1) << 4 | log)
    message = pb.MiniBlockLayout(
        value_compression=codec,
        layers=layers,
        num_buffers=len(store([])),
        repetition_index_depth=int(streams[0]),
        num_items=len(visible(rows, layers)),
        has_large_chunk=large,
    )
    if streams[0]:
        message.rep_compression.CopyFrom(flat(16))
    if streams[1]:
        message.def_compression.CopyFrom(flat(16))
    buffers = [words(table, 4 if large else 2), b"".join(pieces)]
    if dictionary is not None:
        message.dictionary.CopyFrom(dictionary[0])
        message.num_dictionary_items = dictionary[1]
        buffers.append(dictionary[2])
    if streams[0]:
        buffers.append(words(repetition_index(rows, chunks), 8))
    return Page(pb.PageLayout(mini_block_layout=message), tuple(buffers), len(rows))


def full_zip(
    rows: Rows, layers: Sequence[int], codec: Codec, *, width: int | None = None, index_bytes: int = 4
) -> Page:
    """A full-zip page: `width` bytes per value, or a length of 32 bits before each valid one."""
    used = [max((getattr(entry, which) for row in rows for entry in row), default=0) for which in ("rep", "def_")]
    bits_rep, bits_def = (level.bit_length() for level in used)
    word_bytes = 0 if not bits_rep + bits_def else 1 if bits_rep + bits_def <= 8 else 2
    stream, index = bytearray(), [0]
    for row in rows:
        for entry in row:
            stream += (entry.rep << bits_def | entry.def_).to_bytes(word_bytes, "little")
            if entry.def_ > max_visible(layers):
                continue
            if width is not None:
                stream += bytes(width) if entry.value is None else entry.value
            elif entry.value is not None:
                stream += len(entry.value).to_bytes(4, "little") + entry.value
        index.append(len(stream))
    message = pb.FullZipLayout(
        bits_rep=bits_rep,
        bits_def=bits_def,
        num_items=sum(map(len, rows)),
        num_visible_items=len(visible(rows, layers)),
        value_compression=codec,
        layers=layers,
        **({"bits_per_offset": 32} if width is None else {"bits_per_value": 8 * width}),
    )
    buffers = [bytes(stream)]
    if has_lists(layers) or width is None:
        buffers.append(words(index, index_bytes))
    return Page(pb.PageLayout(full_zip_layout=message), tuple(buffers), len(rows))


def constant(num_rows: int, layers: Sequence[int], *buffers: bytes, **fields: Any) -> Page:
    """A constant page."""
    message = pb.ConstantLayout(layers=layers, **fields)
    return Page(pb.PageLayout(constant_layout=message), buffers, num_rows)


def null_at(*positions: int, valid: bool = False) -> planar.SparseValiditySet:
    """A position set of null (or valid) slots."""
    codec = flat(64) if positions else Codec(constant=pb.Constant())
    return planar.SparseValiditySet(meaning=1 + int(valid), positions=codec, num_positions=len(positions))


def sparse_items(validity: planar.SparseValiditySet) -> planar.SparseLayer:
    return planar.SparseLayer(validity=validity)


def sparse_lists(num_items: int, num_lists: int, validity: planar.SparseValiditySet) -> planar.SparseLayer:
    return planar.SparseLayer(
        list=planar.SparseListLayer(
            num_child_slots=num_items,
            non_empty_positions=flat(64),
            num_non_empty_positions=num_lists,
            counts=flat(64),
            validity=validity,
        )
    )


def sparse(num_rows: int, layers: Sequence[planar.SparseLayer], *buffers: bytes, **plane: Any) -> Page:
    """A page of 2.3 with sparse structure."""
    structure = planar.StructuralPlane(sparse=planar.SparseStructure(layers=layers))
    layout = planar.PlanarLayout(structure=structure, values=planar.ValuePlane(**plane))
    return Page(layout, buffers, num_rows)


def dense(num_rows: int, layers: Sequence[int], *buffers: bytes, **plane: Any) -> Page:
    """A page of 2.3 with dense structure."""
    structure = planar.StructuralPlane(dense=planar.DenseStructure(layers=layers))
    layout = planar.PlanarLayout(structure=structure, values=planar.ValuePlane(**plane))
    return Page(layout, buffers, num_rows)


def chunks(num_rows: int, codec: Codec, *buffers: bytes, counts: tuple[int, ...] = ()) -> Page:
    """A mini-block page of values that are not nullable; every chunk has these buffers."""
    return mini_block(flat_rows([b""] * num_rows), (ITEM,), codec, lambda _: list(buffers), counts=counts)


def coded(file: Forged, codec: Codec, path: str = VALUES) -> Page:
    """The page of a file with another value codec in its description."""
    return file.page.with_layout(path, codec)
