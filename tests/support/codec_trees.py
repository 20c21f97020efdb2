"""Trees of `CompressiveEncoding` that the grammar allows, with values encoded by hand in every context.

A tree is named by the path to its deepest leaf, outer-most codec first: ``general-lz4 > rle.lengths > flat``. Parts
beside the path are plain. Values are chosen from the leaf upwards, so that a constant or a range may lie anywhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from forge_pages import Codec, flat, general, variable
from forged import lz4, zstd
from forged_arrays import symbols
from numpy_kernels.packing import pack_inline, pack_out_of_line

from lance_arrow.proto import encodings_v21_pb2 as pb

COUNT = 256
ITEMS_PER_LIST = 4
SCHEMES: dict[str, tuple[int, Callable[[bytes], bytes]]] = {"lz4": (pb.LZ4, lz4), "zstd": (pb.ZSTD, zstd)}
SYMBOLS = (b"ab", b"c", b"\0\1\0\0\2", b"defghijk", b"\1")
LEAVES = ("flat", "flat-lz4", "constant", "inline", "inline-zstd", "outline", "outline-lz4", "range")
ROUND_INTEGERS = (
    "general-lz4",
    "general-zstd",
    "split",
    "delta",
    "rle.values",
    "rle.lengths",
    "dictionary.indices",
    "dictionary.items",
)
ROUND_ALL = ("general-lz4", "general-zstd", "dictionary.items")


class Impossible(Exception):
    """The codec holds no such values, or does not occur there."""


@dataclass(frozen=True)
class Want:
    """Values that are wanted: integers of `bits`, within limits, ascending from 0, or just these."""

    bits: int
    count: int
    is_exact: bool = True
    low: int = 0
    high: int | None = None
    ascends: bool = False
    given: np.ndarray | None = None

    @property
    def is_free(self) -> bool:
        return self.low == 0 and self.high is None and not self.ascends and self.given is None

    def chosen(self, rng: np.random.Generator) -> np.ndarray:
        """Values for codecs that hold any; small ones, of which neighbours repeat."""
        if self.given is not None:
            return self.given
        high = min(self.low + 200 if self.high is None else self.high, 2**self.bits - 1)
        values = np.repeat(rng.integers(self.low, high + 1, self.count), rng.integers(1, 4, self.count))[: self.count]
        if self.ascends:
            values = np.sort(values)
            values[0] = 0
        return values.astype(f"<u{self.bits // 8}")


@dataclass(frozen=True)
class Tree:
    """A description and one block of values: integers ``(n,)``, lists or structs as rows of integers, or byte strings.

    `chunk`, `block`, `each` are its bytes as the buffers of a chunk, as a block (None: it has none) and value by value;
    None where the codec does not occur so.
    """

    codec: Codec
    values: np.ndarray | list[bytes]
    chunk: tuple[bytes, ...] | None
    block: bytes | None
    each: list[bytes] | None = None

    @property
    def bytes_of_block(self) -> bytes:
        return self.block or b""


def u64(number: int) -> bytes:
    return number.to_bytes(8, "little")


def integer_paths(depth: int) -> Iterator[tuple[str, ...]]:
    """Paths of trees of integers with at most so many codecs."""
    for leaf in LEAVES:
        yield (leaf,)
    if depth > 1:
        for path in integer_paths(depth - 1):
            for outer in ROUND_INTEGERS:
                yield (outer, *path)


def paths(kind: str, depth: int) -> Iterator[tuple[str, ...]]:
    """Paths of trees of ``integers``, ``texts``, ``lists`` or ``structs``."""
    if kind == "integers":
        yield from integer_paths(depth)
        return
    if kind == "texts":
        yield from (("variable",), ("variable-zstd",))
    if depth < 2:
        return
    for path in integer_paths(depth - 1):
        yield ({"texts": "variable.offsets", "lists": "list", "structs": "packed"}[kind], *path)
        if kind == "texts":
            yield ("dictionary.indices", *path)
    for path in paths(kind, depth - 1):
        for outer in (*ROUND_ALL, "fsst") if kind == "texts" else ROUND_ALL:
            yield (outer, *path)


def tree(kind: str, path: tuple[str, ...], bits: int, rng: np.random.Generator) -> Tree:
    """Make the tree of a path, whose integers have `bits`.

    Raises
    ------
    Impossible
        There is none.
    """
    if kind == "integers":
        return _integers(path, Want(bits, COUNT, is_exact=False), rng)
    return _others(kind, path, COUNT, rng)


def _framed(path: str, inner: Tree) -> Tree:
    scheme, compress = SCHEMES[path.partition("-")[2]]
    chunk = inner.chunk
    return Tree(
        general(inner.codec, scheme),
        inner.values,
        (compress(chunk[0]), *chunk[1:]) if chunk else chunk,
        None if inner.block is None else compress(inner.block),
        None if inner.each is None else [compress(one) for one in inner.each],
    )


def _integers(path: tuple[str, ...], want: Want, rng: np.random.Generator) -> Tree:
    name, inner = path[0], path[1:]
    if not inner:
        return _leaf(name, want, rng)
    if name.startswith("general"):
        return _framed(name, _integers(inner, want, rng))
    if name == "split":
        return _split(inner, want, rng)
    if want.given is not None:
        raise Impossible(f"{name} of given values")
    return {"delta": _delta, "rle": _rle, "dictionary": _dictionary}[name.partition(".")[0]](name, inner, want, rng)


def _leaf(name: str, want: Want, rng: np.random.Generator) -> Tree:
    codec, _, scheme = name.partition("-")
    bits, width = want.bits, want.bits // 8
    values = want.chosen(rng)
    data = pb.BufferCompression(scheme=SCHEMES[scheme][0]) if scheme else None
    if codec == "constant":
        if want.given is not None and (want.given != want.given[:1]).any():
            raise Impossible("values differ")
        values = np.repeat(values[:1], want.count)
        each = [b""] * want.count
        return Tree(Codec(constant=pb.Constant(value=values[:1].tobytes())), values, (), None, each)
    if codec == "range":
        if bits < 32 or want.given is not None:
            raise Impossible("no range")
        high = 2**bits - 1 if want.high is None else want.high
        step = min(3, (high - want.low) // max(want.count - 1, 1))
        values = (want.low + step * np.arange(want.count)).astype(values.dtype)
        return Tree(
            Codec(range=pb.Range(uncompressed_bits_per_value=bits, start=want.low, step=step)), values, (), None
        )
    raw = values.view(np.uint8)
    packed_bits = min(bits, int(values.max(initial=0)).bit_length())
    if codec == "flat":
        message, content = Codec(flat=pb.Flat(bits_per_value=bits, data=data)), values.tobytes()
    elif codec == "inline":
        if want.count > 1024:
            raise Impossible("too many for one chunk")
        out = np.empty(width + 128 * packed_bits, np.uint8)
        pack_inline(raw, np.array([0, want.count]), bits, np.array([packed_bits]), out)
        inline = pb.InlineBitpacking(uncompressed_bits_per_value=bits, values=data)
        message, content = Codec(inline_bitpacking=inline), out.tobytes()
    else:
        # Whatever the values of another block of the same description, they fit.
        packed_bits = max(packed_bits, 1)
        out = np.empty(min(128 * packed_bits, want.count * width), np.uint8)
        pack_out_of_line(raw, np.array([0, want.count]), bits, packed_bits, out)
        words = Codec(flat=pb.Flat(bits_per_value=packed_bits, data=data))
        outline = pb.OutOfLineBitpacking(uncompressed_bits_per_value=bits, values=words)
        message, content = Codec(out_of_line_bitpacking=outline), out.tobytes()
    each = [values[at : at + 1].tobytes() for at in range(want.count)] if codec == "flat" else None
    if scheme:
        compress = SCHEMES[scheme][1]
        content, each = compress(content), None if each is None else [compress(one) for one in each]
    return Tree(message, values, (content,), content, each)


def _split(inner: tuple[str, ...], want: Want, rng: np.random.Generator) -> Tree:
    if want.bits not in (32, 64):
        raise Impossible("streams of other widths")
    width = want.bits // 8
    if want.is_free:
        streams = _integers(inner, want, rng)
        values = np.asarray(streams.values)
    else:
        joined = want.chosen(rng)
        values = joined.view(np.uint8).reshape(-1, width).T.copy().reshape(-1).view(joined.dtype)
        streams = _integers(inner, Want(want.bits, want.count, given=values), rng)
    joined = values.view(np.uint8).reshape(width, -1).T.copy().reshape(-1).view(values.dtype)
    return Tree(Codec(byte_stream_split=pb.ByteStreamSplit(values=streams.codec)), joined, streams.chunk, streams.block)


def _delta(name: str, inner: tuple[str, ...], want: Want, rng: np.random.Generator) -> Tree:
    if want.bits not in (32, 64) or want.count < 2:
        raise Impossible("differences of other widths")
    most = None if want.high is None else (want.high - want.low) // want.count
    # Without limits sums wrap around.
    steps = replace(want, count=want.count - 1, low=0, high=most, ascends=False)
    deltas = _integers(inner, steps, rng)
    base = 0 if want.ascends else want.low
    values = np.concatenate([[base], np.asarray(deltas.values)]).astype(f"<u{want.bits // 8}")
    codec = Codec(delta=pb.Delta(uncompressed_bits_per_value=want.bits, base=base, deltas=deltas.codec))
    return Tree(codec, np.cumsum(values, dtype=values.dtype), _one(deltas.block), deltas.block)


def _one(block: bytes | None) -> tuple[bytes, ...]:
    return () if block is None else (block,)


def _rle(name: str, inner: tuple[str, ...], want: Want, rng: np.random.Generator) -> Tree:
    # All runs equally long, where the number of values is not to be changed.
    length = next(size for size in (4, 3, 2, 1) if want.count % size == 0)
    num_runs = want.count // length
    low, high = (length, length) if want.is_exact else (1, 3)
    if name == "rle.values":
        values = _integers(inner, replace(want, count=num_runs), rng)
        lengths = _leaf("flat", Want(8, len(values.values), low=low, high=high), rng)
    else:
        length_bits = 32 if {"delta", "range", "split"} & set(inner) else int(rng.choice([8, 16, 32]))
        lengths = _integers(inner, Want(length_bits, num_runs, want.is_exact, low, high), rng)
        values = _leaf("flat", replace(want, count=len(lengths.values), is_exact=True), rng)
    found = np.repeat(np.asarray(values.values), np.asarray(lengths.values).astype(np.int64))
    codec = Codec(rle=pb.Rle(values=values.codec, run_lengths=lengths.codec))
    block = None
    if values.block is not None or lengths.block is not None:
        block = u64(len(values.bytes_of_block)) + values.bytes_of_block + lengths.bytes_of_block
    return Tree(codec, found, _one(values.block) + _one(lengths.block), block)


def _with_items(indices: Tree, items: Tree) -> Tree:
    places = np.asarray(indices.values).astype(np.int64)
    held = items.values
    values = [held[place] for place in places] if isinstance(held, list) else held[places]
    message = pb.Dictionary(indices=indices.codec, items=items.codec, num_dictionary_items=len(held))
    block = None
    if indices.block is not None or items.block is not None:
        sizes = u64(len(indices.bytes_of_block)) + u64(len(items.bytes_of_block))
        block = sizes + indices.bytes_of_block + items.bytes_of_block
    return Tree(Codec(dictionary=message), values, _one(block), block)


def _dictionary(name: str, inner: tuple[str, ...], want: Want, rng: np.random.Generator) -> Tree:
    items_of = inner if name == "dictionary.items" else ("flat",)
    items = _integers(items_of, replace(want, count=17, is_exact=False), rng)
    return _with_items(_indices(inner, name, len(items.values), want, rng), items)


def _indices(inner: tuple[str, ...], name: str, num_items: int, want: Want, rng: np.random.Generator) -> Tree:
    wanted = Want(32, want.count, want.is_exact, 0, num_items - 1, want.ascends)
    return _integers(inner if name == "dictionary.indices" else ("flat",), wanted, rng)


def _others(kind: str, path: tuple[str, ...], count: int, rng: np.random.Generator) -> Tree:
    """Trees of what is no integer."""
    name, inner = path[0], path[1:]
    if name.startswith("general"):
        return _framed(name, _others(kind, inner, count, rng))
    if name == "dictionary.items":
        return _with_items(_leaf("flat", Want(32, count, high=16), rng), _others(kind, inner, 17, rng))
    if name == "dictionary.indices":
        return _with_items(_integers(inner, Want(32, count, False, 0, 16), rng), _others(kind, ("variable",), 17, rng))
    if name == "fsst":
        child = _others(kind, inner, count, rng)
        assert isinstance(child.values, list)
        table = symbols(*SYMBOLS)
        values = [b"".join(SYMBOLS[code % len(SYMBOLS)] for code in codes) for codes in child.values]
        codec = Codec(fsst=pb.Fsst(symbol_table=table, values=child.codec))
        return Tree(codec, values, child.chunk, child.block, child.each)
    if name == "list":
        return _lists(_integers(inner, Want(32, count * ITEMS_PER_LIST), rng))
    if name == "packed":
        rows = _integers(inner, Want(64, count, is_exact=False), rng)
        codec = Codec(packed_struct=pb.PackedStruct(bits_per_value=[32, 32], values=rows.codec))
        pairs = np.asarray(rows.values).view("<u4").reshape(-1, 2)
        return Tree(codec, pairs, rows.chunk, rows.block, rows.each)
    return _texts(name, inner, count, rng)


def _lists(items: Tree) -> Tree:
    codec = Codec(fixed_size_list=pb.FixedSizeList(items_per_value=ITEMS_PER_LIST, values=items.codec))
    each = items.each
    if each is not None:
        each = [b"".join(each[at : at + ITEMS_PER_LIST]) for at in range(0, len(each), ITEMS_PER_LIST)]
    block = None if each is None else b"".join(each)
    return Tree(codec, np.asarray(items.values).reshape(-1, ITEMS_PER_LIST), items.chunk, block, each)


def _texts(name: str, inner: tuple[str, ...], count: int, rng: np.random.Generator) -> Tree:
    """Byte strings that may be FSST codes too: bytes below the number of symbols."""
    if name == "variable.offsets":
        offsets = _integers(inner, Want(32, count + 1, high=4 * count, ascends=True), rng)
        ends = np.asarray(offsets.values).astype(np.int64)
    else:
        ends = np.concatenate([[0], np.cumsum(rng.integers(0, 6, count))])
        offsets = _leaf("flat", Want(32, count + 1, given=ends.astype("<u4")), rng)
    content = rng.integers(0, len(SYMBOLS), int(ends[-1]), np.uint8).tobytes()
    values = [content[start:stop] for start, stop in itertools.pairwise(ends)]
    stored = offsets.bytes_of_block
    head = np.array([32, 8 + len(stored)], "<u4").tobytes()
    if name == "variable.offsets":
        codec = Codec(variable=pb.Variable(offsets=offsets.codec))
        if inner == ("flat",):
            shifted = (ends + 4 * (count + 1)).astype("<u4").tobytes()
            return Tree(codec, values, (shifted + content,), head + stored + content, values)
        return Tree(codec, values, (*_one(offsets.block), content), head + stored + content, values)
    shifted = (ends + 4 * (count + 1)).astype("<u4").tobytes()
    if name == "variable":
        return Tree(variable(), values, (shifted + content,), head + stored + content, values)
    codec = Codec(variable=pb.Variable(offsets=flat(32), values=pb.BufferCompression(scheme=pb.ZSTD)))
    each = [zstd(value) for value in values]
    return Tree(codec, values, (shifted + zstd(content),), head + stored + zstd(content), each)


def levels(path: tuple[str, ...], rng: np.random.Generator) -> Tree:
    """Make a tree of definition levels, which are 0 and 1.

    Raises
    ------
    Impossible
        There is none.
    """
    return _integers(path, Want(16, COUNT, is_exact=False, high=1), rng)
