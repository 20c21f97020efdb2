"""Ways to damage a file: bytes anywhere, or one field of its metadata while all around it stays well-formed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
from checksummed import with_checksums
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from lance_arrow.errors import LanceError
from lance_arrow.proto import encodings_v21_pb2, encodings_v23_pb2, file_schema_pb2, file_v2_pb2

FOOTER = struct.Struct("<QQQIIHH4s")
BORDERS = [0, 1, 2, 3, *(2**bits + shift for bits in (3, 7, 8, 10, 15, 16, 31, 32, 63, 64) for shift in (-1, 0, 1))]
LAYOUTS = {
    "/lance.encodings21.PageLayout": encodings_v21_pb2.PageLayout,
    "/lance.encodings23.PlanarLayout": encodings_v23_pb2.PlanarLayout,
}
_EMPTY = {FieldDescriptor.TYPE_STRING: "", FieldDescriptor.TYPE_BYTES: b""}
_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.CPPTYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.CPPTYPE_UINT32: (0, 2**32 - 1),
    FieldDescriptor.CPPTYPE_UINT64: (0, 2**64 - 1),
    FieldDescriptor.CPPTYPE_ENUM: (0, 9),
}


def damaged(content: bytes, rng: np.random.Generator, *, sealed: bool = True) -> tuple[bytes, str]:
    """Damage a file in one way, or in up to three; return it with what was done.

    Some get checksums that fit the damage where they may be `sealed` again.
    """
    steps = int(rng.choice([1, 1, 1, 2, 3]))
    done = []
    for _ in range(steps):
        content, what = WAYS[int(rng.integers(len(WAYS)))](content, rng)
        done.append(what)
    if sealed and rng.random() < 0.1:
        content, what = checksummed_again(content)
        done.append(what)
    return content, "; ".join(done)


def checksummed_again(content: bytes) -> tuple[bytes, str]:
    """Checksums of the damaged bytes: what verifies them finds nothing wrong, and hands them on."""
    try:
        return with_checksums(content)[0], "checksums computed again"
    except (LanceError, DecodeError, ValueError, OverflowError, struct.error, IndexError, MemoryError) as error:
        return content, f"no checksums ({type(error).__name__})"


def _place(content: bytes, rng: np.random.Generator, width: int) -> int:
    """Somewhere in the file, half of the time in its metadata, which steers everything."""
    start = 0
    if rng.random() < 0.5 and len(content) >= 40:
        start = min(FOOTER.unpack(content[-40:])[0], max(len(content) - 400, 0))
    return int(rng.integers(start, max(len(content) - width, start) + 1))


def _overwritten(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new[: len(content) - at] + content[at + len(new) :]


def flip(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    at, bit = _place(content, rng, 1), int(rng.integers(8))
    return _overwritten(content, at, bytes([(content[at : at + 1] or b"\0")[0] ^ 1 << bit])), f"bit {bit} of byte {at}"


def number(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    width = int(rng.choice([1, 2, 4, 8]))
    at, value = _place(content, rng, width), BORDERS[int(rng.integers(len(BORDERS)))] % 2 ** (8 * width)
    return _overwritten(content, at, value.to_bytes(width, "little")), f"{value} over {width} bytes at {at}"


def shifted_number(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """A number a little larger or smaller: a length field that almost fits."""
    width = int(rng.choice([1, 2, 4, 8]))
    at, shift = _place(content, rng, width), int(rng.choice([-16, -8, -1, 1, 8, 16]))
    value = (int.from_bytes(content[at : at + width], "little") + shift) % 2 ** (8 * width)
    return _overwritten(content, at, value.to_bytes(width, "little")), f"{shift:+} to {width} bytes at {at}"


def noise(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    size = int(rng.integers(1, 64))
    at = _place(content, rng, size)
    return _overwritten(content, at, rng.bytes(size)), f"noise over {size} bytes at {at}"


def copied(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    size = int(rng.integers(1, 64))
    source, at = _place(content, rng, size), _place(content, rng, size)
    return _overwritten(content, at, content[source : source + size]), f"{size} bytes at {source} copied to {at}"


def cut(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Bytes left out in the middle, or the end missing."""
    if content and rng.random() < 0.3:
        size = int(rng.integers(len(content)))
        return content[:size], f"cut to {size}"
    at, size = _place(content, rng, 8), int(rng.integers(1, 9))
    return content[:at] + content[at + size :], f"{size} bytes at {at} left out"


def field(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """One field of the descriptor, of a column's metadata or of a page's description; everything else fits."""
    try:
        parts = FileParts(content)
        what = parts.change(rng)
    except (DecodeError, struct.error, IndexError, OverflowError, ValueError) as error:
        return content, f"nothing ({type(error).__name__})"
    return parts.build(), what


WAYS = [flip, number, shifted_number, noise, copied, cut, field, field, field, field, field, field]


class FileParts:
    """A file taken apart: data, descriptor, column metadata; it is put together again around the same data."""

    def __init__(self, content: bytes) -> None:
        self.first, columns, buffers, self.num_buffers, num_columns, *self.version = FOOTER.unpack(content[-40:])
        place, size = struct.unpack_from("<QQ", content, buffers)
        # Those behind the descriptor lie among the data, as checksums do.
        self.others = content[buffers + 16 : buffers + 16 * min(self.num_buffers, 1000)]
        self.data = content[:place]
        self.descriptor = file_schema_pb2.FileDescriptor.FromString(content[place : place + size])
        places = [struct.unpack_from("<QQ", content, columns + 16 * n) for n in range(min(num_columns, 1000))]
        self.columns = [file_v2_pb2.ColumnMetadata.FromString(content[at : at + size]) for at, size in places]

    def change(self, rng: np.random.Generator) -> str:
        if rng.random() < 0.15 or not self.columns:
            return "descriptor " + mutate(self.descriptor, rng)
        number = int(rng.integers(len(self.columns)))
        meta = self.columns[number]
        if rng.random() < 0.2 or not meta.pages:
            return f"column {number} " + mutate(meta, rng)
        page = meta.pages[int(rng.integers(len(meta.pages)))]
        wrapped = AnyMessage.FromString(page.encoding.direct.encoding)
        if wrapped.type_url not in LAYOUTS or rng.random() < 0.15:
            return f"column {number} page " + mutate(page, rng)
        layout = LAYOUTS[wrapped.type_url].FromString(wrapped.value)
        what = mutate(layout, rng)
        wrapped.value = layout.SerializeToString()
        page.encoding.direct.encoding = wrapped.SerializeToString()
        return f"column {number} layout {what}"

    def build(self) -> bytes:
        out = bytearray(self.data)
        descriptor = self.descriptor.SerializeToString()
        buffers = (len(out), len(descriptor))
        out += descriptor
        first, places = len(out), []
        for meta in self.columns:
            block = meta.SerializeToString()
            places.append((len(out), len(block)))
            out += block
        columns = len(out)
        for one in (*places, buffers):
            out += struct.pack("<QQ", *one)
        out += self.others
        num_buffers = 1 + len(self.others) // 16
        footer = FOOTER.pack(first, columns, columns + 16 * len(places), num_buffers, len(places), *self.version)
        return bytes(out) + footer


def mutate(message: Message, rng: np.random.Generator) -> str:
    """Change one field somewhere in the tree of messages."""
    nodes = list(_nodes(message, ""))
    path, node = nodes[int(rng.integers(len(nodes)))]
    fields = list(node.DESCRIPTOR.fields)
    if not fields:
        return f"{path} has no fields"
    held = [one for one, _ in node.ListFields()]
    one = (
        (held or fields)[int(rng.integers(len(held or fields)))]
        if rng.random() < 0.8
        else fields[int(rng.integers(len(fields)))]
    )
    name = f"{path}.{one.name}"
    if one.message_type is not None and one.message_type.GetOptions().map_entry:
        return f"{name} is a map"
    if one.is_repeated:
        return _repeated(node, one, name, rng)
    if rng.random() < 0.1:
        node.ClearField(one.name)
        return f"{name} cleared"
    if one.message_type is not None:
        donors = [other for _, other in nodes if other.DESCRIPTOR.full_name == one.message_type.full_name]
        if donors:
            getattr(node, one.name).CopyFrom(
                type(donors[0]).FromString(donors[int(rng.integers(len(donors)))].SerializeToString())
            )
        else:
            getattr(node, one.name).SetInParent()
        return f"{name} copied from elsewhere"
    value = _scalar(one, getattr(node, one.name), rng)
    setattr(node, one.name, value)
    return f"{name} = {value!r:.60}"


def _nodes(message: Message, path: str) -> Iterator[tuple[str, Message]]:
    yield path, message
    for one, value in message.ListFields():
        if one.message_type is None or one.message_type.GetOptions().map_entry:
            continue
        for inner in value if one.is_repeated else [value]:
            yield from _nodes(inner, f"{path}.{one.name}")


def _scalar(one: FieldDescriptor, old: Any, rng: np.random.Generator) -> Any:
    if one.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        return not old
    if one.cpp_type == FieldDescriptor.CPPTYPE_STRING and one.type == FieldDescriptor.TYPE_BYTES:
        return (
            bytes(old)[: int(rng.integers(len(old) + 1))] if rng.random() < 0.5 else flip(bytes(old) or b"\0", rng)[0]
        )
    if one.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        texts = [
            "",
            "int8",
            "string",
            "struct",
            "list",
            "map",
            "fixed_size_list:int8:3",
            "dict:string:int8:false",
            "decimal:128:1:1",
            old + ":9",
        ]
        return texts[int(rng.integers(len(texts)))]
    low, high = _INTEGERS[one.cpp_type]
    if rng.random() < 0.5:
        return int(min(max(old + int(rng.choice([-64, -8, -1, 1, 8, 64])), low), high))
    return int(min(max(BORDERS[int(rng.integers(len(BORDERS)))], low), high))


def _repeated(node: Message, one: FieldDescriptor, name: str, rng: np.random.Generator) -> str:
    values = getattr(node, one.name)
    choice = rng.random()
    if len(values) and choice < 0.3:
        at = int(rng.integers(len(values)))
        del values[at]
        return f"{name}[{at}] removed"
    if one.message_type is not None:
        if len(values):
            values.append(values[int(rng.integers(len(values)))])
        else:
            values.add()
        return f"{name} one more"
    if not len(values) or choice < 0.5:
        empty = _EMPTY.get(one.type, 0)
        values.append(_scalar(one, values[-1] if len(values) else empty, rng))
        return f"{name} one more"
    at = int(rng.integers(len(values)))
    values[at] = _scalar(one, values[at], rng)
    return f"{name}[{at}] = {values[at]}"
